"""Dictionary projection: a foreign word is the weighted mean of its translations' vectors.

It needs no space of the other language, and gives it the pivot's geometry, as far as the dictionary
goes; what has no entry has no vector. Entries come from dictionaries and from aligned text, which
has the inflected forms that dictionaries lack and tells usual translations from odd ones. Nothing
is random, and no state is kept but the aligner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans.training.lexicon import (
    AlignerState,
    WordPairs,
    aligned_words,
    open_language,
    read_dictionary,
    vectors_of,
)
from pmeans.training.trainer import FilePath, SpaceRef, Trainer
from pmeans.types import Array, Floats, Ints, Progress

_MULTIWORD = (" ", "_")


@dataclass(frozen=True)
class Dictionary(Trainer):
    """A language put into the space of another by its translations.

    Attributes:
        space: Name or file of the pivot's space.
        lang: The language to add.
        files: Dictionaries of two columns: a word of the pivot, a word of the language.
        text: Pairs of sentences to be aligned, the pivot first.
        pivot: The language of the space that translations are in.
        weights: Of a word's translations. ``"uniform"``: all the same. ``"frequency"``: the
            inverse of their rank in the space, whose words must be sorted by frequency.
            ``"alignment"``: how often the text has them, as a share of the word's links, plus an
            equal share for each in the dictionaries; the two evidences count the same.
    """

    name: str
    space: SpaceRef
    lang: str
    files: tuple[FilePath, ...] = ()
    text: PairFile | None = None
    pivot: str = "en"
    weights: Literal["uniform", "frequency", "alignment"] = "uniform"

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Average the translations of every word of the language."""
        if not self.files and self.text is None:
            raise InputError(f"nothing to learn {self.lang!r} from: name 'files' or a 'text'.")
        if self.weights == "alignment" and self.text is None:
            raise InputError("weights 'alignment' need a 'text' to be aligned.")
        space = open_language(self.space, self.pivot)
        if self.lang in space.tables:
            raise InputError(f"the space {space.name!r} has {self.lang!r} already.")
        aligned = None
        if self.text is not None:
            state = AlignerState(checkpoint, self, [self.text])
            aligned = aligned_words(self.text, (self.pivot, self.lang), state, progress)
        pairs = translations(self.files, aligned, shared=self.weights == "alignment")
        words, means = project(space, self.pivot, pairs, by_rank=self.weights == "frequency")
        progress(1.0, f"{len(words):,} words of {self.lang} projected")
        return WordSpace.from_words(
            self.name,
            {self.pivot: list(space.words(self.pivot)), self.lang: words},
            np.concatenate([vectors_of(space, self.pivot), means]),
            case=space.case,
            source=f"{space.name} projected to {self.lang} by dictionary",
            licence=space.licence,
        )


def translations(files: Sequence[str], aligned: WordPairs | None, *, shared: bool) -> WordPairs:
    """Gather what is known of a language's words.

    Args:
        files: Dictionaries.
        aligned: Word pairs of a text, if there is one.
        shared: Weigh a word's pairs by their share in the dictionaries and in the text; otherwise
            every pair counts once.
    """
    listed = [_counted_once([read_dictionary(file) for file in files])]
    if aligned is not None:
        listed.append(aligned)
    if not shared:
        return _counted_once(listed)
    return WordPairs.joined([_shares(pairs) for pairs in listed])


def project(
    space: WordSpace, pivot: str, pairs: WordPairs, *, by_rank: bool = False
) -> tuple[list[str], Floats]:
    """Average the pivot's vectors over the translations of every word.

    Args:
        space: A space with the pivot.
        pivot: Language of the first words of the pairs.
        pairs: Those with an unknown first word, or several second words in one, are passed over.
        by_rank: Divide the weights by the first word's rank in the space.

    Returns:
        The second words as the space looks them up, and their vectors, (n_words, dim).
    """
    rows = space.find(pairs.first, pivot)
    # Text is looked up word by word: a row for several would never be found.
    single = [not any(mark in word for mark in _MULTIWORD) for word in pairs.second]
    kept = np.flatnonzero((rows >= 0) & np.array(single, dtype=np.bool_))
    if not len(kept):
        raise InputError(
            f"none of the {len(rows):,} translations is a word of {space.name!r} "
            f"({pivot}). Are the columns the other way round?"
        )
    spelled = [pairs.second[i] for i in kept.tolist()]
    words, owners = _numbered([w.lower() for w in spelled] if space.case == "lower" else spelled)
    rows, weights = rows[kept] - space.tables[pivot].start, pairs.weights[kept]
    if by_rank:
        weights = weights / (rows + 1)
    return words, _means(vectors_of(space, pivot), owners, rows, weights)


def _counted_once(listed: list[WordPairs]) -> WordPairs:
    """Return every pair of words once, with weight 1."""
    pairs = dict.fromkeys(pair for each in listed for pair in zip(*each[:2], strict=True))
    return WordPairs([a for a, _ in pairs], [b for _, b in pairs], np.ones(len(pairs)))


def _shares(pairs: WordPairs) -> WordPairs:
    """Let the weights of each second word's pairs add up to 1."""
    _, owners = _numbered(pairs.second)
    return pairs._replace(weights=pairs.weights / np.bincount(owners, pairs.weights)[owners])


def _numbered(words: list[str]) -> tuple[list[str], Ints]:
    """Return the distinct words in order of appearance, and the number of each word, (n,)."""
    numbers: dict[str, int] = {}
    owners = [numbers.setdefault(word, len(numbers)) for word in words]
    return list(numbers), np.array(owners, dtype=np.int64)


def _means(vectors: Floats, owners: Ints, rows: Ints, weights: Array) -> Floats:
    """Return the weighted mean of each owner's rows, (n_owners, dim)."""
    order = np.argsort(owners, kind="stable")
    owners, rows, weights = owners[order], rows[order], weights[order]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    means = np.empty((len(starts), vectors.shape[1]), dtype=np.float32)
    totals = np.add.reduceat(weights, starts)
    # Column by column, as a table of all pairs would be many times larger than the space.
    for column in range(vectors.shape[1]):
        weighted = vectors[rows, column] * weights
        means[:, column] = np.add.reduceat(weighted, starts) / totals
    return means
