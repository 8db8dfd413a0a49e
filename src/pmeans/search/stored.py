"""Rows in a temporary file, which grows while they are searched: memory does not grow with it.

The file has no name, so that nothing is left of it however the process ends. Rows are mapped, and
searched as any other rows are: exactly (`pmeans.search.exact`), or by a graph in memory that
proposes candidates, whose cosines are then computed from the rows.
"""

from __future__ import annotations

import tempfile
import weakref
from typing import Any

import numpy as np

from pmeans.encoder.postprocess import quantise_rows, unit_rows
from pmeans.errors import StorageError
from pmeans.files import optional
from pmeans.search.approximate import new_graph
from pmeans.search.exact import cosines, top_k
from pmeans.types import Array, Floats, Ints

BATCH = 1024
"""Rows that are searched for together."""
_CANDIDATES = 32  # of a graph, whose cosines are computed from the rows


class StoredRows:
    """Rows of length 1 on disk, (n, dim) float32.

    Args:
        dim: Columns of a row.
        approximate: Whether to look for neighbours in a graph (the extra ``[search]``), which may
            miss some.
        n_threads: Threads of the graph; all available ones if None.
    """

    def __init__(self, dim: int, approximate: bool = False, n_threads: int | None = None) -> None:
        self._dim, self._n, self._threads = dim, 0, n_threads or 0
        self._graph: Any = None
        if approximate:
            usearch = optional(
                "usearch.index", "search", "approximate search", "leave out approximate="
            )
            self._graph = new_graph(usearch.index, dim)
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as this does
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self._n

    @property
    def array(self) -> Array:
        """All rows, mapped."""
        if not self._n or not self._dim:
            return np.empty((self._n, self._dim), dtype=np.float32)
        return np.memmap(self._file, dtype=np.float32, mode="r", shape=(self._n, self._dim))

    def append(self, rows: Array) -> None:
        """Add rows of any lengths, (n, dim); one of zeros stays zero, and is never found."""
        units = unit_rows(rows).reshape(-1, self._dim)
        try:
            self._file.seek(0, 2)
            self._file.write(units.data)
            self._file.flush()
        except OSError as error:
            raise StorageError(
                f"could not write a temporary file in {tempfile.gettempdir()!r}: "
                f"{error.strerror}. Free some space, or set TMPDIR to another folder."
            ) from error
        if self._graph is not None:
            able = np.flatnonzero(units.any(axis=1))
            self._graph.add(
                self._n + able, quantise_rows(units[able], "int8"), threads=self._threads
            )
        self._n += len(units)

    def nearest(self, queries: Array, k: int) -> tuple[Ints, Floats]:
        """Find the rows with the largest cosine to each query; as `pmeans.search.top_k` does."""
        numbers = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        rows = self.array
        for start in range(0, len(queries) if self._n else 0, BATCH):
            some = slice(start, start + BATCH)
            find = top_k if self._graph is None else self._propose
            numbers[some], scores[some] = find(np.asarray(queries[some]), rows, k)
        return numbers, scores

    def _propose(self, queries: Array, rows: Array, k: int) -> tuple[Ints, Floats]:
        """Search in the graph, and compute the cosines of what it proposes."""
        numbers = np.full((len(queries), k), -1, dtype=np.int64)
        scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
        units = unit_rows(queries)
        able = np.flatnonzero(units.any(axis=1))
        n = min(max(k, _CANDIDATES), len(self._graph))
        if not n or not len(able):
            return numbers, scores
        codes = quantise_rows(units[able], "int8")
        matches = self._graph.search(codes, n, threads=self._threads)
        proposed = np.atleast_2d(np.asarray(matches.keys)).astype(np.int64)
        counts = np.atleast_1d(getattr(matches, "counts", len(matches.keys)))
        for i, keys, count in zip(able.tolist(), proposed, counts.tolist(), strict=True):
            candidates = np.sort(keys[:count])  # the smaller number first where cosines are equal
            nearby = rows[candidates]
            exact = cosines(np.broadcast_to(units[i], nearby.shape), nearby)
            order = np.argsort(-exact, kind="stable")[:k]
            numbers[i, : len(order)], scores[i, : len(order)] = candidates[order], exact[order]
        return numbers, scores
