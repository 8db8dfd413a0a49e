"""An index in shards: rows of many Parquet files, in a folder of matrices with a graph each.

::

    0123456789abcdef.npy           the rows of a shard, mapped
    0123456789abcdef.npy.usearch   its graph, as of `approximate`, mapped
    0123456789abcdef.json          what it was made of, and what the matrix must be

A shard is built by itself, on whatever machine, and all are searched together: each proposes its
best rows, with exact scores, and the best of these are the answer. Row numbers go on from shard to
shard, in the order of the files that they were made of.

What the ``.json`` says is compared when the index is opened: the matrices with their shapes, the
files that have the texts with their sizes and times (`texts`), the model with the one that
searches. What is not as it was is refused, because it would be searched without a sign that the
answers are wrong.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pmeans import config
from pmeans.encoder.identity import ModelIdentity
from pmeans.errors import FormatError, MissingTextsWarning, StorageError
from pmeans.files import check_regular, reading, replacing
from pmeans.search.approximate import ApproximateIndex
from pmeans.search.exact import ArrayVectors
from pmeans.search.finding import VECTORS, Index, map_vectors
from pmeans.search.texts import ParquetTexts, SourceFile
from pmeans.tables.folders import file_stamps, open_file
from pmeans.tables.sources import open_parquet, parquet_batches
from pmeans.types import Array, Floats, Ints

_AGAIN = "run the 'pmeans index' that makes it again, with restart=True"


@dataclass(frozen=True)
class Shard:
    """What a shard is made of, and what it must be.

    Attributes:
        files: Whose rows it has.
        first: Rows in the shards before it.
        model: What made the rows, if the files say so.
        dim: Numbers of a row; 0 before it is built.
        dtype: Their type, as NumPy writes it.
    """

    files: tuple[SourceFile, ...]
    first: int
    model: ModelIdentity | None = None
    dim: int = 0
    dtype: str = ""

    @property
    def rows(self) -> int:
        """How many it has."""
        return sum(file.rows for file in self.files)

    @classmethod
    def read(cls, path: Path) -> Shard:
        """Read what `build_shard` wrote down."""
        check_regular(path)
        try:
            with reading(path):
                shard = config.build(cls, json.loads(path.read_bytes()), "shard")
            counts = [shard.first, shard.dim, *(n for f in shard.files for n in (f.rows, f.size))]
            if not all(0 <= n < 1 << 63 for n in counts):
                raise ValueError("a number cannot be")
        except StorageError:
            raise
        except (ValueError, RecursionError) as error:
            raise FormatError(
                f"{str(path)!r} is damaged, or of another version of pmeans ({error}): {_AGAIN}."
            ) from error
        return shard


def build_shard(path: Path, shard: Shard, n_threads: int | None = None) -> None:
    """Write the three files of a shard; ``path`` is the last, which says that it is complete."""
    matrix = path.with_suffix(".npy")
    with replacing(matrix) as file:
        n_rows, dim, dtype = 0, 0, ""
        for values in _vectors(shard.files):
            if not dtype:
                dim, dtype = values.shape[1], values.dtype.str
                header = {"descr": dtype, "fortran_order": False, "shape": (shard.rows, dim)}
                np.lib.format.write_array_header_1_0(file, header)
            if (values.shape[1], values.dtype.str) != (dim, dtype):
                raise FormatError(
                    f"vectors of {values.shape[1]} numbers ({values.dtype}) among others of {dim} "
                    f"({np.dtype(dtype)}): index those of one model and one dtype= together."
                )
            file.write(values.data)
            n_rows += len(values)
    hashed = tuple(source.hashed() for source in shard.files)
    stamps = [(source.size, source.modified) for source in shard.files]
    now = [stamp for source in hashed for stamp in file_stamps(source.address, [source.path])]
    if n_rows != shard.rows or now != stamps:
        raise StorageError("the files of the index have changed since the job began: run it again.")
    rows = Index(matrix, map_vectors(matrix))
    ApproximateIndex(rows, n_threads=n_threads, first=shard.first)
    with replacing(path) as file:
        file.write(json.dumps(asdict(replace(shard, files=hashed, dim=dim, dtype=dtype))).encode())


def _vectors(files: Sequence[SourceFile]) -> Iterator[Array]:
    """Yield the vectors of files, batch by batch."""
    for source in files:
        path = source.path
        with open_file(source.address, path) as stream, open_parquet(path, stream) as file:
            for batch in parquet_batches(file, columns=[VECTORS]):
                lists = batch.column(0)
                if lists.null_count or not hasattr(lists.type, "list_size"):
                    raise FormatError(f"{path}: the column {VECTORS!r} is not of vectors alone.")
                values = lists.flatten().to_numpy()
                yield np.ascontiguousarray(values.reshape(len(lists), lists.type.list_size))


class ShardVectors:
    """The rows of all shards of a folder, one after the other."""

    def __init__(self, folder: Path) -> None:
        paths = list(folder.glob("*.json"))
        self.shards = [(Shard.read(path), path.with_suffix(".npy")) for path in paths]
        self.shards.sort(key=lambda pair: pair[0].first)
        ends = [0, *(shard.first + shard.rows for shard, _ in self.shards)]
        if not self.shards or [shard.first for shard, _ in self.shards] != ends[:-1]:
            raise FormatError(f"{str(folder)!r} is not a complete index: {_AGAIN}.")
        self.matrices = [_checked_matrix(path, shard) for shard, path in self.shards]
        kinds = {(shard.dim, shard.model) for shard, _ in self.shards}
        if len(kinds) > 1:
            raise FormatError(f"the shards of {str(folder)!r} are of several models: {_AGAIN}.")
        self.shape: tuple[int, int] = (ends[-1], self.shards[0][0].dim)
        self.model = self.shards[0][0].model

    def blocks(self, n_rows: int) -> Iterator[Array]:
        """Yield views of the matrices."""
        for matrix in self.matrices:
            yield from matrix.blocks(n_rows)


def _checked_matrix(path: Path, shard: Shard) -> ArrayVectors:
    """Map the matrix of a shard, which must be the one that was written."""
    matrix = map_vectors(path)
    expected = (shard.rows, shard.dim), shard.dtype
    if (matrix.shape, matrix.array.dtype.str) != expected:
        raise FormatError(
            f"{str(path)!r} has {matrix.shape[0]:,} rows of {matrix.shape[1]} numbers "
            f"({matrix.array.dtype}), and {shard.rows:,} of {shard.dim} ({shard.dtype}) were "
            f"written: {_AGAIN}."
        )
    return matrix


def open_shards(folder: Path, text: str | None = None) -> Index:
    """Open an index in shards; their texts are in the files that they were made of.

    Args:
        folder: What `build_shard` wrote into.
        text: The column with the texts, which must be there; None takes ``text``, if it is there.
    """
    rows = ShardVectors(folder)
    texts = ParquetTexts([f for shard, _ in rows.shards for f in shard.files], text or "text")
    if texts.gone:
        message = f"{texts.gone:,} of the files with the texts of {str(folder)!r} are gone: their "
        warnings.warn(f"{message}rows are found without a text.", MissingTextsWarning, stacklevel=3)
    known = texts.check()
    if text is not None and not known:
        raise FormatError(f"{str(folder)!r}: its files have no column {text!r}; text= names it.")
    return Index(folder, rows, texts if known else None, rows.model)


class ApproximateShards:
    """Finds most of the best rows of an index in shards, by the graph of each."""

    def __init__(
        self,
        rows: ShardVectors,
        report: Callable[[int, int], object] = lambda done, total: None,
    ) -> None:
        """Open the graphs; one that is missing is built."""
        total = rows.shape[0]
        self._rows = rows
        self._graphs = [
            ApproximateIndex(
                Index(path, matrix), _from(report, shard.first, total), first=shard.first
            )
            for (shard, path), matrix in zip(rows.shards, rows.matrices, strict=True)
        ]

    def __reduce__(self) -> tuple[Any, ...]:
        return ApproximateShards, (self._rows,)

    def top_k(self, queries: Floats, k: int = 10) -> tuple[Ints, Floats]:
        """Find most of the rows with the largest cosine; arguments and answer as of `top_k`."""
        with ThreadPoolExecutor(len(self._graphs)) as threads:
            answers = list(threads.map(lambda graph: graph.top_k(queries, k), self._graphs))
        numbers, scores = (np.concatenate(part, axis=1) for part in zip(*answers, strict=True))
        # Stable, and shards come in their order: the smaller row number wins a tie.
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)


def _from(report: Callable[[int, int], object], first: int, total: int) -> Any:
    return lambda done, _: report(first + done, total)


def open_graph(
    index: Index, report: Callable[[int, int], object] = lambda done, total: None
) -> ApproximateIndex | ApproximateShards:
    """Open what finds most of the best rows of an index, and build it if it is not there.

    ``report`` is called with the rows that are in it and their number while it is built.
    """
    if isinstance(index.rows, ShardVectors):
        return ApproximateShards(index.rows, report)
    return ApproximateIndex(index, report)
