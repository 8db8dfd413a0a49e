"""A teacher as an encoder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmeans.training.teacher import Pooling
from pmeans.training.trainer import BaselineTrainer, FilePath
from pmeans.types import Progress
from pmeans_lab.baselines.teacher.encoder import TeacherEncoder


@dataclass(frozen=True)
class AsEncoder(BaselineTrainer):
    """Take a teacher as an encoder, which needs no training: how good could its pupils be?

    Attributes:
        path: A sentence-transformers folder, or an ONNX file or a folder with ``model.onnx``. It
            stays where it is.
        name: Of the encoder.
        lang: Its language.
        pooling: As in `pmeans.training.teacher.Teacher`.
        tokens: As there.
    """

    path: FilePath
    name: str
    lang: str = "en"
    pooling: Pooling = "cls"
    tokens: int = 128

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> TeacherEncoder:
        """Open the model; the checkpoint is not used."""
        progress(0.0, f"opening {Path(self.path).name}")
        return TeacherEncoder.of_path(
            self.name, self.path, (self.lang,), pooling=self.pooling, tokens=self.tokens
        )
