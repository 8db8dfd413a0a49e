"""TF-IDF as a build file: the text whose commonest words become columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmeans.config import Count, check
from pmeans.errors import naming
from pmeans.training.corpus import text_lines
from pmeans.training.trainer import BaselineTrainer, FilePath
from pmeans.types import Progress, Tokenizer
from pmeans_lab.baselines.tfidf.encoder import COLUMNS, Tfidf


@dataclass(frozen=True)
class TrainTfidf(BaselineTrainer):
    """Train TF-IDF.

    Attributes:
        text: Sentences, one per line. Of a line with tabs only the last column is text.
        lang: Their language.
        name: Of the encoder.
        dim: How many words it has at most.
        tokenizer: As in a recipe.
        limit: Only so many lines of the text.
    """

    text: FilePath
    lang: str
    name: str
    dim: int = COLUMNS
    tokenizer: Tokenizer = "words"
    limit: Count | None = None

    def __post_init__(self) -> None:
        check(self)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Tfidf:
        """Count the words; the checkpoint is not used."""
        progress(0.0, f"words of {Path(self.text).name}")
        made = Tfidf(self.name, self.dim, self.tokenizer)
        with naming(self.text):
            return made.fit(text_lines(self.text, self.limit), lang=self.lang)
