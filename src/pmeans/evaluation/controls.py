"""Controls: encoders that tell what an encoder's size does from what it knows.

A longer vector gives a linear classifier more weights, and may win by that alone (Eger, Rücklé
and Gurevych, 2019). A random projection makes a vector as long as another one and adds nothing
to it: what the other one has above such a control, it does not owe to its length.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pmeans.batching import CHUNK
from pmeans.coverage import Coverage
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.recipe import Recipe
from pmeans.types import Floats
from pmeans.znorm import ZNorm


class RandomProjection:
    """An encoder whose rows go through a fixed Gaussian matrix.

    A z-norm belongs to the inner encoder and is applied before the projection: the columns that
    it puts on one scale are those of the word spaces, and each projected column is a mixture of
    all of them, with nothing left to put in order.
    """

    def __init__(self, encoder: PowerMeanEncoder, dim: int, seed: int = 0) -> None:
        """Draw the matrix.

        Args:
            encoder: Whose rows are projected.
            dim: Columns of a projected row.
            seed: Of the matrix; the same seed and sizes give the same matrix everywhere.
        """
        if dim < 1:
            raise InputError(f"cannot project to {dim} columns: at least 1 is needed.")
        self.encoder = encoder
        self.dim = dim
        self.seed = seed
        drawn = np.random.default_rng(seed).standard_normal((encoder.dim, dim), dtype=np.float32)
        # The scale leaves an average number of a row as large as it was: learning rates and
        # penalties then mean the same to a classifier as without the projection.
        self._matrix = drawn / np.float32(np.sqrt(encoder.dim))

    @property
    def name(self) -> str:
        """The inner encoder's name, and the size."""
        return f"{self.encoder.name} projected to {self.dim}"

    @property
    def recipe(self) -> Recipe:
        """The inner encoder's recipe."""
        return self.encoder.recipe

    @property
    def znorm(self) -> ZNorm | None:
        """The inner encoder's z-norm, if it has been fitted."""
        return self.encoder.znorm

    def fit_znorm(self, sentences: Iterable[str], *, lang: str | None = None) -> RandomProjection:
        """Fit the inner encoder's z-norm, and return the same projection of that encoder."""
        fitted = self.encoder.fit_znorm(sentences, lang=lang)
        return RandomProjection(fitted, self.dim, self.seed)

    def coverage(self, sentences: Iterable[str], *, lang: str | None = None) -> Coverage:
        """Return how many words of each sentence each space of the inner encoder knows."""
        return self.encoder.coverage(sentences, lang=lang)

    def encode(self, sentences: Iterable[str], *, lang: str | None = None) -> Floats:
        """Return one projected row a sentence, (n_sentences, dim) float32.

        The unprojected rows exist block by block only. A zero row stays zero. The last bit of a
        number may depend on how many sentences there are, as it does in any matrix product.
        """
        texts = sentences if isinstance(sentences, Sequence) else list(sentences)
        rows = np.empty((len(texts), self.dim), dtype=np.float32)
        for start in range(0, len(texts), CHUNK):
            block = self.encoder.encode(texts[start : start + CHUNK], lang=lang)
            np.matmul(block, self._matrix, out=rows[start : start + CHUNK])
        return rows
