"""The k rows with the largest cosine, exactly, in one pass over the rows.

A block of rows is multiplied with all queries in float32, by BLAS, whose rounding depends on where
in a block a row stands. So the product only says which rows may be among the best: those within
its worst rounding error of the k-th best so far. Their cosines are computed again in float64, row
by row. The answer is therefore that of a slow and careful program, equal rows have equal scores,
and neither the size of blocks nor the other queries change a bit of it. Rows need no
normalisation: their lengths are taken while the block is in the cache.
`tests/property/test_search_exact.py` holds this equal to a full sort in float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import FormatError, InputError
from pmeans.mapped import MappedFields
from pmeans.types import Array, Floats, Ints

_BLOCK = 1 << 21  # numbers of a block: 8 MB, few enough for a cache, enough for BLAS
_QUERIES = 1024  # answered in one pass
_PAIRS = 1 << 21  # numbers of the rows that are compared again in one go
_KINDS = ("float16", "float32", "float64", "int8")


class Vectors(Protocol):
    """Rows that are read in blocks, because they may not fit into memory."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield all rows from the first, (<= n_rows, dim) at a time."""


@dataclass(frozen=True, eq=False)
class ArrayVectors(MappedFields):
    """The rows of an array, which may be memory-mapped."""

    array: Array

    def __post_init__(self) -> None:
        array = self.array
        if array.ndim != 2 or array.dtype.name not in _KINDS:
            raise InputError(
                f"cannot search {array.dtype} of shape {array.shape}: expected (n, dim) of "
                f"{', '.join(_KINDS)}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        n_rows, dim = self.array.shape
        return n_rows, dim

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield views of the array."""
        for start in range(0, len(self.array), n_rows):
            yield self.array[start : start + n_rows]


def top_k(queries: Array, rows: Array | Vectors, k: int = 10) -> tuple[Ints, Floats]:
    """Find the rows with the largest cosine to each query.

    Args:
        queries: (m, dim).
        rows: (n, dim) float16, float32, float64 (taken as float32) or int8, of any lengths; may be
            memory-mapped, and is read once for every 1024 queries.
        k: How many to find.

    Returns:
        Row numbers (m, k) int64 and cosines (m, k) float32, best first, the smaller row number
        first where cosines are equal. A row of zeros is never found, nor anything by a query of
        zeros; where fewer than k rows are found, -1 and -inf fill up.
    """
    searched = ArrayVectors(rows) if isinstance(rows, np.ndarray) else rows
    units = checked_queries(queries, searched.shape[1], k)
    numbers = np.full((len(units), k), -1, dtype=np.int64)
    scores = np.full((len(units), k), -np.inf, dtype=np.float32)
    able = np.flatnonzero(units.any(axis=1))
    n_rows = max(1, _BLOCK // max(1, searched.shape[1]))
    for start in range(0, len(able), _QUERIES):
        some = able[start : start + _QUERIES]
        numbers[some], scores[some] = _scan(units[some], searched.blocks(n_rows), k)
    return numbers, scores


def checked_queries(queries: Array, dim: int, k: int) -> Floats:
    """Return queries of length 1, (m, dim), after checking what is asked."""
    if k < 1:
        raise InputError(f"cannot find {k} rows: ask for at least 1.")
    if queries.ndim != 2 or queries.shape[1] != dim:
        raise InputError(
            f"queries of shape {queries.shape} do not fit rows of {dim} numbers: both must be made "
            "by the same model."
        )
    if not np.isfinite(queries).all():
        raise InputError("a query has a number that is not finite.")
    return unit_rows(queries).reshape(queries.shape)


def measured(block: Array, numbers: Sequence[int] | Ints) -> tuple[Floats, Floats]:
    """Return a block in float32, (n, dim), and the lengths of its rows, (n,).

    Rows whose squares float32 cannot hold are scaled to length 1.

    Args:
        block: Rows as they are stored.
        numbers: Of the rows, to name one that is not finite.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        rows = np.asarray(block, dtype=np.float32)
        # A batch of inner products: BLAS's dot a row, twice as fast as einsum.
        squares = np.matmul(rows[:, None, :], rows[:, :, None])[:, 0, 0]
    odd = np.flatnonzero(~((squares > 1e-30) & (squares < 1e30)))
    if len(odd):
        finite = np.isfinite(rows[odd]).all(axis=1)
        if not finite.all():
            raise FormatError(
                f"row {numbers[int(odd[~finite][0])]:,} of the index has a number that is not "
                "finite. Embed again; if it is still there, a word space is damaged."
            )
        rows = rows.copy()
        rows[odd] = unit_rows(rows[odd])
        squares[odd] = rows[odd].any(axis=1)
    return rows, np.sqrt(squares)


def cosines(units: Floats, rows: Floats) -> Floats:
    """Return the cosine of each query of length 1 with the same row, (n,), rounded once."""
    exact = rows.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    inner = np.einsum("ij,ij->i", units.astype(np.float64), exact)
    return (inner / lengths).astype(np.float32)


def _scan(units: Floats, blocks: Iterable[Array], k: int) -> tuple[Ints, Floats]:
    """Keep the k best rows of each query while the blocks pass, (m, k) twice."""
    nearest = np.full((len(units), k), -1, dtype=np.int64)
    best = np.full((len(units), k), -np.inf, dtype=np.float32)
    # A sum of d products of unit vectors is wrong by at most d roundings of 2**-24, a length by
    # half as much; twice that, since the bound may be such a sum itself; the rest is for the ends.
    slack = np.float32(4 * (units.shape[1] + 8) * 2.0**-24)
    step = max(1, _PAIRS // max(1, units.shape[1]))
    first = 0
    for block in blocks:
        rows, lengths = measured(block, range(first, first + len(block)))
        rough = units @ rows.T
        rough /= np.where(lengths > 0, lengths, 1)
        rough[:, lengths == 0] = -np.inf
        bound = best[:, -1]
        if k <= len(rows) and np.isneginf(bound).any():  # else all rows would be compared again
            bound = np.maximum(bound, np.partition(rough, -k, axis=1)[:, -k])
        near = np.flatnonzero(rough > (bound - slack)[:, None])  # nonzero is slow on two axes
        which, hits = np.divmod(near, len(rows))
        exact = np.empty(len(which), dtype=np.float32)
        for start in range(0, len(which), step):
            some = slice(start, start + step)
            exact[some] = cosines(units[which[some]], rows[hits[some]])
        for query in np.unique(which):
            of_query = slice(*np.searchsorted(which, [query, query + 1]))
            scores = np.concatenate([best[query], exact[of_query]])
            numbers = np.concatenate([nearest[query], first + hits[of_query]])
            # Stable, and rows come in their order: the earlier one wins a tie.
            order = np.argsort(-scores, kind="stable")[:k]
            best[query], nearest[query] = scores[order], numbers[order]
        first += len(rows)
    return nearest, best
