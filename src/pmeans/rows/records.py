"""Rows with named columns, written as CSV, TSV, JSON lines or Parquet, block by block.

Parquet grows as a stream of Arrow batches, which can be cut after any of them, and is copied into
row groups of fixed size at the end: the bytes do not depend on the blocks.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, get_args

from pmeans.errors import FormatError
from pmeans.rows.fields import ABSENT
from pmeans.rows.parquet import require_pyarrow
from pmeans.rows.partial import rewriting
from pmeans.rows.vectors import Writer, format_of

TableFormat = Literal["csv", "tsv", "jsonl", "parquet"]
_GROUP = 8192  # rows of a row group of Parquet


class Records(NamedTuple):
    """Rows to write, and the names of their columns."""

    names: Sequence[str]
    cells: Sequence[Sequence[object]]


def table_writer(out: str | Path, format: TableFormat | None = None) -> Writer:  # noqa: A002
    """Return a writer of a format, which the name tells if it is not given."""
    chosen = format_of(out, get_args(TableFormat), format)
    if chosen == "jsonl":
        return _JsonLines()
    return _Parquet() if chosen == "parquet" else _Delimited(quoted=chosen == "csv")


class _Table:
    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        self.names = columns

    def resume(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        self.names = columns

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        file.flush()
        os.fsync(file.fileno())
        os.replace(partial, out)

    def arranged(self, rows: Records) -> Sequence[Sequence[object]]:
        """Return the cells in the order of the first block's columns."""
        if tuple(rows.names) != self.names:
            if unknown := set(rows.names) - set(self.names):
                raise FormatError(
                    f"a row has the column {min(unknown)!r}, which the first rows do not have: "
                    "write .jsonl, where rows may differ."
                )
            named = [dict(zip(rows.names, cells, strict=True)) for cells in rows.cells]
            return [[row.get(name, ABSENT) for name in self.names] for row in named]
        return rows.cells


class _Delimited(_Table):
    def __init__(self, quoted: bool) -> None:
        super().__init__()
        self._quoted = quoted

    def begin(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        super().begin(file, columns)
        self._write(file, [columns])

    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
        self._write(file, self.arranged(rows))

    def _write(self, file: IO[bytes], rows: Sequence[Sequence[object]]) -> None:
        text = io.StringIO(newline="")
        if self._quoted:
            writer = csv.writer(text, lineterminator="\n")
        else:  # TSV knows no quotes, so a cell must not hold what ends it
            writer = csv.writer(
                text, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n"
            )
        try:
            writer.writerows(rows)
        except csv.Error:
            bad = next(row for row in rows if any(c in str(v) for v in row for c in "\t\r\n"))
            raise FormatError(
                f"a tab or a line break in a cell cannot be written as TSV: {bad!r:.60}. "
                "Write .csv or .jsonl."
            ) from None
        file.write(text.getvalue().encode("utf-8"))


class _JsonLines(_Table):
    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
        # What JSON does not know, as dates from Parquet, is written as Python prints it.
        dump = json.JSONEncoder(ensure_ascii=False, default=str).encode
        written = [
            dump({n: c for n, c in zip(rows.names, cells, strict=True) if c is not ABSENT})
            for cells in rows.cells
        ]
        file.write("".join(f"{line}\n" for line in written).encode("utf-8"))


class _Parquet(_Table):
    def __init__(self) -> None:
        super().__init__()
        self._schema: Any = None

    def resume(self, file: IO[bytes], columns: tuple[str, ...]) -> None:
        super().resume(file, columns)
        pyarrow, end = require_pyarrow(""), file.tell()
        file.seek(0)
        self._schema = pyarrow.ipc.read_schema(pyarrow.ipc.read_message(file))
        file.seek(end)

    def append(self, file: IO[bytes], rows: Records, first: int) -> None:
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
            arrays = [
                pyarrow.array(values, type=kind)
                for values, kind in zip(columns, self._schema.types, strict=True)
            ]
            batch = pyarrow.RecordBatch.from_arrays(arrays, schema=self._schema)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise FormatError(
                f"the rows do not share the types of their columns, as Parquet needs: {error}. "
                "Write .jsonl."
            ) from error
        file.write(batch.serialize())

    def finish(self, file: IO[bytes], partial: Path, out: Path, n_rows: int) -> None:
        pyarrow = require_pyarrow(out)
        file.seek(0)
        waiting: list[Any] = []
        with (
            rewriting(out, Path(f"{partial}.parquet")) as target,
            pyarrow.parquet.ParquetWriter(target, self._schema) as writer,
            pyarrow.ipc.open_stream(file) as batches,
        ):
            for batch in batches:
                waiting.append(batch)
                while sum(batch.num_rows for batch in waiting) >= _GROUP:
                    table = pyarrow.Table.from_batches(waiting)
                    writer.write_table(table.slice(0, _GROUP).combine_chunks())
                    waiting = table.slice(_GROUP).to_batches()
            if waiting:
                writer.write_table(pyarrow.Table.from_batches(waiting).combine_chunks())
        os.unlink(partial)
