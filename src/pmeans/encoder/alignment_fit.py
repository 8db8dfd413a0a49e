"""How alignments are fitted: closed forms over sums of products of paired rows.

X are the z-normed rows of a language, Y those of the pivot, over pairs of sentences:

=============  =============================================================================
``canonical``  pivot and languages go into directions of their own, in which they correlate most,
               each scaled by its squared correlation: what one language alone can say counts little
``ridge``      W = argmin |XW - Y|² + penalty·|W|²; a lower rank is the best fit of that rank
``cca``        X whitened, turned onto whitened Y, and given Y's covariance; a lower rank
               keeps the directions that correlate most; the penalty is added to both covariances
``procrustes`` the orthogonal W that brings XW nearest to Y; no penalty
=============  =============================================================================

The last three lead to the pivot's own columns and leave its rows as they are. A regression keeps
only what it can predict, so ridge rows vary less than the pivot's. But a classifier that is trained
on the pivot's rows may lean on whatever these have, translated or not; canonical directions take
that away from it. ``docs/numerics.md`` has numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pmeans.errors import InputError, count
from pmeans.types import Array, Floats

Method = Literal["canonical", "ridge", "cca", "procrustes"]
Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """How a map is fitted.

    Attributes:
        method: ``"canonical"``, ``"ridge"``, ``"cca"`` or ``"procrustes"``.
        penalty: Added to sums over pairs of squared z-scores: a number of pairs, so to speak.
        rank: Canonical directions to keep, which are the columns of the result; for the others
            the rank of the map. None keeps all.
    """

    method: Method = "canonical"
    penalty: float = 3000.0
    rank: int | None = None

    def check(self, dim: int) -> None:
        """Raise an error if no map of ``dim`` columns can be fitted this way."""
        if self.method not in get_args(Method):
            raise InputError(f"no method {self.method!r}: take {', '.join(get_args(Method))}.")
        if not (self.penalty > 0 and np.isfinite(self.penalty)):
            raise InputError(f"penalty must be a number above 0, not {self.penalty}.")
        if self.rank is not None and not 1 <= self.rank <= dim:
            raise InputError(f"rank {self.rank} is not within 1 and {dim}, the number of columns.")

    def __str__(self) -> str:
        penalty = "" if self.method == "procrustes" else f", penalty {self.penalty:g}"
        return f"{self.method}{penalty}" + (f", rank {self.rank}" if self.rank else "")


class Products:
    """What a map is computed from, summed over blocks of pairs in float64.

    Sums of several texts may be added up: a choice of texts needs no second pass.
    """

    def __init__(self, dim: int, pivot_dim: int | None = None) -> None:
        """Begin with no pairs; ``pivot_dim`` is ``dim`` unless it is given."""
        pivot_dim = pivot_dim or dim
        self.count = 0
        self.xx: Doubles = np.zeros((dim, dim))
        self.xy: Doubles = np.zeros((dim, pivot_dim))
        self.yy: Doubles = np.zeros((pivot_dim, pivot_dim))

    def add(self, x: Floats, y: Floats) -> None:
        """Take in rows, (n, dim) and (n, pivot_dim); a pair with a zero row is left out."""
        if (*x.shape, len(y), *y.shape[1:]) != (len(x), len(self.xx), len(x), len(self.yy)):
            raise InputError(f"the two sides of the pairs differ: {x.shape} and {y.shape}.")
        known = x.any(axis=1) & y.any(axis=1)
        left, right = x[known].astype(np.float64), y[known].astype(np.float64)
        self.count += len(left)
        self.xx += left.T @ left
        self.xy += left.T @ right
        self.yy += right.T @ right

    def check(self) -> None:
        """Raise an error if there are too few pairs for a map."""
        dim = len(self.xx)
        if self.count < dim:
            raise InputError(
                f"{count(self.count, 'pair')} with known words on both sides are too few for a map "
                f"of {count(dim, 'column')}: give at least {dim:,}, better ten times as many."
            )


def to_pivot(sums: Products, fit: Fit) -> tuple[Floats, ...]:
    """Return the map from x to y: a matrix (dim, pivot_dim), or two factors of the fit's rank."""
    sums.check()
    left, right = _SOLVERS[fit.method](sums, fit)
    factors = (left @ right,) if fit.rank is None else (left, right)
    return tuple(factor.astype(np.float32) for factor in factors)


def canonical_pivot(sums: Mapping[str, Products], fit: Fit) -> Floats:
    """Return the pivot's map into canonical directions, (dim, rank).

    The penalty counts once for each language.
    """
    for each in sums.values():
        each.check()
    count = sum(each.count for each in sums.values())
    yy = sum(each.yy for each in sums.values())
    whiten_y, _ = _roots(np.asarray(yy), len(sums) * fit.penalty)
    explained = np.zeros_like(whiten_y)
    for each in sums.values():
        whiten, _ = _roots(each.xx, fit.penalty)
        correlations = whiten @ each.xy @ whiten_y
        explained += correlations.T @ correlations
    # Of whitened Y: its directions, and the mean over languages of their squared correlations.
    squared, directions = np.linalg.eigh(explained)
    order = np.argsort(squared)[::-1][: fit.rank]
    scaled = directions[:, order] * np.maximum(squared[order], 0)
    # The sign of a direction is arbitrary: its largest number is made positive.
    largest = scaled[np.abs(scaled).argmax(axis=0), np.arange(scaled.shape[1])]
    signed = scaled * np.where(largest < 0, -1, 1)
    return (whiten_y @ signed * np.sqrt(count)).astype(np.float32)


def to_canonical(sums: Products, pivot: Floats, penalty: float) -> Floats:
    """Return a language's map into the pivot's canonical directions, (dim, rank).

    X is whitened, turned onto the pivot's mapped rows, and given their spread.
    """
    sums.check()
    goal = pivot.astype(np.float64)
    spread = np.sqrt(np.maximum(np.einsum("ij,ij->j", goal, sums.yy @ goal), 0))
    whiten, _ = _roots(sums.xx, penalty)
    towards = whiten @ sums.xy @ goal / np.where(spread > 0, spread, 1)
    u, _, vt = np.linalg.svd(towards, full_matrices=False)
    return (whiten @ (u @ vt) * spread).astype(np.float32)


def _ridge(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    solved: Array = np.linalg.solve(sums.xx + fit.penalty * np.eye(len(sums.xx)), sums.xy)
    if fit.rank is None:
        return solved, np.eye(len(sums.yy))
    # Reduced-rank regression: keep the directions of Y that the fit explains most of.
    _, directions = np.linalg.eigh(sums.xy.T @ solved)
    leading = directions[:, ::-1][:, : fit.rank]
    return solved @ leading, leading.T


def _cca(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    whiten, _ = _roots(sums.xx, fit.penalty)
    whiten_y, colour_y = _roots(sums.yy, fit.penalty)
    u, _, vt = np.linalg.svd(whiten @ sums.xy @ whiten_y, full_matrices=False)
    return whiten @ u[:, : fit.rank], vt[: fit.rank] @ colour_y


def _procrustes(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    u, _, vt = np.linalg.svd(sums.xy, full_matrices=False)
    return u[:, : fit.rank], vt[: fit.rank]


_SOLVERS = {"ridge": _ridge, "cca": _cca, "procrustes": _procrustes}


def _roots(covariance: Doubles, penalty: float) -> tuple[Doubles, Doubles]:
    """Return the inverse square root and the square root of a matrix, (dim, dim) each."""
    values, vectors = np.linalg.eigh(covariance)
    roots = np.sqrt(np.maximum(values, 0) + penalty)
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
