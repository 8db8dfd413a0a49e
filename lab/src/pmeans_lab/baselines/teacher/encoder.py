"""A teacher as an encoder: what word vectors that were taught by it can at best become.

Its weights stay where they are. A folder has the path and a hash of the files, so that another
model in the same place is not taken for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast, get_args

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import FormatError, InputError, StorageError
from pmeans.models.baselines import Baseline, Parts, Settings
from pmeans.training.teacher import Pooling, Speaker, model_digest, model_files, open_model
from pmeans.types import Floats


class TeacherEncoder(Baseline):
    """A sentence-transformers folder or an ONNX model, which runs on CUDA where there is one."""

    kind = "teacher"

    def __init__(
        self,
        name: str,
        path: str,
        languages: Sequence[str],
        dim: int,
        digest: str,
        pooling: Pooling = "cls",
        tokens: int = 128,
    ) -> None:
        """Name a model whose dimensions and hash are known; `of_path` finds them."""
        self.name, self.languages, self.dim = name, tuple(languages), dim
        self._path, self._digest, self._pooling, self._tokens = path, digest, pooling, tokens

    @classmethod
    def of_path(
        cls,
        name: str,
        path: str,
        languages: Sequence[str] = ("en",),
        *,
        pooling: Pooling = "cls",
        tokens: int = 128,
    ) -> Self:
        """Open the model at a path; what ``pooling`` and ``tokens`` are, `Teacher` says."""
        if tokens < 3:
            raise InputError(f"{path}: tokens must be at least 3, not {tokens}.")
        files = model_files(Path(path))
        if not files:
            raise StorageError(
                f"{path!r} is not a model: name a sentence-transformers folder or an ONNX file."
            )
        digest = model_digest(files, pooling, tokens)
        speak = open_model(Path(path), pooling, tokens)
        made = cls(name, path, languages, speak(["a"]).shape[1], digest, pooling, tokens)
        made._speak = speak
        return made

    @cached_property
    def _speak(self) -> Speaker:
        return open_model(Path(self._path), self._pooling, self._tokens)

    def settings(self) -> Settings:
        """Return where the model is, its hash, and how it is asked."""
        return {
            "path": str(Path(self._path).resolve()),
            "sha256": self._digest,
            "dim": self.dim,
            "languages": list(self.languages),
            "pooling": self._pooling,
            "tokens": self._tokens,
        }

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Make the encoder of stored parts, if its model is still there."""
        path, digest = parts.setting("path", str), parts.setting("sha256", str)
        pooling, tokens = (
            parts.setting("pooling", str),
            parts.setting("tokens", int),
        )
        languages: Any = parts.setting("languages", list)
        if pooling not in get_args(Pooling):
            raise FormatError(f"the setting 'pooling' is {pooling!r}.")
        if not all(isinstance(lang, str) for lang in languages):
            raise FormatError(f"the setting 'languages' is {languages!r}, where codes belong.")
        how = cast(Pooling, pooling)
        files = model_files(Path(path))
        if not files or model_digest(files, how, tokens) != digest:
            raise FormatError(
                f"the model {path!r} is not there, or not the one that this encoder was made of. "
                "Put it back, or build the encoder again."
            )
        return cls(name, path, languages, parts.setting("dim", int), digest, how, tokens)

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of its folder and of the model."""
        return (*super().files, self._path)

    def fingerprint(self) -> str:
        """Return twelve digits over the model's files and settings, wherever they lie."""
        return hashlib.sha256(repr((self.kind, self._digest)).encode()).hexdigest()[:12]

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings into rows of length 1, (n, dim) float32; a blank one is a zero row."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        said = [i for i, text in enumerate(texts) if text.strip()]
        if said:
            rows[said] = unit_rows(self._speak([texts[i] for i in said]))
        return rows
