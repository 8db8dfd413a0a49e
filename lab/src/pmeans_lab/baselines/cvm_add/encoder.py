"""Sums of word vectors, as CVM-add (Hermann and Blunsom, 2014) has them.

A sum is the mean times the number of known words. So the kernel of means does the work, and a
sentence without known words is a zero row.
"""

from __future__ import annotations

from functools import cached_property
from typing import Self

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.models.baselines import MeanBaseline, Parts, word_mean
from pmeans.types import Floats


class SumEncoder(MeanBaseline):
    """The sum of a sentence's word vectors."""

    kind = "sum"

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Make the encoder of the stored mean."""
        return cls(name, parts.encoder())

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language into rows, (n, dim) float32."""
        rows, coverage = self._mean.encode_covered(texts, lang=lang, n_threads=n_threads)
        rows *= coverage.known[0].astype(np.float32)[:, None]
        return rows

    @cached_property
    def _mean(self) -> PowerMeanEncoder:
        # A phrase is one vector but counts as several words: its own words are taken instead. What
        # n-grams compose was not trained to be summed.
        return word_mean(self.space, self.name, self.encoder.recipe.tokenizer)
