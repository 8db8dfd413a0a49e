r"""Rows of plain text, CSV, TSV and JSON lines.

A CSV record may go over several lines if it is quoted; TSV knows no quotes. The delimiter of CSV,
unless it is named, is the one of ``, ; \t |`` by which the header has the columns asked for, and
most of the first rows have as many cells as the header.
"""

from __future__ import annotations

import abc
import csv
import io
import json
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from pmeans.errors import FormatError, InputError, did_you_mean, shown
from pmeans.tables import lines as reading
from pmeans.tables.fields import ABSENT, Block, Fields
from pmeans.tables.lines import Chunk, Lines, strange

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "\\t": "\t"}
LONGEST_ROW = 4 << 20
"""Characters of the longest CSV row that goes over several lines: as many as a very long novel has.
What is longer has a quote that was opened and never closed."""
_SAMPLE = 20  # rows that tell the delimiter
_OPEN_QUOTE = re.compile(r'"(?:[^"]+|"")*+\Z')

_Values = tuple[dict[str, Sequence[Any]], Sequence[str], Sequence[Sequence[object]]]


class Parser(abc.ABC):
    """Makes blocks of rows of chunks of lines."""

    spans = False
    """Whether a record may begin in one chunk and end in the next."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields

    def begin(self, lines: Lines) -> None:  # noqa: B027 - most formats begin with a row
        """Take what comes before the first row."""

    def blocks(self, lines: Lines, chunk: Chunk, n_rows: int) -> Iterator[Block]:
        """Yield the rows that end in a chunk, and take their lines."""
        first = lines.place.line
        records, ends = self._records(chunk, first)
        for start in range(0, len(records), n_rows):
            some, after = records[start : start + n_rows], ends[start : start + n_rows]
            place = lines.advance(chunk, after[-1], len(some))
            values = self._values(some, lines, chunk.dirty)
            numbers: Sequence[int] = range(first + after[0], first + after[-1] + 1)
            if len(numbers) > len(some):  # some have several lines
                numbers = [first + end for end in after]
            yield self._fields.block(*values, numbers, place, lines.where)
        if chunk.last or not self.spans:  # a mark of byte order alone is a line, and no row
            lines.advance(chunk, len(chunk.ends), 0)

    @abc.abstractmethod
    def _records(self, chunk: Chunk, first: int) -> tuple[Sequence[Any], Sequence[int]]:
        """Return the records that end in a chunk, and the lines up to the end of each."""

    @abc.abstractmethod
    def _values(self, records: Sequence[Any], lines: Lines, dirty: bool) -> _Values:
        """Return what `Fields.block` takes: the values asked for, all names and all cells."""


def parser_of(format: str, fields: Fields, delimiter: str | None) -> Parser:  # noqa: A002
    """Return what reads a format."""
    if format in ("csv", "tsv"):
        return Table(fields, format == "csv", delimiter)
    if delimiter is not None:
        raise InputError(f"{format} has no delimiter: leave out delimiter=.")
    return JsonLines(fields) if format == "jsonl" else Plain(fields)


def _undecodable(lines: Lines) -> ValueError:
    return ValueError(f"not valid {lines.encoding.upper()}; encoding= names another")


def _writable(text: str) -> str:
    """Return a text with a question mark for each byte that is not valid."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Plain(Parser):
    """A sentence per line."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        if fields.lang_column is not None or fields.label is not None:
            raise InputError("plain text has no columns: give lang= instead of lang_column=.")

    def _records(self, chunk: Chunk, first: int) -> tuple[Sequence[str], Sequence[int]]:
        return chunk.lines, range(1, len(chunk.lines) + 1)

    def _values(self, records: Sequence[str], lines: Lines, dirty: bool) -> _Values:
        texts: Sequence[Any] = records
        if dirty:
            texts = [_undecodable(lines) if strange(text) else text for text in records]
            records = list(map(_writable, records))
        cells = [[text] for text in records] if self._fields.whole else ()
        return {"text": texts}, (self._fields.text,), cells


class JsonLines(Parser):
    """An object per line; blank lines are not rows."""

    def _records(self, chunk: Chunk, first: int) -> tuple[list[str], list[int]]:
        filled = [i for i, line in enumerate(chunk.lines) if line.strip()]
        return [chunk.lines[i] for i in filled], [i + 1 for i in filled]

    def _values(self, records: Sequence[str], lines: Lines, dirty: bool) -> _Values:
        loaded = [self._loaded(line, lines, dirty) for line in records]
        whole = [record if isinstance(record, dict) else {} for record in loaded]
        names = list(dict.fromkeys(chain.from_iterable(whole))) if self._fields.whole else []
        cells = [[record.get(name, ABSENT) for name in names] for record in whole]
        return self._fields.values(loaded, self._picked), names, cells

    def _picked(self, record: Any) -> list[object]:
        named = self._fields.named
        if isinstance(record, Exception):
            raise record
        if not isinstance(record, dict):
            raise ValueError(
                f"expected an object with the key {shown(named['text'])}, got {shown(record, 40)}"
            )
        for argument, name in named.items():
            if name not in record:
                keys = ", ".join(map(shown, list(record)[:8]))
                raise ValueError(
                    f"no key {shown(name)} among {keys};{did_you_mean(name, record)} "
                    f"{argument}= names another"
                )
        return [record[name] for name in named.values()]

    def _loaded(self, line: str, lines: Lines, dirty: bool) -> Any:
        """Return what a line holds, or what is wrong with it."""
        if dirty and strange(line):
            return _undecodable(lines)
        try:
            record = json.loads(line)
            if "\\u" in line and strange(json.dumps(record, ensure_ascii=False)):
                return ValueError("half a character (a lone surrogate), which is not text")
        except json.JSONDecodeError as error:
            return ValueError(f"not valid JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:  # nested too deeply; an absurd number
            return ValueError(f"not valid JSON: {str(error) or 'nested too deeply'}")
        return record


class _RecordError(ValueError):
    """In place of a record that is not valid; ``line`` is where that was seen."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line

    def __len__(self) -> int:
        return 0


