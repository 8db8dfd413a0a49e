"""Open an input by its name: ``-`` is standard input, else the extension tells the format.

pyarrow, which reads and writes Parquet, comes with the extra ``[data]``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pmeans.choices import ALSO, InputFormat
from pmeans.errors import FormatError, InputError, StorageError, count, shown
from pmeans.files import optional
from pmeans.tables.code_pages import written_language
from pmeans.tables.fields import BEGINNING, BLOCK, Block, Fields, Place, Source
from pmeans.tables.formats import parser_of
from pmeans.tables.lines import Lines, checked_encoding, opened

_PACKED = (".gz", ".bz2", ".xz", ".zip")
_BATCH = 4 << 20  # bytes of Parquet read at a time, about: of long documents, not too many


def open_source(
    path: str | Path = "-",
    fields: Fields | None = None,
    *,
    format: InputFormat | None = None,  # noqa: A002 - what everyone calls it
    delimiter: str | None = None,
    encoding: str | None = None,
    lang: str | None = None,
) -> Source:
    """Open a source of sentences.

    Args:
        path: A file, compressed or not; ``-`` is standard input.
        fields: Which columns to read; plain text has none.
        format: The format, where the name does not tell; standard input is ``"txt"`` else.
        delimiter: Between the cells of CSV or TSV: a character, or ``comma``, ``semicolon``,
            ``tab``, ``pipe``. That of CSV is found if it is not given.
        encoding: Of text; found if it is not given, as `pmeans.tables.lines` says.
        lang: Language of the texts, if it is known: it narrows the encodings to choose among.
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
    text = None if name == "-" else Path(path)
    return TextSource(text, chosen, fields, delimiter, encoding, lang)


