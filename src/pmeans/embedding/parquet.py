"""Parquet in and out; the one module here that needs pyarrow, the extra ``[data]``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.embedding.rows import Fields, Row, file_identity
from pmeans.errors import FormatError, InputError

_GROUP = 8192  # rows of a row group that is written
_BATCH = 1024  # rows read at a time: of long documents, not too many


def require_pyarrow(path: str | Path) -> None:
    """Fail before any work is done if pyarrow is not there."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            f"{str(path)!r} needs pyarrow: pip install 'pmeans[data]', "
            "or use .jsonl, which needs nothing more."
        ) from None


class ParquetSource:
    """A Parquet file, read batch by batch; a resumed job starts at its row."""

    seekable = True

    def __init__(self, path: Path, fields: Fields) -> None:
        require_pyarrow(path)
        self._path, self._fields = path, fields
        self.has_languages = fields.lang is not None
        with opened(self._path) as file:
            self.size: int | None = file.metadata.num_rows
            fields.columns(file.schema_arrow.names, str(path))
            for name in self._columns:
                _check_strings(file.schema_arrow.field(name), path)

    @property
    def _columns(self) -> list[str]:
        return [name for name in (self._fields.text, self._fields.lang) if name is not None]

    @property
    def _read(self) -> list[str] | None:
        return None if self._fields.whole else self._columns

    def identity(self) -> dict[str, Any]:
        """Return what a resumed job must find unchanged."""
        return {**file_identity(self._path), **self._fields.identity()}

    def rows(self, row: int, line: int, offset: int) -> Iterator[Row]:
        """Yield the rows from a place on; whole row groups before it are not read."""
        with opened(self._path) as file:
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
            starts = np.cumsum([0, *sizes])
            first = int(np.searchsorted(starts, row, side="right")) - 1
            skip = row - int(starts[first])
            number = row
            if first >= len(sizes):
                return
            for batch in file.iter_batches(
                _BATCH, row_groups=range(first, len(sizes)), columns=self._read
            ):
                kept = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - kept.num_rows
                for record in kept.to_pylist():
                    number += 1
                    text: str | None
                    try:
                        text, lang = self._fields.checked(*self._fields.from_mapping(record))
                    except ValueError as error:
                        where = f"{self._path}, row {number:,}"
                        text, lang = self._fields.unreadable(error, where)
                    whole = record if self._fields.whole else {}
                    yield Row(text, lang, number, number, whole)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file, and say in our words what is wrong with it, now or while it is read."""
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield file
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"{path}: cannot be read as Parquet: {error}") from error


def _check_strings(field: Any, path: Path) -> None:
    import pyarrow

    kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
    if not (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        raise FormatError(f"{path}: the column {field.name!r} holds {field.type}, not strings.")


def write_parquet(vectors: IO[bytes], n_rows: int, dim: int, out: IO[bytes]) -> None:
    """Copy raw float32 rows into a Parquet file of ``index`` and ``embedding``, group by group.

    Nothing is compressed: embeddings hardly shrink, and so the bytes depend on the rows alone.
    """
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(
        [
            pyarrow.field("index", pyarrow.int64(), nullable=False),
            pyarrow.field("embedding", pyarrow.list_(pyarrow.float32(), dim), nullable=False),
        ]
    )
    with pyarrow.parquet.ParquetWriter(
        out, schema, compression="none", use_dictionary=False, write_statistics=False
    ) as writer:
        for start in range(0, n_rows, _GROUP):
            stop = min(start + _GROUP, n_rows)
            values = np.frombuffer(vectors.read((stop - start) * dim * 4), dtype="<f4")
            columns = [
                pyarrow.array(np.arange(start, stop)),
                pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values), dim),
            ]
            writer.write_table(pyarrow.table(columns, schema=schema))
