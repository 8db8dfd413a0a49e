"""How vectors are written: appended while the job runs, completed when it is done.

npy and Parquet both grow as raw float32 rows behind a header of fixed length, which a kill can
cut at any byte without harm; only at the end does the header learn the number of rows, or are
the rows copied into a Parquet file. JSON lines grow as they are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Literal, Protocol, get_args

import numpy as np

from pmeans.embedding.parquet import require_pyarrow, write_parquet
from pmeans.embedding.partial import rewriting
from pmeans.errors import FormatError, InputError
from pmeans.types import Floats

OutputFormat = Literal["npy", "jsonl", "parquet"]
_NPY_HEADER = 128
"""Bytes up to the first row: room for any number of rows, and a multiple of 64 as NumPy asks."""


class Writer(Protocol):
    """Appends blocks of rows to an open file, and makes the finished file of it."""

    def begin(self, file: IO[bytes]) -> None:
        """Write what stands before the first row."""

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        """Write a block of rows; ``first`` is the number of rows before it."""

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        """Put the finished file in the place of ``out`` and remove ``partial``."""


def output_format(out: str | Path, format: OutputFormat | None = None) -> OutputFormat:  # noqa: A002
    """Return the format asked for, or the one that a file's name tells."""
    if format is not None:
        return format
    suffix = Path(out).suffix.removeprefix(".").lower()
    for known in get_args(OutputFormat):
        if suffix == known:
            return known
    raise InputError(
        f"cannot tell the output's format by the name {str(out)!r}: "
        f"end it with .npy, .jsonl or .parquet, or say --format."
    )


def writer_for(format: OutputFormat, out: str | Path, dim: int) -> Writer:  # noqa: A002
    """Return the writer of a format, for rows of ``dim`` numbers."""
    if format == "parquet":
        require_pyarrow(out)
        return _Parquet(dim)
    return _Npy(dim) if format == "npy" else JsonLines()


class JsonLines:
    """One object a line; numbers are the shortest that read back to the same float32."""

    def begin(self, file: IO[bytes]) -> None:
        """Write nothing."""

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        """Write a line a row."""
        if not np.isfinite(rows).all():
            bad = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise FormatError(
                f"row {bad:,} has a number that is not finite, which JSON cannot write. "
                "'pmeans spaces info --verify' looks for such vectors in a space."
            )
        for i, row in enumerate(rows, first):
            numbers = ", ".join(map(str, row))
            file.write(f'{{"index": {i}, "embedding": [{numbers}]}}\n'.encode("ascii"))

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        """Rename the file."""
        _sync(file)
        os.replace(partial, out)


class _Npy:
    """A NumPy array of float32, (n_rows, dim)."""

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def begin(self, file: IO[bytes]) -> None:
        file.write(self._header(0))

    def append(self, file: IO[bytes], rows: Floats, first: int) -> None:
        file.write(np.ascontiguousarray(rows, dtype="<f4").data)

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        file.seek(0)
        file.write(self._header(n_rows))
        _sync(file)
        os.replace(partial, out)

    def _header(self, n_rows: int) -> bytes:
        shape = f"({n_rows}, {self.dim})"
        fields = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        room = _NPY_HEADER - 10  # magic, version, length
        text = fields.ljust(room - 1).encode("ascii") + b"\n"
        return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + text


class _Parquet(_Npy):
    """Rows are kept as in a npy file, and copied to Parquet when all are there."""

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        file.seek(_NPY_HEADER)
        with rewriting(out, Path(f"{partial}.parquet")) as target:
            write_parquet(file, n_rows, self.dim, target)
        os.unlink(partial)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
