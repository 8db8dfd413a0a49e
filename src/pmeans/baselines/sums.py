"""Sums of word vectors, as CVM-add (Hermann and Blunsom, 2014) has them.

A sum is the mean times the number of known words. So the kernel of means does the work, and a
sentence without known words is a zero row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cached_property
from typing import Self

import numpy as np

from pmeans.baselines.base import Baseline, Settings, inner_encoder
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import FormatError, InputError
from pmeans.recipe import Part
from pmeans.types import Array, Floats


class SumEncoder(Baseline):
    """The sum of a sentence's word vectors."""

    kind = "sum"

    def __init__(self, name: str, encoder: PowerMeanEncoder) -> None:
        """Take the plain mean of one space, without z-norm and alignment (`sif.plain_mean`)."""
        powers = [part.powers for part in encoder.recipe.parts]
        if powers != [(1,)] or encoder.znorm or encoder.alignment:
            raise InputError("a sum is built on the plain mean of one word space.")
        self.name, self.encoder = name, encoder
        self.dim, self.languages = encoder.dim, encoder.languages

    def settings(self) -> Settings:
        """Return nothing."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Return nothing: what was learned is the word space."""
        return {}

    def inner(self) -> PowerMeanEncoder:
        """Return the plain mean."""
        return self.encoder

    @classmethod
    def restored(
        cls,
        name: str,
        settings: Settings,
        arrays: Mapping[str, Array],
        inner: PowerMeanEncoder | None,
    ) -> Self:
        """Make the encoder of the stored mean."""
        try:
            return cls(name, inner_encoder(inner))
        except InputError as error:
            raise FormatError(str(error)) from error

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language into rows, (n, dim) float32."""
        rows, coverage = self._mean.encode_covered(texts, lang=lang, n_threads=n_threads)
        rows *= coverage.known[0].astype(np.float32)[:, None]
        return rows

    @cached_property
    def _mean(self) -> PowerMeanEncoder:
        # A phrase is one vector but counts as several words: its own words are taken instead. What
        # n-grams compose was not trained to be summed.
        ((name, space),) = self.encoder.spaces.items()
        parts = (Part(name, (1,), phrases=False),)
        recipe = dataclasses.replace(self.encoder.recipe, parts=parts)
        return PowerMeanEncoder(recipe, {name: dataclasses.replace(space, subwords=None)})