class _OpenQuoteError(csv.Error):
    """A record is so long that a quote in it must have been left open."""


def _open_quote(text: str, starts: Sequence[int], began: int) -> tuple[str, int]:
    """Return what is wrong with a record, and the line of the quote that it leaves open.

    The record begins after ``began`` lines, which begin at ``starts``.
    """
    start = starts[began]
    end, within = len(text), ""
    if end - start > LONGEST_ROW:
        # Where a line of the record begins, its quote is open.
        end = starts[bisect(starts, start + LONGEST_ROW) - 1]
        within = f" within {LONGEST_ROW:,} characters"
    quote = _OPEN_QUOTE.search(text, start, end)
    line = began + 1 + (text.count("\n", start, quote.start()) if quote else 0)
    return f"a quote opens here and is not closed{within}", line


class Table(Parser):
    """Cells between delimiters, under a header."""

    spans = True

    def __init__(self, fields: Fields, quoted: bool, delimiter: str | None) -> None:
        delimiter = DELIMITERS.get(delimiter, delimiter) if delimiter else None
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
            raise InputError(
                f"the delimiter is one character, or one of {', '.join(DELIMITERS)}, not "
                f"{delimiter!r}."
            )
        super().__init__(fields)
        self._quoted = quoted
        self._delimiter = delimiter or (None if quoted else "\t")
        self._names: list[str] = []
        self._at: dict[str, int] = {}

    def begin(self, lines: Lines) -> None:
        """Find the delimiter, and read the header."""
        csv.field_size_limit(reading.LONGEST)
        chunk = lines.chunk()
        if chunk is not None:
            if self._delimiter is None:
                self._delimiter = self._guess_delimiter(chunk.text)
            records, ends = self._records(chunk, 0, just_one=True)
            if records and isinstance(records[0], _RecordError):
                raise FormatError(f"{lines.where} {records[0].line:,}: {records[0]}.")
            self._names = list(records[0]) if records else []  # type: ignore[arg-type]
            lines.advance(chunk, ends[0] if ends else len(chunk.ends), 0)
        if not self._names:
            raise FormatError(f"{lines.name}: an empty file, without a header.")
        self._at = self._fields.positions(self._names, f"{lines.where} {lines.place.line:,}")

    def _values(self, records: Sequence[Any], lines: Lines, dirty: bool) -> _Values:
        fields, at, n = self._fields, self._at, len(self._names)
        least = max(at.values())

        def picked(record: Any) -> list[str]:
            if isinstance(record, _RecordError):
                raise record
            if fields.whole and len(record) != n:
                raise ValueError(f"{len(record)} columns, and the header has {n}")
            if len(record) <= least:
                raise ValueError(f"only {len(record)} columns")
            cells = [record[i] for i in at.values()]
            # Undecodable bytes matter in the columns asked for alone.
            if strange("".join(record if fields.whole else cells)):
                raise _undecodable(lines)
            return cells

        widths = set(map(len, records))
        if not dirty and (widths == {n} if fields.whole else min(widths) > least):
            return {key: [r[i] for r in records] for key, i in at.items()}, self._names, records
        cells = [() if isinstance(record, _RecordError) else record for record in records]
        filled = [[*map(_writable, row), *[""] * n][:n] for row in cells] if fields.whole else []
        return fields.values(records, picked), self._names, filled

    def _reader(self, text: io.StringIO, delimiter: str | None, strict: bool) -> Any:
        if self._quoted:
            return csv.reader(text, delimiter=delimiter or ",", strict=strict)
        return csv.reader(text, delimiter=delimiter or "\t", quoting=csv.QUOTE_NONE)

    def _records(
        self, chunk: Chunk, first: int, just_one: bool = False
    ) -> tuple[Sequence[list[str] | _RecordError], Sequence[int]]:
        """Return the records that end in a chunk, and the lines up to the end of each.

        A quote that is opened and never closed takes lines with it that are sound: reading goes on
        after the line that the record began with.
        """
        if not just_one and (plain := self._record_per_line(chunk)):
            return plain, range(1, len(plain) + 1)
        text = io.StringIO(chunk.text, newline="\n")
        reader = self._reader(text, self._delimiter, strict=True)
        starts = [0, *(newline.end() for newline in re.finditer("\n", chunk.text)), len(chunk.text)]
        records: list[list[str] | _RecordError] = []
        ends: list[int] = []
        began = behind = 0  # lines before this record; lines that the reader did not count
        while True:
            try:
                for record in reader:
                    at = reader.line_num + behind
                    if at > began + 1 and starts[at] - starts[began] > LONGEST_ROW:
                        raise _OpenQuoteError
                    began = at
                    if record:  # an empty line is not a record
                        records.append(record)
                        ends.append(began)
                        if just_one:
                            break
                return records, ends
            except csv.Error as error:
                at = reader.line_num + behind
                earlier = f"{at - began - 1:,} line{'s' if at > began + 2 else ''} before"
                problem, line = str(error), at
                if at > began + 1:
                    problem += f" (the row begins {earlier})"
                if isinstance(error, _OpenQuoteError) or "end of data" in problem:
                    unfinished = len(chunk.text) - starts[began]
                    whole = chunk.last or just_one or at < len(chunk.ends)
                    if not whole and unfinished <= LONGEST_ROW:
                        return records, ends  # it goes on in the next chunk
                    problem, line = _open_quote(chunk.text, starts, began)
                records.append(_RecordError(f"not valid CSV: {problem}", first + line))
                began += 1
                ends.append(began)
                if at > began:
                    text.seek(starts[began])
                    behind = began - reader.line_num

    def _record_per_line(self, chunk: Chunk) -> list[list[str]] | None:
        """Return the records of a chunk if each of its lines is one, as nearly always."""
        reader = self._reader(io.StringIO(chunk.text, newline="\n"), self._delimiter, strict=True)
        try:
            records = list(reader)
        except csv.Error:
            return None
        return records if len(records) == reader.line_num and all(records) else None

    def _guess_delimiter(self, text: str) -> str:
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