class TextSource(Source):
    """A text file, or standard input if ``path`` is None.

    To go on from a place, what is before it is read again, and compared by its checksum.
    """

    def __init__(
        self,
        path: Path | None,
        format: InputFormat,  # noqa: A002
        fields: Fields,
        delimiter: str | None = None,
        encoding: str | None = None,
        lang: str | None = None,
    ) -> None:
        super().__init__(path, fields)
        self._format, self._delimiter = format, delimiter
        self._lang = lang and written_language(lang)
        self._encoding = encoding and checked_encoding(encoding)
        parser_of(format, fields, delimiter)  # says at once what does not fit

    def identity(self) -> dict[str, Any]:
        """Return what can be said of a file; of a stream, that is next to nothing."""
        options = {"delimiter": self._delimiter, "encoding": self._encoding}
        return {**super().identity(), "input_format": self._format, **options}

    def blocks(self, start: Place = BEGINNING, n_rows: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of rows from a place on."""
        parser = parser_of(self._format, self.fields, self._delimiter)
        with opened(self.path) as stream:
            lines = Lines(stream, self.name, self._encoding, self._lang)
            parser.begin(lines)
            if start.offset and not lines.go_to(start):
                raise InputError(
                    f"this is another input than before: it differs in its first "
                    f"{count(start.rows, 'row')}. Give the same input to resume, or discard what "
                    "was done with restart=True."
                )
            while chunk := lines.chunk():
                yield from parser.blocks(lines, chunk, n_rows)


class ParquetSource(Source):
    """A Parquet file, read batch by batch; a resumed job starts at its row."""

    unit = "row"

    def __init__(self, path: Path, fields: Fields) -> None:
        super().__init__(path, fields)
        self._path = path
        with open_parquet(path) as file:
            self.size, schema = file.metadata.num_rows, file.schema_arrow
        check_strings(schema, fields, str(path))
        self._columns = schema.names if fields.whole else list(fields.named.values())

    def blocks(self, start: Place = BEGINNING, n_rows: int = BLOCK) -> Iterator[Block]:
        """Yield blocks of rows from a place on; whole row groups before it are not read."""
        with open_parquet(self._path) as file:
            row = start.rows
            for batch in parquet_batches(file, n_rows, row, columns=self._columns):
                yield self._block(batch, row)
                row += batch.num_rows

    def _block(self, batch: Any, row: int) -> Block:
        fields, stop, names = self.fields, row + batch.num_rows, batch.schema.names
        columns = {name: arrow_values(batch.column(name)) for name in names}
        values = {argument: columns[name] for argument, name in fields.named.items()}
        cells = list(zip(*columns.values(), strict=True)) if fields.whole else ()
        lines, place = range(row + 1, stop + 1), Place(stop, stop, stop)
        return fields.block(values, names, cells, lines, place, f"{self.name}, {self.unit}")


def parquet_batches(
    file: Any,
    n_rows: int = BLOCK,
    start: int = 0,
    stop: int | None = None,
    columns: list[str] | None = None,
) -> Iterator[Any]:
    """Yield rows of an open Parquet file in batches of up to ``n_rows``, fewer of long documents.

    Args:
        file: A ``pyarrow.parquet.ParquetFile``.
        n_rows: Of a batch, at most.
        start: Number of the first row; whole row groups before it are not read.
        stop: Number of the row to stop before.
        columns: Which; all if None.
    """
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    ends = np.cumsum([0, *(group.num_rows for group in groups)])
    stop = int(ends[-1]) if stop is None else min(stop, int(ends[-1]))
    if start >= stop:
        return
    first = int(np.searchsorted(ends, start, side="right")) - 1
    last = int(np.searchsorted(ends, stop, side="left"))
    size = sum(group.total_byte_size for group in groups[first:last])
    most = max(1, _BATCH * int(ends[last] - ends[first]) // max(1, size))
    row = int(ends[first])
    for batch in file.iter_batches(
        min(n_rows, most), row_groups=range(first, last), columns=columns
    ):
        from_, to = max(start - row, 0), min(stop - row, batch.num_rows)
        if from_ < to:
            yield batch.slice(from_, to - from_)
        row += batch.num_rows


def check_strings(schema: Any, fields: Fields, where: str) -> dict[str, int]:
    """Return the places of the columns asked for in an Arrow schema, by argument.

    Text and language must be strings, of any of Arrow's kinds.
    """
    places = fields.positions(schema.names, where)
    for argument in places.keys() - {"label"}:
        column = schema.field(places[argument])
        coded = str(column.type).startswith("dictionary")
        kind = column.type.value_type if coded else column.type
        if str(kind) not in ("string", "large_string", "string_view"):
            raise FormatError(
                f"{where}: the column {shown(column.name)} holds {kind}, not strings."
            )
    return places


def arrow_values(column: Any) -> list[Any]:
    """Return a column's values; bytes in place of a string that is not valid UTF-8."""
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        columns = []
        for value in column:
            try:
                columns.append(value.as_py())
            except UnicodeDecodeError:
                coded = hasattr(value, "dictionary")
                columns.append(bytes((value.value if coded else value).as_buffer()))
        return columns


def require_pyarrow(path: str | Path) -> Any:
    """Return pyarrow, or fail before any work is done if it is not there."""
    instead = "use .jsonl, which needs nothing more"
    return optional("pyarrow.parquet", "data", repr(str(path)), instead)


@contextlib.contextmanager
def open_parquet(path: str | Path, opened: Any = None, metadata: Any = None) -> Iterator[Any]:
    """Open a Parquet file, and say in our words what is wrong with it, now or while it is read.

    ``opened`` is the file, if it does not lie under its path on this machine, and ``metadata`` what
    it says of itself, if that was read before.
    """
    pyarrow = require_pyarrow(path)
    try:
        with pyarrow.parquet.ParquetFile(opened or path, metadata=metadata) as file:
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:  # names of columns, too
        raise FormatError(f"{path}: cannot be read as Parquet: {error}") from error


def _guess(name: str) -> InputFormat:
    path = Path(name)
    packed = path.suffix.lower() in _PACKED
    suffix = (Path(path.stem) if packed else path).suffix.removeprefix(".").lower()
    for known in get_args(InputFormat):
        if ALSO.get(suffix, suffix) == known and not (packed and known == "parquet"):
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
