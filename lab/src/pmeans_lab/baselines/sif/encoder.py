"""SIF and uSIF: means of word vectors that are weighted by how rare words are.

SIF (Arora, Liang and Ma, 2017): word w weighs a / (a + p(w)), a sentence is the mean of its
weighted vectors, and the first singular vector of training sentences is taken out of every row.
uSIF (Ethayarajh, 2018) finds a by itself, from the average length n of a sentence: with V words, of
which a share alpha is commoner than 1 - (1 - 1/V)^n, a is (1 - alpha) / (alpha V / 2), and w weighs
a / (a/2 + p(w)). Within a sentence each dimension is scaled to length 1 before the words are
weighted, and five singular vectors are taken out, each by its share of their squared values.

Weights are folded into a copy of the word vectors, and the kernel of plain means does the rest. The
scale of a dimension within a sentence is sqrt(n) times the power mean of p = 2, which the same
kernel gives.

With several languages, each has its own frequencies. What is taken out is found in text of the
training language, and taken out of all: a classifier sees one space.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cached_property
from typing import Any, Self

import numpy as np

from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part
from pmeans.encoder.sentence_encoder import CHUNK, chunks
from pmeans.errors import InputError, NotFittedError
from pmeans.models.baselines import MeanBaseline, Parts, Settings, array
from pmeans.types import Array, Floats


class Sif(MeanBaseline):
    """Smooth inverse frequency over one word space."""

    kind = "sif"
    components = 1
    """How many singular vectors are taken out."""
    parameter = "a"
    """The setting that it has."""

    def __init__(
        self,
        name: str,
        encoder: PowerMeanEncoder,
        frequencies: Array,
        a: float = 1e-3,
        removed: Floats | None = None,
    ) -> None:
        """Join a space with the frequencies of its words.

        Args:
            name: For people.
            encoder: What `pmeans.models.baselines.plain_mean` makes of a space.
            frequencies: p(w) of each word within its language, (n_words,); 0 if it is not known.
            a: How common a word must be to weigh half as much as a rare one.
            removed: What `fit` found, (n, dim).
        """
        super().__init__(name, encoder)
        self.a, self.removed = a, removed
        if removed is not None:
            array({"removed": removed}, "removed", (None, self.dim))
        self.frequencies = np.ascontiguousarray(frequencies, dtype=np.float32)
        in_range = (self.frequencies >= 0) & (self.frequencies < np.inf)
        if in_range.shape != (len(self.space),) or not in_range.all():
            raise InputError(
                f"frequencies {self.frequencies.shape} for the {len(self.space):,} words of "
                f"{self.space.name!r}: one of at least 0 for each is needed."
            )
        if not 1e-30 < a < 1e30:
            raise InputError(f"a must be above 0, and a number for float32, not {a}.")

    @property
    def needs_fit(self) -> bool:
        """Whether nothing says yet what is to be taken out."""
        return self.removed is None

    def settings(self) -> Settings:
        """Return the parameter."""
        return {self.parameter: getattr(self, self.parameter)}

    def arrays(self) -> dict[str, Array]:
        """Return the frequencies, and what is taken out."""
        learned = {} if self.removed is None else {"removed": self.removed}
        return {"frequencies": self.frequencies, **learned}

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Make the encoder of stored parts."""
        return cls(
            name,
            parts.encoder(),
            array(parts.arrays, "frequencies", (None,)),
            parts.setting(cls.parameter, float),
            parts.arrays.get("removed"),
        )

    def weights(self) -> Floats:
        """Return what each word weighs, (n_words,)."""
        return np.float32(self.a) / (np.float32(self.a) + self.frequencies)

    def fit(self, sentences: Iterable[str], *, lang: str | None = None) -> Self:
        """Find what is taken out in sentences of the training language."""
        rows = self._learn(sentences, lang)
        if not len(rows):
            raise InputError(f"{self.kind} needs sentences with known words to be fitted on.")
        found = _directions(rows, self.components, shares=self.components > 1)
        fitted = self._replace(removed=found)
        fitted._weighted = self._weighted  # the same, and as large as the space
        return fitted

    def _learn(self, sentences: Iterable[str], lang: str | None) -> Floats:
        """Return the rows of sentences with a known word, before anything is taken out."""
        blocks = [np.empty((0, self.dim), dtype=np.float32)]
        for texts, _ in chunks(sentences, None, CHUNK):
            rows = self._raw(texts, self.language(lang), None)
            blocks.append(rows[rows.any(axis=1)])
        return np.concatenate(blocks)

    def _replace(self, **changes: Any) -> Self:
        kept = {"frequencies": self.frequencies, "removed": self.removed, **self.settings()}
        return type(self)(self.name, self.encoder, **{**kept, **changes})

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language into rows, (n, dim) float32."""
        if self.removed is None:
            raise NotFittedError(
                f"{self.name!r} ({self.kind}) has not been fitted: "
                "encoder = encoder.fit(sentences, lang=...)."
            )
        rows = self._raw(texts, lang, n_threads)
        # Not by BLAS, whose order of summation is its own.
        along = kernels.map_rows(rows, self.removed.T.copy(), n_threads=n_threads)
        for i, direction in enumerate(self.removed):
            rows -= along[:, i, None] * direction
        return rows

    def _raw(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Return rows before anything is taken out, (n, dim)."""
        return self._weighted.encode_rows(texts, lang=lang, n_threads=n_threads)

    @cached_property
    def _weighted(self) -> PowerMeanEncoder:
        """The mean of a copy of the space that has weighted vectors."""
        space, weights = self.space, self.weights()
        if space.scale is not None:
            heavier = dataclasses.replace(space, scale=space.scale * weights)
        else:
            vectors = space.rows(slice(None)) * weights[:, None]
            heavier = dataclasses.replace(space, matrix=vectors, path="")
        return self.encoder.replace(spaces={self.encoder.recipe.parts[0].space: heavier})


