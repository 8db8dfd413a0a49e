"""Spaces that need no training: vectors as published, and several spaces put into one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmeans.choices import Case, Precision
from pmeans.spaces import edit, readers
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.trainer import FilePath, SpaceRef, Trainer
from pmeans.types import Progress


@dataclass(frozen=True)
class Convert(Trainer):
    """Read a file of vectors.

    Attributes:
        file: Of any format that `pmeans.spaces.readers` knows.
        lang: Language of the words; ``"mul"`` if they are of several.
        case: How words are looked up; the words tell if None.
        format: Of the file; its content tells if None.
        limit: Keep the first so many words.
        precision: How numbers are stored; as in the file if None.
        phrases: What joins the words of a phrase in the file, as ``"_"`` in *New_York*; None takes
            entries as they are.
    """

    name: str
    file: FilePath
    lang: str = "en"
    case: Case | None = None
    format: str | None = None
    limit: int | None = None
    precision: Precision | None = None
    phrases: str | None = None

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Read the file; the checkpoint is not used."""
        progress(0.0, f"reading {Path(self.file).name}")
        space, report = readers.read_space(
            self.file, format=self.format, name=self.name, lang=self.lang, case=self.case,
            limit=self.limit, phrases=self.phrases,
        )  # fmt: skip
        progress(1.0, str(report))
        return edit.quantise(space, self.precision) if self.precision else space


@dataclass(frozen=True)
class Merge(Trainer):
    """Put several languages, or several vocabularies of one, into one space.

    Attributes:
        spaces: Where several have a word of a language, the first one wins.
        precision: How numbers are stored; as in the spaces if None.
    """

    name: str
    spaces: tuple[SpaceRef, ...]
    precision: Precision | None = None

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Merge the spaces; the checkpoint is not used."""
        space = edit.merge([find_space(each) for each in self.spaces], self.name)
        progress(1.0, "merged")
        return edit.quantise(space, self.precision) if self.precision else space
