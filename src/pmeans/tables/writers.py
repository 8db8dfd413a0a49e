"""How vectors and tables are written: appended while a job runs, completed when it is done.

What a job has written can be cut at any savepoint. Vectors for npy and Parquet grow as raw rows
after a header of fixed length, which learns the number of rows at the end; tables for Parquet grow
as a stream of Arrow batches. Both are copied into row groups of fixed size when all rows are there,
so that the bytes do not depend on the blocks. CSV, TSV and JSON lines grow as they are.

Numbers are float32, float16, or int8 codes as `pmeans.tensors` makes them, of each row by itself:
``rint(127 * x / max|x|)``. The codes have the direction of the row and not its length: divide them
by their own for rows of length 1. Cosines need not even that.
"""

from __future__ import annotations

import abc
import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, get_args

import numpy as np

from pmeans.choices import ALSO, RowPrecision, TableFormat, VectorFormat
from pmeans.errors import FormatError, InputError, shown
from pmeans.files import replacing
from pmeans.outputs import is_stream
from pmeans.tables.fields import ABSENT
from pmeans.tables.sources import require_pyarrow
from pmeans.tensors import quantised
from pmeans.types import Array, Floats

_NPY_HEADER = 128
"""Bytes up to the first row: room for any number of rows, and a multiple of 64 as NumPy asks."""
_GROUP = 8192  # rows of a row group of Parquet


class Records(NamedTuple):
    """Rows to write.

    Attributes:
        names: The columns of all.
        cells: What each row had.
        added: Further columns, with a cell for each row.
    """

    names: Sequence[str]
    cells: Sequence[Sequence[object]]
    added: Sequence[Sequence[object]]

    def rows(self) -> Iterator[Sequence[object]]:
        """Yield the rows, one by one: Python would look for cycles in lists of a whole block."""
        return ([*row, *more] for row, *more in zip(self.cells, *self.added, strict=True))


class Writer(abc.ABC):
    """Appends blocks of vectors or `Records` to an open file, and makes the finished file of it."""

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        """Write what comes before the first row."""
        self.names = columns

    def resume(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        """Go on with a file that was begun; it stands where it is to be written."""
        self.names = columns

    @abc.abstractmethod
    def append(self, file: IO[bytes], rows: Any, first: int) -> None:
        """Write a block of rows; ``first`` is the number of rows before it."""

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        """Put the finished file in the place of ``out`` and remove ``partial``."""
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, out)


def format_of(
    out: str | Path | IO[bytes],
    known: tuple[str, ...],
    given: str | None = None,
    streamed: tuple[str, ...] = (),
) -> str:
    """Return the output's format: the given one, or the one that a file's name tells.

    A stream, also one with a name as ``/dev/stdout``, takes the formats of ``streamed`` alone, the
    first one if nothing tells.
    """
    named = Path(out).suffix.removeprefix(".").lower() if isinstance(out, (str, Path)) else ""
    named = ALSO.get(named, named)
    if not isinstance(out, (str, Path)) or is_stream(out):
        chosen = given or (named if named in known else streamed[0])
        if chosen not in streamed:
            raise InputError(
                f"{chosen} cannot be written to a stream: take {streamed[0]}, or name a file."
            )
        return chosen
    chosen = given or named
    if chosen not in known:
        endings = ", ".join("." + name for name in known)
        raise InputError(
            f"cannot tell the output's format by the name {str(out)!r}: its name must end in "
            f"{endings}, unless format= says which."
        )
    if chosen == "parquet":
        require_pyarrow(out)
    return chosen


def vector_writer(
    out: str | Path | IO[bytes],
    dim: int,
    format: VectorFormat | None = None,  # noqa: A002 - what everyone calls it
    dtype: RowPrecision = "float32",
    about: Mapping[bytes, bytes] | None = None,
) -> Writer:
    """Return the writer of a format, for rows of ``dim`` numbers.

    ``about`` is what a Parquet file says of itself; others say nothing.
    """
    _check_dtype(dtype)
    chosen = format_of(out, get_args(VectorFormat), format, ("jsonl",))
    if chosen == "jsonl":
        return _VectorLines(dim, dtype)
    return _VectorParquet(dim, dtype, about) if chosen == "parquet" else _Npy(dim, dtype)


