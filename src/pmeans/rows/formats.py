r"""Rows of plain text, CSV, TSV and JSON lines.

A CSV record may go over several lines if it is quoted; TSV knows no quotes. The delimiter of CSV,
unless it is named, is the one of ``, ; \t |`` by which the header has the columns asked for, and
most of the first rows have as many cells as the header.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol

from pmeans.errors import FormatError, InputError
from pmeans.rows import lines as reading
from pmeans.rows.fields import ABSENT, Block, Fields, Place
from pmeans.rows.lines import Chunk, Lines, strange

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
_SAMPLE = 20  # rows that tell the delimiter


class Parser(Protocol):
    """Makes blocks of rows of chunks of lines."""

    def begin(self, lines: Lines) -> None:
        """Take what comes before the first row."""

    def blocks(self, lines: Lines, chunk: Chunk, n_rows: int) -> Iterator[Block]:
        """Yield the rows of a chunk, and take their lines."""


def parser_of(format: str, fields: Fields, delimiter: str | None) -> Parser:  # noqa: A002
    """Return what reads a format."""
    if format in ("csv", "tsv"):
        return Table(fields, format == "csv", delimiter)
    if delimiter is not None:
        raise InputError(f"{format} has no delimiter: leave out delimiter=.")
    return JsonLines(fields) if format == "jsonl" else Plain(fields)


class Plain:
    """A sentence per line."""

    def __init__(self, fields: Fields) -> None:
        if fields.lang_column is not None or fields.label is not None:
            raise InputError("plain text has no columns: give lang= instead of lang_column=.")
        self._fields = fields

    def begin(self, lines: Lines) -> None:
        """Take nothing."""

    def blocks(self, lines: Lines, chunk: Chunk, n_rows: int) -> Iterator[Block]:
        """Yield the lines as they are."""
        texts: list[str | None] = list(chunk.lines)
        names = (self._fields.text,)
        first = lines.place.line + 1
        for start in range(0, len(texts), n_rows):
            some = texts[start : start + n_rows]
            numbers = range(first + start, first + start + len(some))
            place = lines.advance(chunk, start + len(some), len(some))
            if chunk.dirty:
                bad = f"not valid {lines.encoding.upper()}; encoding= names another"

                def picked(text: str, bad: str = bad) -> tuple[str, None, None]:
                    if strange(text):
                        raise ValueError(bad)
                    return text, None, None

                rows = zip(some, numbers, strict=True)
                yield self._fields.block(rows, picked, lambda t: [t], lines.where, names, place)
                continue
            cells = [[text] for text in some] if self._fields.whole else []
            yield Block(some, None, None, names, cells, numbers, place)
        lines.advance(chunk, len(chunk.ends), 0)  # a mark of byte order alone is a line, not a row


class JsonLines:
    """An object per line; blank lines are not rows."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def begin(self, lines: Lines) -> None:
        """Take nothing."""

    def blocks(self, lines: Lines, chunk: Chunk, n_rows: int) -> Iterator[Block]:
        """Parse lines one by one."""
        first = lines.place.line
        filled = [(i, line) for i, line in enumerate(chunk.lines, 1) if line.strip()]
        for start in range(0, len(filled), n_rows):
            some = filled[start : start + n_rows]
            records = [(self._loaded(line, lines, chunk.dirty), first + i) for i, line in some]
            place = lines.advance(chunk, some[-1][0], len(some))
            whole = [record for record, _ in records if isinstance(record, dict)]
            names = list(dict.fromkeys(chain.from_iterable(whole))) if self._fields.whole else []

            def cells(record: Any, names: list[str] = names) -> list[object]:
                if not isinstance(record, dict):
                    return [ABSENT] * len(names)
                return [record.get(name, ABSENT) for name in names]

            yield self._fields.block(records, self._picked, cells, lines.where, names, place)
        lines.advance(chunk, len(chunk.ends), 0)

    def _picked(self, record: Any) -> tuple[object, object, object]:
        if isinstance(record, Exception):
            raise record
        return self._fields.picked(record)

    def _loaded(self, line: str, lines: Lines, dirty: bool) -> Any:
        """Return what a line holds, or what is wrong with it."""
        if dirty and strange(line):
            return ValueError(f"not valid {lines.encoding.upper()}; encoding= names another")
        try:
            record = json.loads(line)
            if "\\u" in line and strange(json.dumps(record, ensure_ascii=False)):
                return ValueError("half a character (a lone surrogate), which is not text")
        except json.JSONDecodeError as error:
            return ValueError(f"not valid JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:  # nested too deeply; an absurd number
            return ValueError(f"not valid JSON: {str(error) or 'nested too deeply'}")
        return record


class _BadRecord(csv.Error):
    """In place of a record that is not valid; ``line`` is where that was seen."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Table:
    """Cells between delimiters, under a header."""

    def __init__(self, fields: Fields, quoted: bool, delimiter: str | None) -> None:
        delimiter = DELIMITERS.get(delimiter, delimiter) if delimiter else None
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
            raise InputError(
                f"the delimiter is one character, or one of {', '.join(DELIMITERS)}, not "
                f"{delimiter!r}."
            )
        self._fields, self._quoted = fields, quoted
        self._delimiter = delimiter or (None if quoted else "\t")
        self._names: list[str] = []
        self._at: dict[str, int] = {}

    def begin(self, lines: Lines) -> None:
        """Find the delimiter, and read the header."""
        csv.field_size_limit(reading.LONGEST)
        chunk = lines.chunk()
        if chunk is not None:
            if self._delimiter is None:
                self._delimiter = self._found(chunk.text)
            records, ends = self._records(chunk, 0, just_one=True)
            if records and isinstance(records[0], _BadRecord):
                raise FormatError(f"{lines.where} {records[0].line:,}: {records[0]}.")
            self._names = list(records[0]) if records else []  # type: ignore[arg-type]
            lines.advance(chunk, ends[0] if ends else len(chunk.ends), 0)
        if not self._names:
            raise FormatError(f"{lines.name}: an empty file, without a header.")
        self._at = self._fields.positions(self._names, f"{lines.where} {lines.place.line:,}")

    def blocks(self, lines: Lines, chunk: Chunk, n_rows: int) -> Iterator[Block]:
        """Yield the records that end in a chunk."""
        first = lines.place.line
        records, ends = self._records(chunk, first)
        for start in range(0, len(records), n_rows):
            some = records[start : start + n_rows]
            numbers = ends[start : start + n_rows]
            place = lines.advance(chunk, numbers[-1], len(some))
            yield self._block(lines, some, [first + end for end in numbers], chunk.dirty, place)
        if chunk.last:
            lines.advance(chunk, len(chunk.ends), 0)

    def _block(
        self,
        lines: Lines,
        records: Sequence[Any],
        numbers: list[int],
        dirty: bool,
        place: Place,
    ) -> Block:
        fields, at, n = self._fields, self._at, len(self._names)
        try:
            widths = set(map(len, records))
            if dirty or (widths != {n} if fields.whole else min(widths) <= max(at.values())):
                raise TypeError
            columns = {argument: [record[i] for record in records] for argument, i in at.items()}
            if "lang_column" in at:
                columns["lang_column"] = list(map(fields.codes.__getitem__, columns["lang_column"]))
            cells = records if fields.whole else ()
            langs, labels = columns.get("lang_column"), columns.get("label")
            return Block(columns["text"], langs, labels, self._names, cells, numbers, place)
        except (TypeError, ValueError):  # a row is not as it should be: see which
            rows = zip(records, numbers, strict=True)
            return fields.block(
                rows, self._picked(lines), self._cells, lines.where, self._names, place
            )

    def _picked(self, lines: Lines) -> Any:
        fields, at, n = self._fields, self._at, len(self._names)

        def picked(record: Any) -> tuple[object, object, object]:
            if isinstance(record, _BadRecord):
                raise ValueError(str(record))
            if fields.whole and len(record) != n:
                raise ValueError(f"{len(record)} columns, and the header has {n}")
            if len(record) <= max(at.values()):
                raise ValueError(f"only {len(record)} columns")
            found = {argument: record[i] for argument, i in at.items()}
            # Undecodable bytes matter in the columns asked for alone.
            if strange("".join(record if fields.whole else found.values())):
                raise ValueError(f"not valid {lines.encoding.upper()}; encoding= names another")
            return found["text"], found.get("lang_column"), found.get("label")

        return picked

    def _cells(self, record: Any) -> list[str]:
        """Return as many cells as the header has, of a bad record what can be written."""
        if isinstance(record, _BadRecord):
            return [""] * len(self._names)
        cells = [*record, *[""] * len(self._names)][: len(self._names)]
        return [cell.encode("utf-8", "replace").decode("utf-8") for cell in cells]

    def _reader(self, text: io.StringIO, delimiter: str | None, strict: bool) -> Any:
        if self._quoted:
            return csv.reader(text, delimiter=delimiter or ",", strict=strict)
        return csv.reader(text, delimiter=delimiter or "\t", quoting=csv.QUOTE_NONE)

    def _records(
        self, chunk: Chunk, first: int, just_one: bool = False
    ) -> tuple[list[list[str] | _BadRecord], list[int]]:
        """Return the records that end in a chunk, and the lines up to the end of each.

        A quote that is opened and never closed takes lines with it that are sound: reading goes on
        after the line that the record began with.
        """
        text = io.StringIO(chunk.text, newline="\n")
        reader = self._reader(text, self._delimiter, strict=True)
        records: list[list[str] | _BadRecord] = []
        ends: list[int] = []
        began = behind = 0  # lines before this record; lines that the reader did not count
        while True:
            try:
                for record in reader:
                    began = reader.line_num + behind
                    if record:  # an empty line is not a record
                        records.append(record)
                        ends.append(began)
                        if just_one:
                            break
                return records, ends
            except csv.Error as error:
                at = reader.line_num + behind
                if at == len(chunk.ends) and not chunk.last and "end of data" in str(error):
                    return records, ends  # it goes on in the next chunk
                began += 1
                lost = at - began
                told = f" (the row begins {lost:,} lines before)" if lost else ""
                records.append(_BadRecord(f"not valid CSV: {error}{told}", first + at))
                ends.append(began)
                if lost:
                    text.seek(sum(map(len, chunk.text.split("\n", began)[:-1])) + began)
                    behind = began - reader.line_num

    def _found(self, text: str) -> str:
        """Return the delimiter that the first rows speak for."""
        sample = "".join(islice(io.StringIO(text, newline="\n"), 10 * _SAMPLE))

        def merit(delimiter: str) -> tuple[bool, float, int]:
            try:
                reader = self._reader(io.StringIO(sample, newline="\n"), delimiter, strict=False)
                rows = list(islice(filter(None, reader), _SAMPLE))
            except csv.Error:
                return False, 0.0, 0
            header = rows[0] if rows else []
            alike = sum(len(row) == len(header) for row in rows) / max(1, len(rows))
            return set(self._fields.named.values()) <= set(header), alike, len(header)

        return max(",;\t|", key=merit)  # the first of equals
