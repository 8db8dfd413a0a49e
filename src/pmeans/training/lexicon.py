"""Word pairs that maps between languages are learned from.

They come from dictionaries (two columns: a word of the pivot, a word of the other language), and
from pairs of sentences by way of the aligner. Whatever their origin, they end as `WordPairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmeans import kernels
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.files import sha256
from pmeans.kernels import index
from pmeans.rows import read_lines
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting
from pmeans.training import aligner
from pmeans.training.corpus import Pair, PairFile
from pmeans.training.trainer import Checkpoint, FilePath, FromFiles, SpaceRef, within
from pmeans.types import Array, Ints, Progress

ITERATIONS = 5
RAREST = 2
"""A pair that the aligner links less often is noise more often than not."""


class WordPairs(NamedTuple):
    """Translations: ``second[i]`` for ``first[i]``, and how much each counts, (n_pairs,)."""

    first: list[str]
    second: list[str]
    weights: Array

    @classmethod
    def joined(cls, listed: Sequence[WordPairs]) -> WordPairs:
        """Return the pairs of several lists, one list after the other."""
        firsts, seconds, weights = zip(*listed, strict=True)
        return cls([*chain(*firsts)], [*chain(*seconds)], np.concatenate(weights))


@dataclass(frozen=True)
class MappedLanguage(FromFiles):
    """A language that is mapped to the pivot, and what the map is learned from.

    Attributes:
        space: Name or file of its word space; the pivot's if that is bilingual.
        lang: Its language.
        files: Dictionaries, two columns each.
        text: Pairs of sentences to be aligned, the pivot first.
    """

    space: SpaceRef
    lang: str
    files: tuple[FilePath, ...] = ()
    text: PairFile | None = None

    def pairs(self, pivot: str, state: AlignerState, progress: Progress) -> WordPairs:
        """Return the word pairs: dictionary entries count 1, aligned words as often as linked."""
        found = [read_dictionary(file) for file in self.files]
        if self.text is not None:
            found.append(aligned_words(self.text, (pivot, self.lang), state, progress))
        if not found:
            raise InputError(f"nothing to learn {self.lang!r} from: name 'files' or a 'text'.")
        return WordPairs.joined(found)


class AlignerState:
    """The translation probabilities of every direction so far, kept after each step of EM."""

    def __init__(
        self, path: Path | None, trainer: object, texts: Sequence[PairFile | None]
    ) -> None:
        digests = [sha256(text.path) for text in texts if text is not None]
        self._checkpoint = Checkpoint(path, (trainer, digests))
        self._arrays, self._finished = self._checkpoint.load() or ({}, {})

    def links(
        self, lang: str, direction: str, sides: Sequence[aligner.Sentences], progress: Progress
    ) -> Ints:
        """Align one direction, from where it stood; return the best source of each target."""
        name = f"{lang}.{direction}"
        alignment = aligner.WordAlignment(*sides)
        if name in self._arrays:
            alignment.probabilities = self._arrays[name]

        def keep(finished: int, probabilities: Array) -> None:
            self._arrays[name], self._finished[name] = probabilities, finished
            self._checkpoint.save(self._arrays, self._finished)
            told = f"aligning {lang} {direction}, {finished} of {ITERATIONS}"
            progress(finished / ITERATIONS, told)

        alignment.run(ITERATIONS, keep, self._finished.get(name, 0))
        return alignment.best()


def read_dictionary(path: str | Path) -> WordPairs:
    """Read a dictionary of two columns, separated by a tab or by white space."""
    first, second = [], []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) != 2:
            raise FormatError(f"{path}, line {number:,}: {len(columns)} columns, expected 2.")
        first.append(columns[0])
        second.append(columns[1])
    if not first:
        raise InputError(f"{path}: the dictionary is empty.")
    return WordPairs(first, second, np.ones(len(first)))


def aligned_words(
    file: PairFile,
    langs: tuple[str, str],
    state: AlignerState,
    progress: Progress,
    pairs: Sequence[Pair] | None = None,
) -> WordPairs:
    """Align pairs of sentences, and count the words linked in both directions.

    Args:
        file: Where the pairs come from.
        langs: The languages they must be of.
        state: What an interrupted alignment goes on from.
        progress: Told the share that is done.
        pairs: Some of the file's; those to train on if None.
    """
    if (file.first, file.second) != langs:
        raise InputError(
            f"{file.path}: a text of {file.first!r} and {file.second!r}, but {langs[0]!r} and "
            f"{langs[1]!r} are to be aligned."
        )
    texts = file.read()["train"] if pairs is None else pairs
    one, first_words = _side([pair.first for pair in texts], langs[0])
    two, second_words = _side([pair.second for pair in texts], langs[1])
    # One after the other: the links of both at once would take twice the memory.
    forward = state.links(langs[1], "forward", (one, two), within(progress, 0, 2))
    backward = state.links(langs[1], "backward", (two, one), within(progress, 1, 2))
    first, second, counts = aligner.mutual(one, two, forward, backward)
    often = np.flatnonzero(counts >= RAREST)
    if not len(often):
        raise InputError(
            f"{file.path}: no two words were linked {RAREST} times in {len(texts):,} pairs of "
            "sentences; more text is needed."
        )
    return WordPairs(
        [first_words[i] for i in first[often].tolist()],
        [second_words[i] for i in second[often].tolist()],
        counts[often].astype(np.float64),
    )


def _side(texts: list[str], lang: str) -> tuple[aligner.Sentences, list[str]]:
    """Number the words of one side from 1 on; 0 is NULL."""
    # In a table without words all are unknown, and numbered as they appear.
    nothing = index.word_table([])
    lowered = [text.lower() for text in texts]
    (found,) = kernels.lookup(lowered, [(nothing, "lower", 0)], splitting("words", lang))
    return aligner.Sentences(found.ids + np.int32(1), found.offsets), ["", *found.unknown_words]


def open_language(name: str, lang: str) -> WordSpace:
    """Open a space, and refuse one that does not have the language by name."""
    space = find_space(name)
    if lang not in space.tables:
        raise LanguageError(
            f"the space {space.name!r} has no language {lang!r}; "
            f"it has {', '.join(map(repr, space.tables))}."
        )
    return space


def vectors_of(space: WordSpace, lang: str) -> Array:
    """Return all vectors of a language, (n_words, dim)."""
    table = space.tables[lang]
    return space.rows(slice(table.start, table.start + len(table)))
