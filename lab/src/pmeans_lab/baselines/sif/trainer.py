"""SIF and uSIF as build files: a word space, frequencies, and text of the training language."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pmeans.config import Count, Rate, check
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import naming
from pmeans.models.baselines import plain_mean
from pmeans.spaces.library import find_space
from pmeans.training.corpus import text_lines
from pmeans.training.trainer import BaselineTrainer, FilePath, SpaceRef
from pmeans.types import Floats, Progress, Tokenizer
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.sif.frequencies import Counted, row_frequencies


@dataclass(frozen=True)
class TrainUsif(BaselineTrainer):
    """Train uSIF.

    Attributes:
        space: The word vectors, of one language or several.
        text: Sentences of the training language, one per line. Of a line with tabs only the last
            column is text.
        lang: The training language.
        name: Of the encoder.
        frequencies: Where those of a language's words come from; wordfreq if nothing is said.
        tokenizer: As in a recipe.
        limit: Only so many lines of the text.
    """

    space: SpaceRef
    text: FilePath
    lang: str
    name: str
    frequencies: tuple[Counted, ...] = ()
    tokenizer: Tokenizer = "words"
    limit: Count | None = None

    def __post_init__(self) -> None:
        check(self)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Sif:
        """Weigh the words and fit the rest; the checkpoint is not used."""
        space = find_space(self.space)
        progress(0.0, f"frequencies of {len(space):,} words")
        made = self._made(
            plain_mean(space, self.name, self.tokenizer),
            row_frequencies(space, self.frequencies, self.tokenizer),
        )
        progress(0.5, f"sentences of {Path(self.text).name}")
        with naming(self.text):
            return made.fit(text_lines(self.text, self.limit), lang=self.lang)

    def _made(self, encoder: PowerMeanEncoder, frequencies: Floats) -> Sif:
        return Usif(self.name, encoder, frequencies)


@dataclass(frozen=True)
class TrainSif(TrainUsif):
    """Train SIF: the same, and a.

    Attributes:
        a: How common a word must be to weigh half as much as a rare one.
    """

    a: Rate = field(default=1e-3, kw_only=True)

    def _made(self, encoder: PowerMeanEncoder, frequencies: Floats) -> Sif:
        return Sif(self.name, encoder, frequencies, self.a)
