"""Rows with named columns, written as CSV, TSV, JSON lines or Parquet, block by block."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Protocol, get_args

from pmeans.embedding.parquet import require_pyarrow
from pmeans.errors import FormatError, InputError

TableFormat = Literal["csv", "tsv", "jsonl", "parquet"]
Record = Mapping[str, object]


class TableWriter(Protocol):
    """Writes blocks of rows to an open file."""

    def write(self, file: IO[bytes], rows: Sequence[Record]) -> None:
        """Append rows; the first block says which columns there are."""

    def close(self) -> None:
        """Write what stands behind the last row."""


def table_format(path: str | Path) -> TableFormat:
    """Tell the format by the name."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    for known in get_args(TableFormat):
        if suffix == known:
            if known == "parquet":
                require_pyarrow(path)
            return known
    raise InputError(
        f"cannot write {str(path)!r}: its name must end in "
        f"{', '.join('.' + known for known in get_args(TableFormat))}."
    )


def table_writer(format: TableFormat) -> TableWriter:  # noqa: A002 - what everyone calls it
    """Return a writer of a format."""
    if format == "jsonl":
        return _JsonLines()
    return _Parquet() if format == "parquet" else _Delimited(quoted=format == "csv")


class _Delimited:
    def __init__(self, quoted: bool) -> None:
        self._quoted = quoted
        self._names: list[str] = []

    def write(self, file: IO[bytes], rows: Sequence[Record]) -> None:
        text = io.StringIO(newline="")
        if self._quoted:
            writer = csv.writer(text, lineterminator="\n")
        else:  # TSV knows no quotes, so a cell must not hold what ends it
            writer = csv.writer(
                text, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n"
            )
        if not self._names:
            self._names = _names(rows)
            writer.writerow(self._names)
        for row in rows:
            if unknown := row.keys() - set(self._names):
                raise FormatError(
                    f"a row has the column {min(unknown)!r}, which the first rows have not: "
                    "write .jsonl, where rows may differ."
                )
            cells = ["" if (v := row.get(name)) is None else v for name in self._names]
            try:
                writer.writerow(cells)
            except csv.Error:
                raise FormatError(
                    f"a tab or a line break in a cell cannot be written as TSV: {cells!r:.60}. "
                    "Write .csv or .jsonl."
                ) from None
        file.write(text.getvalue().encode("utf-8"))

    def close(self) -> None:
        pass


class _JsonLines:
    def write(self, file: IO[bytes], rows: Sequence[Record]) -> None:
        for row in rows:
            # What JSON does not know, as dates from Parquet, is written as Python prints it.
            line = json.dumps(dict(row), ensure_ascii=False, default=str)
            file.write(line.encode("utf-8") + b"\n")

    def close(self) -> None:
        pass


class _Parquet:
    def __init__(self) -> None:
        self._writer: Any = None

    def write(self, file: IO[bytes], rows: Sequence[Record]) -> None:
        import pyarrow
        import pyarrow.parquet

        try:
            if self._writer is None:
                schema = pyarrow.Table.from_pylist([dict.fromkeys(_names(rows)), *rows])
                self._writer = pyarrow.parquet.ParquetWriter(file, _filled(schema.schema))
            table = pyarrow.Table.from_pylist(list(rows), schema=self._writer.schema)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            raise FormatError(
                f"the rows do not share the types of their columns, as Parquet needs: {error}. "
                "Write .jsonl."
            ) from error
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _filled(schema: Any) -> Any:
    """Make strings of columns without a value so far: most likely, some will come."""
    import pyarrow

    def typed(field: Any) -> Any:
        return field.with_type(pyarrow.string()) if pyarrow.types.is_null(field.type) else field

    return pyarrow.schema([typed(field) for field in schema])


def _names(rows: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))
