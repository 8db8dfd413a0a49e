"""An index in shards: rows of many Parquet files, in a folder of matrices with a graph each.

::

    0123456789abcdef.npy           the rows of a shard, mapped
    0123456789abcdef.npy.usearch   its graph, as of `approximate`, mapped
    0123456789abcdef.json          which files it was made of, and the number of its first row

A shard is built by itself, on whatever machine, and all are searched together: each proposes its
best rows, with exact scores, and the best of these are the answer. Row numbers go on from shard to
shard, in the order of the files that they were made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError, StorageError
from pmeans.files import check_regular, reading, replacing
from pmeans.rows.folders import open_file
from pmeans.rows.sources import open_parquet, parquet_batches
from pmeans.search.approximate import ApproximateIndex
from pmeans.search.exact import ArrayVectors
from pmeans.search.finding import VECTORS, Index, map_rows
from pmeans.types import Array, Floats, Ints


@dataclass(frozen=True)
class Shard:
    """What a shard is made of.

    Attributes:
        address: Tells the file system of the files, as of `find_parquet`.
        files: Their paths, with the number of rows of each.
        first: Rows in the shards before it.
    """

    address: str
    files: list[tuple[str, int]]
    first: int

    @property
    def rows(self) -> int:
        """How many it has."""
        return sum(rows for _, rows in self.files)


def build_shard(path: Path, shard: Shard, n_threads: int | None = None) -> None:
    """Write the three files of a shard; ``path`` is the last, which says that it is complete."""
    matrix = path.with_suffix(".npy")
    with replacing(matrix) as file:
        n_rows, dim = 0, None
        for values in _vectors(shard):
            if dim is None:
                dim, shape = values.shape[1], (shard.rows, values.shape[1])
                header = {"descr": values.dtype.str, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
            if values.shape[1] != dim:
                raise FormatError(f"vectors of {values.shape[1]} numbers among others of {dim}.")
            file.write(values.data)
            n_rows += len(values)
    if n_rows != shard.rows:
        raise StorageError("the files of the index have changed since the job began: run it again.")
    ApproximateIndex(Index(matrix, ArrayVectors(map_rows(matrix))), n_threads=n_threads)
    with replacing(path) as file:
        told = {"address": shard.address, "files": shard.files, "first": shard.first}
        file.write(json.dumps({**told, "rows": shard.rows}).encode())


def _vectors(shard: Shard) -> Iterator[Array]:
    """Yield the vectors of a shard's files, batch by batch."""
    for path, _ in shard.files:
        with open_file(shard.address, path) as stream, open_parquet(path, stream) as file:
            for batch in parquet_batches(file, columns=[VECTORS]):
                lists = batch.column(0)
                if lists.null_count or not hasattr(lists.type, "list_size"):
                    raise FormatError(f"{path}: the column {VECTORS!r} is not of vectors alone.")
                values = lists.flatten().to_numpy()
                yield np.ascontiguousarray(values.reshape(len(lists), lists.type.list_size))


class ShardVectors:
    """The rows of all shards of a folder, one after the other."""

    def __init__(self, folder: Path) -> None:
        self.shards, self.matrices = [], []
        for path in folder.glob("*.json"):
            check_regular(path)
            with reading(path):
                content = json.loads(path.read_bytes())
            shard = Shard(content["address"], content["files"], content["first"])
            self.shards.append((shard, path.with_suffix(".npy")))
        self.shards.sort(key=lambda found: found[0].first)
        ends = [0, *(shard.first + shard.rows for shard, _ in self.shards)]
        if not self.shards or [shard.first for shard, _ in self.shards] != ends[:-1]:
            raise FormatError(f"{str(folder)!r} is not a complete index: run 'pmeans index' again.")
        self.matrices = [ArrayVectors(map_rows(path)) for _, path in self.shards]
        self.shape: tuple[int, int] = (ends[-1], self.matrices[0].shape[1])

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield views of the matrices."""
        for matrix in self.matrices:
            yield from matrix.blocks(n_rows)


@dataclass(frozen=True)
class ShardedIndex(Index):
    """Rows in shards; their texts are in the files that they were made of.

    Attributes:
        rows: Of all shards.
        text: The column with the texts.
    """

    rows: ShardVectors
    text: str = "text"

    def texts_of(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the texts of some rows, nothing of files that are not there any more."""
        wanted = sorted(rows)
        found: dict[int, str] = {}
        for shard, _ in self.rows.shards:
            first = shard.first
            for path, n_rows in shard.files:
                inside = [row for row in wanted if first <= row < first + n_rows]
                if inside:
                    texts = self._read(shard.address, path, [row - first for row in inside])
                    found.update(zip(inside, texts, strict=False))
                first += n_rows
        return found

    def _read(self, address: str, path: str, rows: list[int]) -> Iterator[str]:
        try:
            stream = open_file(address, path)
        except FileNotFoundError:
            return
        with stream, open_parquet(path, stream) as file:
            if self.text not in file.schema_arrow.names:
                return
            for row in rows:
                for batch in parquet_batches(file, start=row, stop=row + 1, columns=[self.text]):
                    yield batch.column(0)[0].as_py() or ""


class ApproximateShards:
    """Finds most of the best rows of an index in shards, by the graph of each."""

    def __init__(
        self, index: ShardedIndex, report: Callable[[int, int], object] = lambda done, total: None
    ) -> None:
        """Open the graphs; one that is missing is built."""
        rows, total = index.rows, index.rows.shape[0]
        self._index = index
        self._graphs = [
            (shard.first, ApproximateIndex(Index(path, matrix), _from(report, shard.first, total)))
            for (shard, path), matrix in zip(rows.shards, rows.matrices, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return ApproximateShards, (self._index,)

    def top_k(self, queries: Floats, k: int = 10) -> tuple[Ints, Floats]:
        """Find most of the rows with the largest cosine; arguments and answer as of `top_k`."""

        def ask(shard: tuple[int, ApproximateIndex]) -> tuple[Ints, Floats]:
            first, graph = shard
            found, scores = graph.top_k(queries, k)
            return np.where(found < 0, found, found + first), scores

        with ThreadPoolExecutor(len(self._graphs)) as threads:
            answers = list(threads.map(ask, self._graphs))
        found, scores = (np.concatenate(part, axis=1) for part in zip(*answers, strict=True))
        # Stable, and shards come in their order: the smaller row number wins a tie.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(found, order, 1), np.take_along_axis(scores, order, 1)


def _from(report: Callable[[int, int], object], first: int, total: int) -> Any:
    return lambda done, _: report(first + done, total)
