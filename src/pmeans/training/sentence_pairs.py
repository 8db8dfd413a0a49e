"""Sentence pairs as a map is trained on them: two matrices, and which rows are for what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting
from pmeans.training.corpus import PairFile, Portion
from pmeans.types import Array, Floats, Ints

FEWEST = 100
"""Pairs; of fewer not even two could be held out for each purpose."""


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """The pairs of one file that have known words on both sides."""

    lang: str  # the second language
    first: Floats  # means of the pivot's sentences, (n, dim_first)
    second: Floats  # means of their translations, (n, dim_second)
    sources: Array  # where each pair comes from, (n,) strings
    parts: Mapping[Portion, Ints]  # the rows to train on, to stop on and to test on


def load(file: PairFile, spaces: Mapping[str, WordSpace], seed: int) -> SentencePairs:
    """Read a file of pairs; the seed draws the pairs of a limit."""
    read = file.read(seed)
    pairs = [pair for part in read.values() for pair in part]
    here, there = spaces[file.first], spaces[file.second]
    first, knows_first = sentence_means(here, file.first, [pair.first for pair in pairs])
    second, knows_second = sentence_means(there, file.second, [pair.second for pair in pairs])
    known = knows_first & knows_second
    labels = np.repeat(list(read), [len(part) for part in read.values()])[known]
    parts = {part: np.flatnonzero(labels == part) for part in read}
    if known.sum() < FEWEST or not min(map(len, parts.values())):
        raise InputError(
            f"{file.path}: {known.sum()} of {len(pairs):,} pairs have known words on both sides; "
            f"at least {FEWEST} of one source are needed. {here.name!r} knows words of "
            f"{knows_first.sum():,} first sentences ({file.first}), {there.name!r} of "
            f"{knows_second.sum():,} second ones ({file.second})."
        )
    sources = np.array([pair.source for pair in pairs])[known]
    return SentencePairs(file.second, first[known], second[known], sources, parts)


def sentence_means(space: WordSpace, lang: str, sentences: Sequence[str]) -> tuple[Floats, Array]:
    """Return the mean of each sentence's known words, (n, dim), and whether it has any, (n,)."""
    table = (space.table(lang), space.case, -1)
    (batch,) = kernels.lookup(sentences, [table], splitting("words", lang))
    means = kernels.power_means(space.matrix, batch, [1.0], scale=space.scale)
    return means, batch.known > 0
