"""Spaces that need no training: vectors as published, and several spaces put into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans.choices import Case, Precision
from pmeans.config import Count, Seed, check
from pmeans.errors import InputError
from pmeans.spaces import edit, readers
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.trainer import FilePath, SpaceRef, Trainer
from pmeans.types import Array, Progress


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
class RandomVectors(Trainer):
    """Give the words of a space random vectors: a control that knows words and no meanings.

    Numbers are normal, as large on average as those of the space. Phrases stay, n-grams do not.

    Attributes:
        space: Whose words these are.
        dim: Number of columns; that of the space if None.
        seed: Of the numbers.
    """

    name: str
    space: SpaceRef
    dim: Count | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Draw the vectors; the checkpoint is not used."""
        space = find_space(self.space)
        progress(0.0, f"{len(space):,} words of {space.name}")
        generator = np.random.default_rng(self.seed)
        shape = (len(space), self.dim or space.dim)
        vectors = generator.standard_normal(shape, dtype=np.float32)
        vectors *= np.sqrt(np.mean(np.square(space.rows(slice(None))), dtype=np.float64))
        progress(1.0, f"{shape[1]} random numbers each")
        plain = replace(space, matrix=vectors, scale=None, subwords=None, path="")
        return replace(plain, name=self.name, source=f"random vectors of the words of {space.name}")


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


def joined_languages(
    name: str, spaces: Mapping[str, WordSpace], vectors: Sequence[Array], source: str
) -> WordSpace:
    """Put a language of each space, with new vectors of (n_words, dim), into one space."""
    tables, start = {}, 0
    for lang, space in spaces.items():
        tables[lang] = replace(space.tables[lang], start=start)
        start += len(tables[lang])
    matrix = np.concatenate(vectors).astype(np.float32, copy=False)
    if not np.isfinite(matrix).all():
        raise InputError(f"the vectors of space {name!r} hold NaN or infinity.")
    cases = {space.case for space in spaces.values()}
    # Tries the word as it stands and in lower case, so that it finds what each space would.
    case = cases.pop() if len(cases) == 1 else "cased-then-lower"
    licence = "; ".join(dict.fromkeys(s.licence for s in spaces.values() if s.licence))
    return WordSpace(name, matrix, tables, case, source=source, licence=licence)
