"""Canonical correlation: two languages into the directions in which their words agree most.

The paper's baseline for mapping spaces, "CCA on word alignments of the same text" (Faruqui and Dyer
2014): word pairs that the aligner links, each counted as often as it is linked. With covariances
``Cxx + ridge``, ``Cyy + ridge`` and Cxy of the pairs, the decomposition ``Cxx^-1/2 Cxy Cyy^-1/2 =
U S V'`` gives the maps ``A = Cxx^-1/2 U`` and ``B = Cyy^-1/2 V``, cut after `dim` directions.

The canonical space belongs to the two languages. With one other language, both are mapped into it.
With several there would be a different pivot for each; every other language is instead mapped into
its canonical space and from there back by the (pseudo-)inverse of the pivot's map, and the pivot's
vectors stay as they are. A closed form: nothing is random, and no state is kept but the aligner's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pmeans.errors import InputError
from pmeans.training.word_map import RowPairs, WordMap
from pmeans.types import Array, Floats


class Maps(NamedTuple):
    """What `canonical` fits: ``(x - x_mean) @ a`` and ``(y - y_mean) @ b`` correlate most."""

    x_mean: Array  # (x_dim,)
    y_mean: Array  # (y_dim,)
    a: Array  # (x_dim, dim)
    b: Array  # (y_dim, dim)
    correlations: Array  # (dim,), falling


@dataclass(frozen=True)
class Cca(WordMap):
    """Languages mapped by canonical correlation with a pivot; the inherited fields say which.

    Attributes:
        dim: Canonical directions to keep.
        ridge: Added to the variances, as a share of their mean.
    """

    method = "canonical correlation"
    dim: int
    ridge: float = 1e-3

    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        self._check(min(vectors.shape[1] for vectors in (goal, *others)))
        mapped = []
        for vectors, (x, y, weights) in zip(others, pairs, strict=True):
            maps = canonical(goal[x], vectors[y], weights, self.dim, self.ridge)
            canonic = (vectors - maps.y_mean) @ maps.b
            if len(others) == 1:
                return [(goal - maps.x_mean) @ maps.a, canonic]
            mapped.append(canonic @ np.linalg.pinv(maps.a) + maps.x_mean)
        return [goal, *mapped]

    def _check(self, widest: int) -> None:
        if not 1 <= self.dim <= widest:
            raise InputError(f"dim is {self.dim}, and the narrowest space has {widest} columns.")
        if not self.ridge > 0:
            raise InputError(f"ridge is {self.ridge}; it must be above 0, or variances may vanish.")


def canonical(x: Array, y: Array, weights: Array, dim: int, ridge: float) -> Maps:
    """Fit the maps into the canonical space of paired rows.

    Args:
        x: (n_pairs, x_dim).
        y: (n_pairs, y_dim).
        weights: How much each pair counts, (n_pairs,).
        dim: Directions to keep, at most as many as the narrower side has columns.
        ridge: Added to the variances, as a share of their mean.

    Raises:
        InputError: There are no more pairs than directions, or all vectors are the same.
    """
    if len(x) <= dim:
        raise InputError(
            f"{len(x):,} word pairs with vectors are too few for {dim} canonical directions; "
            "give more pairs or a smaller dim."
        )
    shares = (weights / weights.sum())[:, None]
    x, y = x.astype(np.float64), y.astype(np.float64)
    x_mean, y_mean = (shares * x).sum(axis=0), (shares * y).sum(axis=0)
    x, y = x - x_mean, y - y_mean
    x_root = _inverse_root((shares * x).T @ x, ridge)
    y_root = _inverse_root((shares * y).T @ y, ridge)
    u, correlations, v = np.linalg.svd(x_root @ ((shares * x).T @ y) @ y_root)
    return Maps(x_mean, y_mean, x_root @ u[:, :dim], y_root @ v[:dim].T, correlations[:dim])


def _inverse_root(covariance: Array, ridge: float) -> Array:
    """Return ``(covariance + ridge * mean variance)^-1/2``."""
    variances, directions = np.linalg.eigh(covariance)
    mean = variances.mean()
    if not mean > 0:
        raise InputError("all vectors of the word pairs are the same; nothing can correlate.")
    return (directions / np.sqrt(variances.clip(0) + ridge * mean)) @ directions.T
