r"""Sentences from text, plain or gzipped: one a line, CSV, TSV, or JSON lines.

A line ends with ``\n`` or ``\r\n`` and with nothing else: U+2028, U+0085 and their kin are
characters like any other, so that row i of the output is line i for every program that counts.
A CSV record may go over several lines if it is quoted; TSV knows no quotes. Lines are read as
bytes and counted, so that plain text and JSON lines resume with a seek; the others are read again.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any, Literal

from pmeans.embedding.rows import Fields, Row, file_identity
from pmeans.errors import FormatError, StorageError

TextFormat = Literal["txt", "csv", "tsv", "jsonl"]
LONGEST = 64 << 20
"""Bytes of the longest line: what has none for so long is no text, and would fill the memory."""
_BOM = b"\xef\xbb\xbf"
_Record = dict[str, object]
_Records = tuple[Iterator[Any], Callable[[Any], tuple[object, object]], Callable[[Any], _Record]]
"""Records as they are read; how one gives its text and language; how it gives all columns."""


class TextSource:
    """A text file, or standard input if ``path`` is None."""

    def __init__(self, path: Path | None, format: TextFormat, fields: Fields) -> None:  # noqa: A002
        self.name = str(path) if path else "standard input"
        self._path, self._format, self._fields = path, format, fields
        self.has_languages = fields.lang is not None
        self._gzipped = path is not None and path.suffix == ".gz"
        # A named pipe, or /dev/stdin, is a file by its name only.
        self._regular = path is not None and path.is_file()
        plain = self._regular and not self._gzipped
        self.seekable = plain and format in ("txt", "jsonl")
        self.size = path.stat().st_size if path and plain else None

    def identity(self) -> dict[str, Any]:
        """Return what can be said of a file; of a stream, that is next to nothing."""
        which = file_identity(self._path) if self._path and self._regular else {"input": "a stream"}
        return {**which, "--input-format": self._format, **self._fields.identity()}

    def rows(self, row: int, line: int, offset: int) -> Iterator[Row]:
        """Yield the rows from a place on."""
        with self._open() as file:
            if offset:
                file.seek(offset)
            lines = _Lines(file, self.name, line, offset)
            records, parse, name = _READERS[self._format](lines, self._fields)
            for record in records:
                text: str | None
                named: _Record = {}
                try:
                    if self._fields.whole:
                        named = name(record)
                    text, lang = self._fields.checked(*parse(record))
                except (ValueError, RecursionError) as error:
                    text, lang = self._fields.unreadable(error, lines.where)
                yield Row(text, lang, lines.number, lines.offset, named)

    @contextlib.contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if self._path is None:
            yield sys.stdin.buffer
            return
        with open(self._path, "rb") as file:
            if self._gzipped:
                yield io.BufferedReader(gzip.GzipFile(fileobj=file), 1 << 20)
            else:
                yield file


class _Lines:
    """Iterate over lines as bytes, counting them; a mark of byte order is dropped."""

    def __init__(self, file: IO[bytes], name: str, number: int, offset: int) -> None:
        self._file, self._name = file, name
        self.number, self.offset = number, offset

    @property
    def where(self) -> str:
        return f"{self._name}, line {self.number:,}"

    def __iter__(self) -> Iterator[bytes]:
        try:
            for raw in iter(partial(self._file.readline, LONGEST), b""):
                self.number += 1
                self.offset += len(raw)
                if len(raw) == LONGEST and not raw.endswith(b"\n"):
                    raise FormatError(
                        f"{self.where} is longer than {LONGEST >> 20} MiB: is this a text file?"
                    )
                yield raw.removeprefix(_BOM) if self.number == 1 else raw
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                f"{self._name}: damaged or cut short behind line {self.number:,}: {error}"
            ) from error
        except OSError as error:
            raise StorageError(
                f"cannot read on behind {self.where}: {error.strerror or error}."
            ) from error


def _plain(lines: _Lines, fields: Fields) -> _Records:
    def text(raw: bytes) -> str:
        return _without_end(raw).decode("utf-8")

    return iter(lines), lambda raw: (text(raw), None), lambda raw: {fields.text: text(raw)}


def _json_lines(lines: _Lines, fields: Fields) -> _Records:
    def load(raw: bytes) -> Any:
        text = raw.decode("utf-8")
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not valid JSON: {error.msg} at column {error.colno}") from error

    def name(raw: bytes) -> _Record:
        record = load(raw)
        return record if isinstance(record, dict) else {}

    records = (raw for raw in lines if raw.strip())
    return records, lambda raw: fields.from_mapping(load(raw)), name


def _table(lines: _Lines, fields: Fields, quoted: bool) -> _Records:
    csv.field_size_limit(LONGEST)
    # Undecodable bytes matter in the columns asked for alone: there, encoding finds them again.
    decoded = (raw.decode("utf-8", "surrogateescape") for raw in lines)
    records = _cells(decoded, quoted)
    header = next(records, [])
    if isinstance(header, csv.Error):
        raise FormatError(f"{lines.where}: not valid CSV: {header}.")
    wanted = fields.columns(header, lines.where)

    def parse(record: list[str] | csv.Error) -> tuple[object, object]:
        if isinstance(record, csv.Error):
            raise ValueError(f"not valid CSV: {record}")
        if len(record) <= max(wanted):
            raise ValueError(f"only {len(record)} columns")
        if fields.whole and len(record) != len(header):
            raise ValueError(f"{len(record)} columns, and the header has {len(header)}")
        found = record if fields.whole else [record[i] for i in wanted]
        "".join(found).encode("utf-8")
        return record[wanted[0]], record[wanted[1]] if fields.lang else None

    def name(record: list[str] | csv.Error) -> _Record:
        cells = [] if isinstance(record, csv.Error) else record
        return dict(zip_longest(header, cells[: len(header)], fillvalue=""))

    return records, parse, name


class _Again:
    """Lines of a file, of which the latest can be given back; also when the last was reached."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._returned: deque[str] = deque()
        self.latest: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.latest.append(line)
        return line

    def give_back(self, lines: list[str]) -> None:
        self._returned.extendleft(reversed(lines))


def _cells(lines: Iterator[str], quoted: bool) -> Iterator[list[str] | csv.Error]:
    """Yield records of CSV or TSV; in place of one that is not valid, its error.

    A quote that is opened and never closed takes lines with it that are sound: reading goes on
    behind the line that the record began with.
    """
    source = _Again(lines)
    if quoted:
        reader = csv.reader(source, strict=True)
    else:
        reader = csv.reader(source, delimiter="\t", quoting=csv.QUOTE_NONE)
    while True:
        source.latest.clear()
        try:
            record = next(reader, None)
        except csv.Error as error:
            source.give_back(source.latest[1:])
            lines_before = len(source.latest) - 1
            began = f" (the row begins {lines_before:,} lines before)" if lines_before else ""
            yield csv.Error(f"{error}{began}")
            continue
        if record is None:
            return
        if record:  # an empty line is no record
            yield record


def _without_end(raw: bytes) -> bytes:
    return raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw


_READERS: dict[str, Callable[[_Lines, Fields], _Records]] = {
    "txt": _plain,
    "jsonl": _json_lines,
    "csv": partial(_table, quoted=True),
    "tsv": partial(_table, quoted=False),
}