def coded_rows(rows: Floats, dtype: RowPrecision, first: int = 0) -> Array:
    """Return rows, (n, dim), in another precision, side by side in memory.

    ``first`` is the number of rows before them, to name one that cannot be stored so.
    """
    _check_dtype(dtype)
    if dtype == "float32":
        return np.ascontiguousarray(rows, dtype=np.float32)
    return quantised(rows, None, dtype, lambda i: f"row {first + i:,}.")[0]


def _check_dtype(dtype: RowPrecision) -> None:
    if dtype not in get_args(RowPrecision):
        raise InputError(
            f"dtype is one of {', '.join(get_args(RowPrecision))}, not {shown(dtype)}."
        )


def parquet_style(dtype: RowPrecision) -> dict[str, Any]:
    """Return how a Parquet file with vectors is written: not compressed, as these hardly shrink.

    Parquet stores a whole number in four bytes at least. As places in a dictionary, which has no
    more than 255 of them, codes take one.
    """
    coded = dtype == "int8"
    return {"compression": "none", "use_dictionary": coded, "write_statistics": False}


def table_writer(
    out: str | Path | IO[bytes],
    format: TableFormat | None = None,  # noqa: A002
) -> Writer:
    """Return the writer of a format, for `Records`."""
    kinds: dict[str, Any] = {"csv": _Csv, "tsv": _Tsv, "jsonl": _JsonLines, "parquet": _Parquet}
    return kinds[format_of(out, get_args(TableFormat), format, ("csv", "tsv", "jsonl"))]()


def _copy(out: Path, partial: Path, schema: Any, tables: Iterator[Any], **options: Any) -> None:
    """Write tables as the row groups of a Parquet file, and remove what they were made of."""
    with (
        replacing(out) as target,
        require_pyarrow(out).parquet.ParquetWriter(target, schema, **options) as writer,
    ):
        for table in tables:
            writer.write_table(table)
    os.unlink(partial)


class _Vectors(Writer):
    def __init__(self, dim: int, dtype: RowPrecision) -> None:
        self.dim, self.precision = dim, dtype
        self.dtype = np.dtype(dtype).newbyteorder("<")

    def coded(self, rows: Floats, first: int) -> Array:
        return coded_rows(rows, self.precision, first).astype(self.dtype, copy=False)


class _VectorLines(_Vectors):
    """One object per line; numbers are the shortest that read back to the same."""

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        if not np.isfinite(rows).all():
            bad = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise FormatError(
                f"row {bad:,} has a number that is not finite, which JSON cannot write: look for "
                "such vectors in the word spaces."
            )
        for i, row in enumerate(self.coded(rows, first), first):
            numbers = ", ".join(map(str, row))
            file.write(f'{{"index": {i}, "embedding": [{numbers}]}}\n'.encode("ascii"))


class _Npy(_Vectors):
    """A NumPy array, (n_rows, dim)."""

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        file.write(self._header(0))

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        file.write(self.coded(rows, first).data)

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        file.seek(0)
        file.write(self._header(n_rows))
        super().finish(file, partial, out, n_rows)

    def _header(self, n_rows: int) -> bytes:
        shape = f"({n_rows}, {self.dim})"
        fields = f"{{'descr': '{self.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
        room = _NPY_HEADER - 10  # magic, version, length
        text = fields.ljust(room - 1).encode("ascii") + b"\n"
        return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + text


class _VectorParquet(_Npy):
    """The columns ``index`` and ``embedding``; not compressed, as embeddings hardly shrink."""

    def __init__(self, dim: int, dtype: RowPrecision, about: Mapping[bytes, bytes] | None) -> None:
        super().__init__(dim, dtype)
        self.about = about

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        pyarrow = require_pyarrow(out)
        kind = pyarrow.from_numpy_dtype(self.dtype.newbyteorder("="))
        schema = pyarrow.schema(
            [
                pyarrow.field("index", pyarrow.int64(), nullable=False),
                pyarrow.field("embedding", pyarrow.list_(kind, self.dim), nullable=False),
            ],
            metadata=self.about,
        )

        def tables() -> Iterator[Any]:
            file.seek(_NPY_HEADER)
            for start in range(0, n_rows, _GROUP):
                stop = min(start + _GROUP, n_rows)
                data = file.read((stop - start) * self.dim * self.dtype.itemsize)
                values = pyarrow.array(np.frombuffer(data, dtype=self.dtype))
                vectors = pyarrow.FixedSizeListArray.from_arrays(values, self.dim)
                numbers = pyarrow.array(np.arange(start, stop))
                yield pyarrow.table([numbers, vectors], schema=schema)

        _copy(out, partial, schema, tables(), **parquet_style(self.precision))


