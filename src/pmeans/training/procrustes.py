"""Orthogonal Procrustes: the rotation that brings a language's words nearest to the pivot's.

With word pairs (x, y), ``W = U V'`` of the singular value decomposition ``X'Y = U S V'`` minimises
``|XW - Y|`` over orthogonal W (Schönemann 1966). Where the spaces differ in width, the same formula
gives a W whose shorter side is orthonormal. Vectors are first scaled to length 1, centred and
scaled again (Artetxe et al. 2016), as only then the criterion is about cosines.

Refinement (Conneau et al. 2018): words that are each other's CSLS neighbour under the map join the
dictionary, and the map is fitted again, as long as frequent words move nearer to their neighbours.
It is a closed form throughout: nothing is random, and no state is kept but the aligner's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pmeans.output import unit_rows
from pmeans.training.csls import csls_neighbours
from pmeans.training.word_map import RowPairs, WordMap
from pmeans.types import Array, Floats, Ints


@dataclass(frozen=True)
class Procrustes(WordMap):
    """Languages rotated into the space of a pivot; the inherited fields say which.

    Attributes:
        normalise: Scale to length 1, centre by language, scale again: the pivot's vectors too.
        refinements: How often the dictionary may grow; 0 for the given word pairs alone.
        frequent: How many words of each language, the first of its space, may join it.
    """

    method = "Procrustes rotation"
    normalise: bool = True
    refinements: int = 5
    frequent: int = 5_000

    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        if self.normalise:
            goal = normalised(goal)
        mapped = [goal]
        for vectors, (y, x, weights) in zip(others, pairs, strict=True):
            if self.normalise:
                vectors = normalised(vectors)
            w = fit(vectors[x], goal[y], weights)
            if self.refinements:
                w = self._refined(w, (x, y, weights), vectors, goal)
            mapped.append(vectors @ w)
        return mapped

    def _refined(
        self, w: Floats, seed: tuple[Ints, Ints, Array], vectors: Floats, goal: Floats
    ) -> Floats:
        x, y = vectors[: self.frequent], goal[: self.frequent]
        best, (there, criterion) = w, _nearest(x @ w, y)
        for _ in range(self.refinements):
            back = csls_neighbours(y, x @ best)[:, 0]
            mutual = np.flatnonzero(back[there] == np.arange(len(x)))
            w = fit(
                vectors[np.concatenate([seed[0], mutual])],
                goal[np.concatenate([seed[1], there[mutual]])],
                np.concatenate([seed[2], np.ones(len(mutual))]),
            )
            there, reached = _nearest(x @ w, y)
            if reached <= criterion:
                break
            best, criterion = w, reached
        return best


def fit(x: Array, y: Array, weights: Array) -> Floats:
    """Return the orthogonal map from rows of x to rows of y, (x_dim, y_dim) float32."""
    # In float64: the map then is orthogonal to the last bit that float32 can show.
    covariance = (x.astype(np.float64) * weights[:, None]).T @ y.astype(np.float64)
    u, _, v = np.linalg.svd(covariance, full_matrices=False)
    return (u @ v).astype(np.float32)


def normalised(vectors: Array) -> Floats:
    """Scale rows to length 1, take their mean away, and scale again."""
    rows = unit_rows(vectors)
    return unit_rows(rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32))


def _nearest(queries: Floats, targets: Floats) -> tuple[Ints, float]:
    """Return the CSLS neighbour of each query, and their mean cosine."""
    found = csls_neighbours(queries, targets)[:, 0]
    cosines = np.einsum("ij,ij->i", unit_rows(queries), unit_rows(targets)[found])
    return found, float(cosines.mean(dtype=np.float64))
