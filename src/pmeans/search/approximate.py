"""An approximate index (usearch's HNSW graph), kept beside the matrix it was built from.

``index.npy.usearch`` is a line of JSON, filled up to 256 bytes, and usearch's own bytes after it,
which are mapped. The line says the size and the time of change of the matrix: where they, the
version of usearch, or the kind of graph are others now, the index is built anew, because a graph of
other rows would answer without a sign that it is wrong. It also has the hash of the bytes after it,
which are compared before usearch sees them: it believes every number in them, and reads anywhere.
The graph holds rows in int8, each with a scale of its own, and only proposes candidates; their
cosines are computed from the matrix itself, as in `exact`.

Sentence vectors are hard for such graphs: they have hundreds of dimensions, and no clear clusters.
`benchmarks/scale.md` says how many of the best rows are found, and at what speed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.encoder.postprocess import quantise_rows
from pmeans.errors import FormatError, InputError
from pmeans.files import check_regular, optional, reading, replacing
from pmeans.search.exact import ArrayVectors, checked_queries, cosines, measured
from pmeans.search.finding import Index
from pmeans.types import Floats, Ints

_HEADER = 256
_BLOCK = 4096  # rows added between two reports
_NEIGHBOURS = 32  # of a row in the graph: more are found with more, and the file is larger
_LOOKED_AT = 512  # rows that a search follows, at least: more are found with more, and slower
_CANDIDATES = 128  # the best of these, at least, whose cosines are computed from the matrix


class ApproximateIndex:
    """Finds most of the rows that `top_k` finds, without looking at all of them.

    Threads may share it.
    """

    def __init__(
        self,
        index: Index,
        report: Callable[[int, int], object] = lambda done, total: None,
        n_threads: int | None = None,
        first: int = 0,
    ) -> None:
        """Open the approximate index of a matrix, or build and save it if there is none for it.

        Args:
            index: A ``.npy``: rows of a Parquet file cannot be read one by one.
            report: Called with the rows added and their number while the index is built.
            n_threads: Threads to build it with; all available ones if None.
            first: Number of the first row, if the matrix is a shard.
        """
        usearch = optional("usearch.index", "search", "approximate search", "search exactly")
        if not isinstance(index.rows, ArrayVectors):
            raise InputError(
                f"no approximate search in {str(index.path)!r}: embed into a .npy, or search "
                "exactly."
            )
        self._index, self._rows, self._first = index, index.rows, first
        self._lock = threading.Lock()
        self.path = Path(f"{index.path}.usearch")
        stat = index.path.stat()
        rows = f"{stat.st_size} bytes of {stat.st_mtime_ns} ns"
        stamp = {"rows": rows, "usearch": usearch.__version__, "graph": f"int8, {_NEIGHBOURS}"}
        header = _header(self.path)
        if any(header.get(name) != value for name, value in stamp.items()):
            graph = self._build(usearch.index, report, n_threads or 0)
            header = {**stamp, "sha256": hashlib.sha256(graph).hexdigest()}
            with replacing(self.path) as file:
                file.write(json.dumps(header).encode().ljust(_HEADER - 1) + b"\n")
                file.write(graph)
        self._graph = self._open(usearch.index, header.get("sha256"))

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(ApproximateIndex, first=self._first), (self._index,)

    def top_k(self, queries: Floats, k: int = 10) -> tuple[Ints, Floats]:
        """Find most of the rows with the largest cosine; arguments and answer as of `top_k`."""
        units = checked_queries(queries, self._rows.shape[1], k)
        numbers = np.full((len(units), k), -1, dtype=np.int64)
        scores = np.full((len(units), k), -np.inf, dtype=np.float32)
        n_candidates = min(max(2 * k, _CANDIDATES), len(self._graph))
        codes = quantise_rows(units, "int8")
        for i in np.flatnonzero(units.any(axis=1)) if n_candidates else ():
            proposed = self._propose(codes[i], n_candidates)
            rows, _ = measured(self._rows.array[proposed], self._first + proposed)
            exact = cosines(np.broadcast_to(units[i], rows.shape), rows)
            order = np.argsort(-exact, kind="stable")[:k]
            numbers[i, : len(order)] = self._first + proposed[order]
            scores[i, : len(order)] = exact[order]
        return numbers, scores

    def _propose(self, code: Any, n: int) -> Ints:
        """Return the numbers of candidates in the matrix, in their order."""
        with self._lock:  # usearch gives every caller the same memory to search in
            self._graph.expansion_search = max(n, _LOOKED_AT)
            proposed = np.sort(self._graph.search(code, n).keys.astype(np.int64))
        if len(proposed) and not 0 <= proposed[0] <= proposed[-1] < len(self._rows.array):
            raise self._damaged()
        return proposed

    def _open(self, usearch: Any, sha256: Any) -> Any:
        """Map the graph, after comparing its bytes with their hash."""
        with reading(self.path):
            mapped = np.memmap(self.path, mode="r")[_HEADER:]
        if hashlib.sha256(mapped.data).hexdigest() != sha256:
            raise self._damaged()
        graph = usearch.Index.restore(mapped, view=True)
        if graph is None or graph.ndim != self._rows.shape[1] or len(graph) > len(self._rows.array):
            raise self._damaged()
        self._mapped = mapped  # the graph does not hold it
        return graph

    def _damaged(self) -> FormatError:
        return FormatError(
            f"{str(self.path)!r} is damaged: remove it, and the next approximate search builds it "
            "again."
        )

    def _build(
        self, usearch: Any, report: Callable[[int, int], object], n_threads: int
    ) -> bytes | bytearray:
        rows = self._rows
        graph, start = new_graph(usearch, rows.shape[1]), 0
        for block in rows.blocks(_BLOCK):
            report(start, len(rows.array))
            numbers = np.arange(start, start + len(block))
            values, lengths = measured(block, self._first + numbers)
            able = np.flatnonzero(lengths)  # a row of zeros has no direction, and is never found
            graph.add(numbers[able], quantise_rows(values[able], "int8"), threads=n_threads)
            start += len(block)
        return graph.save()


def new_graph(usearch: Any, dim: int) -> Any:
    """Return an empty graph, for rows of ``dim`` codes in int8; ``usearch`` is `usearch.index`."""
    return usearch.Index(ndim=dim, metric="cos", dtype="i8", connectivity=_NEIGHBOURS)


def _header(path: Path) -> dict[str, Any]:
    """Return what a graph of ours says of itself; nothing if there is none."""
    if not path.exists():
        return {}
    check_regular(path)
    with reading(path), open(path, "rb") as file:
        begin = file.read(_HEADER)
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(begin)
        if isinstance(content, dict) and content.keys() >= {"rows", "usearch", "graph"}:
            return content
    raise InputError(
        f"{str(path)!r} is not a graph of pmeans, or damaged: move it away, or search exactly."
    )
