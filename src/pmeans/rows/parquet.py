"""Rows of Parquet files; pyarrow comes with the extra ``[data]``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError
from pmeans.files import optional
from pmeans.rows.fields import BEGINNING, BLOCK, Block, Fields, Place, file_identity

_BATCH = 4 << 20  # bytes read at a time, about: of long documents, not too many


def require_pyarrow(path: str | Path) -> Any:
    """Return pyarrow, or fail before any work is done if it is not there."""
    instead = "use .jsonl, which needs nothing more"
    return optional("pyarrow.parquet", "data", repr(str(path)), instead)


class ParquetSource:
    """A Parquet file, read batch by batch; a resumed job starts at its row."""

    unit = "row"

    def __init__(self, path: Path, fields: Fields) -> None:
        pyarrow = require_pyarrow(path)
        self.name, self.fields = str(path), fields
        self.files: tuple[str, ...] = (str(path),)
        self._path = path
        with opened(path) as file:
            self.size: int | None = file.metadata.num_rows
            schema = file.schema_arrow
            fields.positions(schema.names, str(path))
        for name in filter(None, (fields.text, fields.lang_column)):
            kind = schema.field(name).type
            kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
            if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
                raise FormatError(f"{path}: the column {name!r} holds {kind}, not strings.")
        self._columns = schema.names if fields.whole else list(fields.named.values())

    def identity(self) -> dict[str, Any]:
        """Return what a resumed job must find unchanged."""
        return {**file_identity(self._path), **self.fields.identity()}

    def blocks(self, start: Place = BEGINNING, n_rows: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of rows from a place on; whole row groups before it are not read."""
        with opened(self._path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            row = start.row
            first = int(np.searchsorted(starts, row, side="right")) - 1
            skip = row - int(starts[first])
            if first >= len(sizes):
                return
            groups = range(first, len(sizes))
            size = sum(file.metadata.row_group(i).total_byte_size for i in groups)
            most = max(1, _BATCH * sum(sizes[first:]) // max(1, size))
            for batch in file.iter_batches(
                min(n_rows, most), row_groups=groups, columns=self._columns
            ):
                kept = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - kept.num_rows
                if kept.num_rows:
                    yield self._block(kept, row)
                    row += kept.num_rows

    def _block(self, batch: Any, row: int) -> Block:
        fields, stop, names = self.fields, row + batch.num_rows, batch.schema.names
        columns = {name: _values(batch.column(name)) for name in names}
        values = {argument: columns[name] for argument, name in fields.named.items()}
        cells = list(zip(*columns.values(), strict=True)) if fields.whole else ()
        lines, place = range(row + 1, stop + 1), Place(stop, stop, stop)
        return fields.block(values, names, cells, lines, place, f"{self.name}, {self.unit}")


def _values(column: Any) -> list[Any]:
    """Return a column's values; bytes in place of a string that is not valid UTF-8."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        binary = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        kept = []
        for value in binary:
            try:
                kept.append(value.as_py())
            except UnicodeDecodeError:
                kept.append(bytes(value.as_buffer()))
        return kept


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file, and say in our words what is wrong with it, now or while it is read."""
    pyarrow = require_pyarrow(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"{path}: cannot be read as Parquet: {error}") from error
