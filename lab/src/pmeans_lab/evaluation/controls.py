"""Controls: encoders that tell what an encoder's size does from what it knows.

A longer vector gives a linear classifier more weights, and may win by that alone (Eger, Rücklé
and Gurevych, 2019). A random projection makes a vector as long as another one and adds nothing
to it: what the other one has above such a control, it does not owe to its length.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pmeans import kernels
from pmeans.encoder.coverage import Coverage
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import CHUNK, SentenceEncoder, chunks, sized
from pmeans.errors import InputError, check_seed
from pmeans.types import Floats
from pmeans_lab.evaluation import cells

_INNER = ("recipe", "spaces", "languages", "znorm", "alignment")


class RandomProjection(SentenceEncoder):
    """An encoder whose rows go through a fixed Gaussian matrix.

    A z-norm belongs to the inner encoder and is applied before the projection: the columns that
    it puts on one scale are those of the word spaces, and each projected column is a mixture of
    all of them, with nothing left to put in order.
    """

    def __init__(self, encoder: PowerMeanEncoder, dim: int, seed: int = 0) -> None:
        """Draw the matrix; the same seed and sizes give the same one everywhere."""
        if dim < 1:
            raise InputError(f"cannot project to {dim} columns: at least 1 is needed.")
        check_seed(seed)
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

    def __getattr__(self, name: str) -> Any:
        """Give what belongs to the inner encoder: recipe, spaces, languages, z-norm, alignment."""
        if name not in _INNER:
            raise AttributeError(f"RandomProjection has no {name!r}.")
        return getattr(self.encoder, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return RandomProjection, (self.encoder, self.dim, self.seed)

    def fingerprint(self) -> str:
        """Return twelve hexadecimal digits over everything that reaches a row, and no name."""
        return cells.name((self.encoder.fingerprint(), self.dim, self.seed))

    def coverage(
        self, sentences: Iterable[str], *, lang: str | Iterable[str] | None = None
    ) -> Coverage:
        """Return the inner encoder's coverage."""
        return self.encoder.coverage(sentences, lang=lang)

    def fit_znorm(self, sentences: Iterable[str], **options: Any) -> RandomProjection:
        """Fit the inner encoder's z-norm, and return the same projection of that encoder."""
        return RandomProjection(self.encoder.fit_znorm(sentences, **options), self.dim, self.seed)

    def encode_rows(
        self,
        sentences: Iterable[str],
        *,
        lang: str | Iterable[str] | None = None,
        out: Floats | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Turn sentences into projected rows, (n_sentences, dim) float32.

        The unprojected rows exist chunk by chunk only. A zero row stays zero.
        """
        texts = sized(sentences)
        shape = (len(texts), self.dim)
        rows = np.empty(shape, dtype=np.float32) if out is None else out
        if rows.shape != shape:
            raise InputError(f"out is {rows.shape}, expected {shape}.")
        done = 0
        for chunk, langs in chunks(texts, lang, CHUNK):
            inner = self.encoder.encode_rows(chunk, lang=langs, n_threads=n_threads)
            some = rows[done : done + len(chunk)]
            kernels.map_rows(inner, self._matrix, out=some, n_threads=n_threads)
            done += len(chunk)
        return rows