class _Table(Writer):
    def arranged(self, rows: Records) -> Iterator[Sequence[object]]:
        """Return the rows with their cells in the order of the first block's columns."""
        if tuple(rows.names) == self.names:
            return rows.rows()
        if unknown := set(rows.names) - set(self.names):
            raise FormatError(
                f"a row has the column {shown(min(unknown))}, which the first rows do not have: "
                "write .jsonl, where rows may differ."
            )
        named = (dict(zip(rows.names, cells, strict=True)) for cells in rows.rows())
        return ([row.get(name, ABSENT) for name in self.names] for row in named)


class _Csv(_Table):
    dialect: Mapping[str, Any] = {}

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        super().begin(file, columns)
        self._write(file, [columns])

    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
        try:
            self._write(file, self.arranged(rows))
        except csv.Error:
            every = self.arranged(rows)
            bad = next(row for row in every if any(c in str(v) for v in row for c in "\t\r\n"))
            raise FormatError(
                f"a tab or a line break in a cell cannot be written as TSV: {shown(bad, 60)}. "
                "Write .csv or .jsonl."
            ) from None

    def _write(self, file: IO[bytes], rows: Iterable[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", **self.dialect).writerows(rows)
        file.write(text.getvalue().encode("utf-8"))


class _Tsv(_Csv):  # it knows no quotes, so a cell must not hold what ends it
    dialect: Mapping[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}


class _JsonLines(_Table):
    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
        # What JSON does not know, as dates from Parquet, is written as Python prints it.
        dump = json.JSONEncoder(ensure_ascii=False, default=str).encode
        for cells in rows.rows():
            named = zip(rows.names, cells, strict=True)
            line = dump({name: cell for name, cell in named if cell is not ABSENT})
            file.write(f"{line}\n".encode())


class _Parquet(_Table):
    _schema: Any = None

    def resume(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        super().resume(file, columns)
        pyarrow, end = require_pyarrow(""), file.tell()
        file.seek(0)
        self._schema = pyarrow.ipc.read_schema(pyarrow.ipc.read_message(file))
        file.seek(end)

    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
        if not rows.cells:
            return
        pyarrow = require_pyarrow("")
        columns = [
            [None if cell is ABSENT else cell for cell in column]
            for column in zip(*self.arranged(rows), strict=True)
        ]
        try:
            if self._schema is None:
                kinds = [pyarrow.array(values).type for values in columns]
                # Strings of columns without a value so far: most likely, some will come.
                filled = [pyarrow.string() if k == pyarrow.null() else k for k in kinds]
                self._schema = pyarrow.schema(zip(self.names, filled, strict=True))
                file.write(self._schema.serialize())
            arrays = map(pyarrow.array, columns, self._schema.types)
            batch = pyarrow.RecordBatch.from_arrays(list(arrays), schema=self._schema)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise FormatError(
                f"the rows do not share the types of their columns, as Parquet needs: {error}. "
                "Write .jsonl."
            ) from error
        file.write(batch.serialize())

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        pyarrow = require_pyarrow(out)
        if self._schema is None:  # there was no row to tell types by
            self._schema = pyarrow.schema([(name, pyarrow.string()) for name in self.names])
            file.write(self._schema.serialize())

        def tables() -> Iterator[Any]:
            waiting: list[Any] = []
            with pyarrow.ipc.open_stream(file) as batches:
                for batch in batches:
                    waiting.append(batch)
                    while sum(batch.num_rows for batch in waiting) >= _GROUP:
                        table = pyarrow.Table.from_batches(waiting)
                        yield table.slice(0, _GROUP).combine_chunks()
                        waiting = table.slice(_GROUP).to_batches()
            if waiting:
                yield pyarrow.Table.from_batches(waiting).combine_chunks()

        file.seek(0)
        _copy(out, partial, self._schema, tables())
