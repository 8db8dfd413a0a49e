"""Retrieval by CSLS: cosine, less the closeness of a word to everything around it.

In high dimensions a few words, the hubs, are the nearest neighbour of very many others.
Cross-domain similarity local scaling (Conneau et al. 2018) takes from the cosine how near a word
lies to its k neighbours in the other language on average: ``2 cos(x, y) - r(x) - r(y)``. For one
query r(x) is a constant and changes no rank, so it is not computed.
"""

from __future__ import annotations

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import InputError
from pmeans.types import Array, Floats, Ints

_CELLS = 1 << 24  # similarities held at a time: 64 MB


def csls_neighbours(
    queries: Array, targets: Array, k: int = 10, top: int = 1, *, among: Array | None = None
) -> Ints:
    """Return for each query the targets that CSLS ranks highest.

    Args:
        queries: Vectors of one language, (n_queries, dim), already mapped.
        targets: Vectors of the other, (n_targets, dim).
        k: Neighbours over which closeness is measured.
        top: How many targets to return.
        among: All vectors of the queries' language, (n, dim), where the queries are only some of
            them: hubs are told by the whole vocabulary. The queries if None.

    Returns:
        Rows of `targets`, best first, the earlier row first where scores are equal,
        (n_queries, min(top, n_targets)). A zero vector has cosine 0 with everything.
    """
    if k < 1 or top < 1:
        raise InputError(f"k is {k} and top is {top}; both must be at least 1.")
    if not len(queries) or not len(targets):
        raise InputError(f"{len(queries)} queries and {len(targets)} targets; none may be empty.")
    queries, targets = unit_rows(queries), unit_rows(targets)
    closeness = _closeness(targets, queries if among is None else unit_rows(among), k)
    top = min(top, len(targets))
    found = np.empty((len(queries), top), dtype=np.int64)
    step = max(1, _CELLS // len(targets))
    for low in range(0, len(queries), step):
        scores = 2 * (queries[low : low + step] @ targets.T) - closeness
        found[low : low + step] = _highest(scores, top)
    return found


def _closeness(rows: Floats, others: Floats, k: int) -> Floats:
    """Return the mean cosine of each row with its k nearest others, (n,)."""
    k = min(k, len(others))
    means = np.empty(len(rows), dtype=np.float32)
    step = max(1, _CELLS // len(others))
    for low in range(0, len(rows), step):
        cosines = rows[low : low + step] @ others.T
        means[low : low + step] = np.partition(cosines, -k, axis=1)[:, -k:].mean(axis=1)
    return means


def _highest(scores: Floats, top: int) -> Ints:
    if top == 1:
        return scores.argmax(axis=1)[:, None]
    some = np.sort(np.argpartition(-scores, top - 1, axis=1)[:, :top], axis=1)
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)