class Usif(Sif):
    """Unsupervised smooth inverse frequency over one word space."""

    kind = "usif"
    components = 5
    parameter = "length"

    def __init__(
        self,
        name: str,
        encoder: PowerMeanEncoder,
        frequencies: Array,
        length: float = 11.0,
        removed: Floats | None = None,
    ) -> None:
        """Do as `Sif`, with the average length of a sentence in place of a; `fit` finds it."""
        super().__init__(name, encoder, frequencies, removed=removed)
        self.length = length
        if not 0 < length < np.inf:
            raise InputError(f"the average length of a sentence must be above 0, not {length}.")

    def weights(self) -> Floats:
        """Return what each word weighs, (n_words,); a word without a frequency is the rarest."""
        found = np.empty(len(self.space), dtype=np.float32)
        for lang, table in self.space.tables.items():
            rows = slice(table.start, table.start + len(table))
            p = self.frequencies[rows].astype(np.float64)
            common = np.count_nonzero(p > 1 - (1 - 1 / len(p)) ** self.length)
            if not common or common == len(p):
                raise InputError(
                    f"usif needs common words and rare ones: of {len(p):,} words of {lang!r} in "
                    f"{self.space.name!r}, {common:,} are common. Give other frequencies."
                )
            alpha = common / len(p)
            a = (1 - alpha) / (alpha * len(p) / 2)
            found[rows] = a / (a / 2 + np.where(p > 0, p, p[p > 0].min()))
        return found

    def fit(self, sentences: Iterable[str], *, lang: str | None = None) -> Self:
        """Find the average length, and what is taken out, in sentences of the training language."""
        texts = list(sentences)
        tokens = self.encoder.coverage(texts, lang=self.language(lang)).tokens
        if not tokens.any():
            raise InputError(f"{self.kind} needs sentences with known words to be fitted on.")
        measured = self._replace(length=float(tokens[tokens > 0].mean()))
        return Sif.fit(measured, texts, lang=lang)

    def _raw(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        both, coverage = self._joined.encode_covered(texts, lang=lang, n_threads=n_threads)
        mean, scale = both[:, : self.dim], both[:, self.dim :]
        scale = scale * np.sqrt(coverage.known[0], dtype=np.float32)[:, None]
        return np.divide(mean, scale, out=np.zeros_like(mean), where=scale > 0)

    @cached_property
    def _joined(self) -> PowerMeanEncoder:
        """The weighted mean beside the quadratic mean of the words as they are."""
        # What is composed of n-grams has no weight. A phrase is one vector but counts as several
        # words: its own words are taken instead.
        plain = dataclasses.replace(self.space, subwords=None)
        weighted = dataclasses.replace(*self._weighted.spaces.values(), subwords=None)
        parts = (Part("weighted", (1,), phrases=False), Part("plain", (2,), phrases=False))
        recipe = dataclasses.replace(self.encoder.recipe, parts=parts)
        return PowerMeanEncoder(recipe, {"weighted": weighted, "plain": plain})


def _directions(rows: Floats, n: int, *, shares: bool) -> Floats:
    """Return the first right singular vectors of rows, (<= n, dim), not centred.

    With ``shares`` each is scaled so that the product with itself removes its share of their
    squared singular values.
    """
    many = rows.astype(np.float64)
    squares, vectors = np.linalg.eigh(many.T @ many)
    squares, vectors = squares[::-1][:n], vectors[:, ::-1][:, :n].T
    kept = squares > squares[0] * 1e-12  # fewer sentences than vectors
    squares, vectors = squares[kept], vectors[kept]
    if shares:
        vectors = vectors * np.sqrt(squares / squares.sum())[:, None]
    return vectors.astype(np.float32)
