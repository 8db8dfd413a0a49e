"""How vectors are written: appended while the job runs, completed when it is done.

npy and Parquet both grow as raw rows after a header of fixed length, which a kill can cut at any
byte without harm; only at the end does the header learn the number of rows, or are the rows copied
into a Parquet file. JSON lines grow as they are.

Numbers are float32, float16, or int8 codes as `pmeans.tensors` makes them, of each row by itself:
``rint(127 * x / max|x|)``. The codes have the direction of the row and not its length: divide them
by their own for rows of length 1. Cosines need not even that.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any, Literal, Protocol, get_args

import numpy as np

from pmeans.errors import FormatError, InputError
from pmeans.rows.parquet import require_pyarrow
from pmeans.rows.partial import rewriting
from pmeans.tensors import Precision, quantised
from pmeans.types import Array, Floats

VectorFormat = Literal["npy", "jsonl", "parquet"]
_NPY_HEADER = 128
"""Bytes up to the first row: room for any number of rows, and a multiple of 64 as NumPy asks."""
_GROUP = 8192  # rows of a row group of Parquet


class Writer(Protocol):
    """Appends blocks of output to an open file, and makes the finished file of it."""

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        """Write what comes before the first row."""

    def resume(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        """Go on with a file that was begun; it stands where it is to be written."""

    def append(self, file: IO[bytes], rows: Any, first: int) -> None:
        """Write a block of rows; ``first`` is the number of rows before it."""

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        """Put the finished file in the place of ``out`` and remove ``partial``."""


def format_of(path: str | Path, known: tuple[str, ...], given: str | None = None) -> str:
    """Return the output's format: the given one, or the one that a file's name tells."""
    found = given or Path(path).suffix.removeprefix(".").lower()
    if found not in known:
        endings = ", ".join("." + name for name in known)
        raise InputError(
            f"cannot tell the output's format by the name {str(path)!r}: its name must end in "
            f"{endings}, unless format= says which."
        )
    if found == "parquet":
        require_pyarrow(path)
    return found


def vector_writer(
    out: str | Path,
    dim: int,
    format: VectorFormat | None = None,  # noqa: A002 - what everyone calls it
    dtype: Precision = "float32",
) -> Writer:
    """Return the writer of a format, for rows of ``dim`` numbers."""
    if dtype not in get_args(Precision):
        raise InputError(f"dtype is one of {', '.join(get_args(Precision))}, not {dtype!r}.")
    chosen = format_of(out, get_args(VectorFormat), format)
    kinds = {"npy": _Npy, "jsonl": VectorLines, "parquet": _Parquet}
    return kinds[chosen](dim, dtype)  # type: ignore[return-value]


class _Vectors:
    def __init__(self, dim: int, dtype: Precision) -> None:
        self.dim, self.precision = dim, dtype
        self.dtype = np.dtype(dtype).newbyteorder("<")

    def begin(self, file: IO[bytes], columns: tuple[str, ...] = ()) -> None:
        """Write what comes before the first row."""

    def resume(self, file: IO[bytes], columns: tuple[str, ...] = ()) -> None:
        """Nothing has to be known."""

    def coded(self, rows: Floats, first: int) -> Array:
        if self.precision == "float32":
            return np.ascontiguousarray(rows, dtype=self.dtype)
        coded, _ = quantised(rows, None, self.precision, lambda i: f"row {first + i:,}.")
        return coded.astype(self.dtype, copy=False)

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        """Rename the file."""
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, out)


class VectorLines(_Vectors):
    """One object per line; numbers are the shortest that read back to the same."""

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        """Write a line for each row."""
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

    def begin(self, file: IO[bytes], columns: tuple[str, ...] = ()) -> None:
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


class _Parquet(_Npy):
    """Rows are kept as in a npy file, and copied to Parquet when all are there.

    Its columns are ``index`` and ``embedding``. Nothing is compressed: embeddings hardly shrink,
    and so the bytes depend on the rows alone.
    """

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        pyarrow = require_pyarrow(out)
        kind = pyarrow.from_numpy_dtype(self.dtype.newbyteorder("="))
        schema = pyarrow.schema(
            [
                pyarrow.field("index", pyarrow.int64(), nullable=False),
                pyarrow.field("embedding", pyarrow.list_(kind, self.dim), nullable=False),
            ]
        )
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        file.seek(_NPY_HEADER)
        with (
            rewriting(out, Path(f"{partial}.parquet")) as target,
            pyarrow.parquet.ParquetWriter(target, schema, **plain) as writer,
        ):
            for start in range(0, n_rows, _GROUP):
                stop = min(start + _GROUP, n_rows)
                data = file.read((stop - start) * self.dim * self.dtype.itemsize)
                values = pyarrow.array(np.frombuffer(data, dtype=self.dtype))
                columns = [
                    pyarrow.array(np.arange(start, stop)),
                    pyarrow.FixedSizeListArray.from_arrays(values, self.dim),
                ]
                writer.write_table(pyarrow.table(columns, schema=schema))
        os.unlink(partial)
