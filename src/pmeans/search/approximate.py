"""An approximate index (usearch's HNSW graph), kept beside the matrix it was built from.

``index.npy.usearch`` is a line of JSON, filled up to 256 bytes, and usearch's own bytes after it,
which are mapped. The line says the size and the time of change of the matrix: where they, the
version of usearch, or the kind of graph are others now, the index is built anew, because a graph of
other rows would answer without a sign that it is wrong. The graph holds rows in int8, each with a
scale of its own, and only proposes candidates; their cosines are computed from the matrix itself,
as in `exact`.

Sentence vectors are hard for such graphs: they have hundreds of dimensions, and no clear clusters.
`benchmarks/scale.md` says how many of the best rows are found, and at what speed.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import InputError
from pmeans.files import check_regular, optional, reading, replacing
from pmeans.output import quantise_rows
from pmeans.search.exact import ArrayVectors, checked_queries, cosines, measured
from pmeans.search.finding import Index
from pmeans.types import Floats, Ints

_HEADER = 256
_BLOCK = 4096  # rows added between two reports
_NEIGHBOURS = 32  # of a row in the graph: more are found with more, and the file is larger
_LOOKED_AT = 512  # rows that a search follows, at least: more are found with more, and slower
_CANDIDATES = 128  # the best of these, at least, whose cosines are computed from the matrix


class ApproximateIndex:
    """Finds most of the rows that `top_k` finds, without looking at all of them."""

    def __init__(
        self,
        index: Index,
        report: Callable[[int, int], object] = lambda done, total: None,
        n_threads: int | None = None,
    ) -> None:
        """Open the approximate index of a matrix, or build and save it if there is none for it.

        Args:
            index: A ``.npy``: rows of a Parquet file cannot be read one by one.
            report: Called with the rows added and their number while the index is built.
            n_threads: Threads to build it with; all available ones if None.
        """
        usearch = optional("usearch.index", "search", "approximate search", "search exactly")
        if not isinstance(index.rows, ArrayVectors):
            raise InputError(
                f"no approximate search in {str(index.path)!r}: embed into a .npy, or search "
                "exactly."
            )
        self._rows = index.rows
        self.path = Path(f"{index.path}.usearch")
        stat = index.path.stat()
        rows = f"{stat.st_size} bytes of {stat.st_mtime_ns} ns"
        stamp = {"rows": rows, "usearch": usearch.__version__, "graph": f"int8, {_NEIGHBOURS}"}
        header = json.dumps(stamp).encode().ljust(_HEADER - 1) + b"\n"
        if _begin(self.path) != header:
            graph = _build(usearch.index, self._rows, report, n_threads or 0)
            with replacing(self.path) as file:
                file.write(header)
                file.write(graph)
        self._mapped = np.memmap(self.path, mode="r")[_HEADER:]
        self._graph = usearch.index.Index.restore(self._mapped, view=True)

    def top_k(self, queries: Floats, k: int = 10) -> tuple[Ints, Floats]:
        """Find most of the rows with the largest cosine; arguments and answer as of `top_k`."""
        units = checked_queries(queries, self._rows.shape[1], k)
        found = np.full((len(units), k), -1, dtype=np.int64)
        scores = np.full((len(units), k), -np.inf, dtype=np.float32)
        n_candidates = min(max(2 * k, _CANDIDATES), len(self._graph))
        self._graph.expansion_search = max(n_candidates, _LOOKED_AT)
        codes = quantise_rows(units, "int8")
        for i in np.flatnonzero(units.any(axis=1)) if n_candidates else ():
            proposed = np.sort(self._graph.search(codes[i], n_candidates).keys.astype(np.int64))
            rows, _ = measured(self._rows.array[proposed], 0)
            exact = cosines(np.broadcast_to(units[i], rows.shape), rows)
            order = np.argsort(-exact, kind="stable")[:k]
            found[i, : len(order)], scores[i, : len(order)] = proposed[order], exact[order]
        return found, scores


def _build(
    usearch: Any, rows: ArrayVectors, report: Callable[[int, int], object], n_threads: int
) -> bytes:
    graph = usearch.Index(ndim=rows.shape[1], metric="cos", dtype="i8", connectivity=_NEIGHBOURS)
    first = 0
    for block in rows.blocks(_BLOCK):
        report(first, len(rows.array))
        values, lengths = measured(block, first)
        able = np.flatnonzero(lengths)  # a row of zeros has no direction, and is never found
        graph.add(first + able, quantise_rows(values[able], "int8"), threads=n_threads)
        first += len(block)
    return graph.save()


def _begin(path: Path) -> bytes:
    """Return the line that a graph of ours begins with; nothing if there is none."""
    check_regular(path)
    if not path.exists():
        return b""
    with reading(path), open(path, "rb") as file:
        header = file.read(_HEADER)
    with contextlib.suppress(ValueError, RecursionError):
        stamp = json.loads(header)
        if isinstance(stamp, dict) and stamp.keys() == {"rows", "usearch", "graph"}:
            return header
    raise InputError(
        f"{str(path)!r} is not a graph of pmeans, which would be written there: move it away, or "
        "search exactly."
    )
