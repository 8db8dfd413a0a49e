"""Open an input by its name: ``-`` is standard input, else the extension tells the format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pmeans.errors import InputError, StorageError
from pmeans.rows.fields import BEGINNING, BLOCK, Block, Fields, Place, Source, file_identity
from pmeans.rows.formats import parser_of
from pmeans.rows.lines import Lines, checked_encoding, opened
from pmeans.rows.parquet import ParquetSource

InputFormat = Literal["txt", "csv", "tsv", "jsonl", "parquet"]
_PACKED = (".gz", ".bz2", ".xz", ".zip")


def open_source(
    path: str | Path = "-",
    fields: Fields | None = None,
    *,
    format: InputFormat | None = None,  # noqa: A002 - what everyone calls it
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    """Open a source of sentences.

    Args:
        path: A file, compressed or not; ``-`` is standard input.
        fields: Which columns to read; plain text has none.
        format: The format, where the name does not tell; standard input is ``"txt"`` else.
        delimiter: Between the cells of CSV or TSV: a character, or ``comma``, ``semicolon``,
            ``tab``, ``pipe``. That of CSV is found if it is not given.
        encoding: Of text; found if it is not given, as `pmeans.rows.lines` says.
    """
    fields = fields or Fields()
    name = str(path)
    if name != "-":
        _check_readable(Path(path))
    chosen = format or _guess(name)
    if chosen == "parquet":
        if name == "-":
            raise InputError("Parquet cannot be read from standard input: name the file.")
        if delimiter or encoding:
            raise InputError("Parquet has no delimiter and no encoding: leave them out.")
        return ParquetSource(Path(path), fields)
    return TextSource(None if name == "-" else Path(path), chosen, fields, delimiter, encoding)


class TextSource:
    """A text file, or standard input if ``path`` is None.

    To go on from a place, what is before it is read again, and compared by its checksum.
    """

    unit = "line"

    def __init__(
        self,
        path: Path | None,
        format: InputFormat,  # noqa: A002
        fields: Fields,
        delimiter: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self.name = str(path) if path else "standard input"
        self.fields = fields
        self._path, self._format, self._delimiter = path, format, delimiter
        self._encoding = encoding and checked_encoding(encoding)
        parser_of(format, fields, delimiter)  # says at once what does not fit
        # A named pipe, or /dev/stdin, is a file by its name only.
        regular = path is not None and path.is_file()
        self.files: tuple[str, ...] = (str(path),) if regular else ()
        self.size = path.stat().st_size if path and regular else None

    def identity(self) -> dict[str, Any]:
        """Return what can be said of a file; of a stream, that is next to nothing."""
        which = file_identity(self._path) if self._path and self.files else {"input": "a stream"}
        options = {"delimiter": self._delimiter, "encoding": self._encoding}
        return {**which, "input_format": self._format, **options, **self.fields.identity()}

    def blocks(self, start: Place = BEGINNING, n_rows: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of rows from a place on."""
        parser = parser_of(self._format, self.fields, self._delimiter)
        with opened(self._path) as stream:
            lines = Lines(stream, self.name, self._encoding)
            parser.begin(lines)
            if start.offset and not lines.go_to(start):
                raise InputError(
                    f"the input is not the one that was begun with: its first {start.row:,} rows "
                    "differ. Give the same input to resume, or discard what was done with "
                    "restart=True."
                )
            while chunk := lines.chunk():
                yield from parser.blocks(lines, chunk, n_rows)


def _guess(name: str) -> InputFormat:
    path = Path(name)
    packed = path.suffix.lower() in _PACKED
    suffix = (Path(path.stem) if packed else path).suffix.removeprefix(".").lower()
    for known in get_args(InputFormat):
        if suffix == known and not (packed and known == "parquet"):
            return known
    if name == "-" or not path.is_file():  # standard input, or a pipe with a name
        return "txt"
    raise InputError(
        f"cannot tell the format of {name!r} by its name: give input_format=, one of "
        f"{', '.join(get_args(InputFormat))}."
    )


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise StorageError(f"no file {str(path)!r}.")
    if path.is_dir():
        raise StorageError(f"{str(path)!r} is a folder: name a file in it.")
    if not os.access(path, os.R_OK):
        raise StorageError(f"cannot read {str(path)!r}: permission denied.")
