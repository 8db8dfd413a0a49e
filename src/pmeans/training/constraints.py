"""Pairs of words that should come closer or move apart, as rows of a word space.

A pair file has a word in each of its first two columns, split by tabs or, where there are none, by
blanks; further columns and a line of headings do no harm, so that the pairs of a similarity test
can be named too. A pair has no direction, and each is kept once. A pair that is asked both to
attract and to repel repels: lists of synonyms are long and loose, lists of antonyms are short and
made by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Ints

NO_PAIRS: Ints = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class WordPairFile(FromFiles):
    """A file of word pairs.

    Attributes:
        path: Text, possibly compressed.
        languages: The language of both columns, or that of each.
    """

    path: FilePath
    languages: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.languages) not in (1, 2):
            raise ConfigError(
                f"{self.path}: languages {list(self.languages)}; name one for both columns, or two."
            )

    def read(self) -> list[tuple[str, str]]:
        """Return the pairs of words, in the order of the file."""
        pairs = []
        for number, line in enumerate(read_lines(self.path), 1):
            # Line ends of the Macintosh of old are in use: the German SimLex-999 has them.
            for row in filter(str.strip, line.split("\r")):
                columns = row.split("\t") if "\t" in row else row.split()
                if len(columns) < 2:
                    raise FormatError(f"{self.path}, line {number:,}: {row!r} is not two words.")
                pairs.append((columns[0].strip(), columns[1].strip()))
        if not pairs:
            raise InputError(f"{self.path}: no pairs of words.")
        return pairs


@dataclass(frozen=True)
class Constraints:
    """What a space is asked for, each pair once."""

    attract: Ints  # rows of the words that should be close, (n, 2)
    repel: Ints  # rows of the words that should be far apart, (n, 2)
    left_out: int = 0  # pairs of either kind that are tested on

    def __str__(self) -> str:
        told = f"{len(self.attract):,} attract and {len(self.repel):,} repel pairs"
        return f"{told}, {self.left_out:,} left out" if self.left_out else told


def gather(
    space: WordSpace,
    attract: Sequence[WordPairFile],
    repel: Sequence[WordPairFile],
    without: Sequence[WordPairFile] = (),
) -> Constraints:
    """Read pair files, and keep what says something about two different words of the space.

    Words are looked up with the space's treatment of case; a pair with an unknown word goes.
    """

    def rows(files: Sequence[WordPairFile]) -> Ints:
        found = [NO_PAIRS]
        for file in files:
            # One language stands for both columns.
            sides = zip(zip(*file.read(), strict=True), 2 * file.languages, strict=False)
            both = np.stack([space.find(words, lang) for words, lang in sides], axis=1)
            found.append(both[(both >= 0).all(axis=1)])
        return np.concatenate(found)

    return clean(len(space), rows(attract), rows(repel), rows(without))


def clean(n_words: int, attract: Ints, repel: Ints, without: Ints) -> Constraints:
    """Drop identical words, repetitions, contradictions and the pairs to do without.

    Pairs are (n, 2) rows of a space with `n_words`. ``repel`` wins over ``attract``.
    """

    def keys(pairs: Ints) -> Ints:
        """Return one number for each distinct pair of different words, sorted."""
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        return np.unique((low * n_words + high)[low != high])

    near, far, tested = keys(attract), keys(repel), keys(without)
    near = np.setdiff1d(near, far, assume_unique=True)
    kept = [np.setdiff1d(keys, tested, assume_unique=True) for keys in (near, far)]
    left_out = len(near) + len(far) - len(kept[0]) - len(kept[1])
    near, far = (np.stack(np.divmod(keys, n_words), axis=1) for keys in kept)
    return Constraints(near, far, left_out)
