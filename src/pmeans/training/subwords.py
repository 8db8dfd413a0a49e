"""Vectors for unknown words of a finished space: n-grams fitted to the words that it has.

::

    kind = "subwords"
    name = "taught-subwords"
    space = "taught"
    buckets = 50_000

A word is to be the mean of its character n-grams' vectors, as fastText composes an unknown word.
The n-grams are those that come nearest to this over all words of all languages, by least squares
with a penalty on long vectors (Zhao et al. 2018 have the idea). Phrases are not asked: no unknown
word is one. Words keep their vectors. The
penalty leaves an n-gram of few words short, so that a word of which little is known counts for
little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans.errors import ConfigError, InputError
from pmeans.kernels import LONGEST_NGRAM
from pmeans.kernels.index import phrase_parts
from pmeans.output import unit_rows
from pmeans.spaces import edit
from pmeans.spaces.library import find_space
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.training.ngrams import fitted_ngrams, ngram_averages
from pmeans.training.trainer import SpaceRef, Trainer, within
from pmeans.types import Progress

HELD_OUT = 20
"""One word in so many is left out once, to tell how well unknown words are met."""


@dataclass(frozen=True)
class FittedSubwords(Trainer):
    """Let a space answer for unknown words.

    Attributes:
        name: Of the new space.
        space: Any space; its n-grams, if it has some, are replaced.
        buckets: Rows that the n-grams of all languages share.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        penalty: Weight of the squared lengths of n-grams' vectors beside the squared errors of
            words.
    """

    name: str
    space: SpaceRef
    buckets: int = 50_000
    minn: int = 3
    maxn: int = 5
    penalty: float = 0.01

    def __post_init__(self) -> None:
        if self.buckets < 1:
            raise ConfigError(f"buckets must be at least 1, not {self.buckets}.")
        if not 1 <= self.minn <= self.maxn <= LONGEST_NGRAM:
            raise ConfigError(
                f"n-grams cannot have minn = {self.minn} to maxn = {self.maxn} characters."
            )
        if not 0 < self.penalty < np.inf:
            raise ConfigError(f"penalty must be above 0, not {self.penalty}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Fit the n-grams; the checkpoint is not used, as it takes minutes at most."""
        space = find_space(self.space)
        listed = [word for lang in space.tables for word in space.words(lang)]
        single = [i for i, word in enumerate(listed) if not phrase_parts(word.encode())]
        words = [listed[i] for i in single]
        vectors = space.rows(np.array(single, dtype=np.int64))
        averages = ngram_averages(words, self.buckets, self.minn, self.maxn)
        if averages.nnz < len(words) or len(words) < HELD_OUT:
            raise InputError(
                f"{space.name!r} has {len(words):,} words with {averages.nnz:,} n-grams in all: "
                "too few to learn from."
            )
        apart = np.arange(len(words)) % HELD_OUT == HELD_OUT - 1
        first, second = within(progress, 0, 2), within(progress, 1, 2)
        trial = fitted_ngrams(averages[~apart], vectors[~apart], self.penalty, first)
        met = unit_rows(averages[apart] @ trial) * unit_rows(vectors[apart])
        told = f"cosine of words left out {met.sum(axis=1).mean():.2f}"
        ngrams = fitted_ngrams(averages, vectors, self.penalty, second)
        progress(1.0, told)
        source = f"{space.source}; n-grams fitted to its words, {told}".removeprefix("; ")
        subwords = Subwords(ngrams, self.minn, self.maxn)
        return replace(edit.rename(space, self.name), subwords=subwords, source=source)
