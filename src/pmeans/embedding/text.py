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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from pmeans.embedding.rows import Fields, Row, file_identity
from pmeans.errors import FormatError, StorageError

TextFormat = Literal["txt", "csv", "tsv", "jsonl"]
LONGEST = 64 << 20
"""Bytes of the longest line: what has none for so long is no text, and would fill the memory."""
_BOM = b"\xef\xbb\xbf"
_Records = tuple[Iterator[Any], Callable[[Any], tuple[object, object]]]


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
            records, parse = _READERS[self._format](lines, self._fields)
            for record in records:
                text: str | None
                try:
                    text, lang = self._fields.checked(*parse(record))
                except (ValueError, RecursionError) as error:
                    text, lang = self._fields.unreadable(error, lines.where)
                yield Row(text, lang, lines.number, lines.offset)

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
    return iter(lines), lambda raw: (_without_end(raw).decode("utf-8"), None)


def _json_lines(lines: _Lines, fields: Fields) -> _Records:
    def parse(raw: bytes) -> tuple[object, object]:
        text = raw.decode("utf-8")
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not valid JSON: {error.msg} at column {error.colno}") from error
        return fields.from_mapping(record)

    return (raw for raw in lines if raw.strip()), parse


def _table(lines: _Lines, fields: Fields, quoted: bool) -> _Records:
    csv.field_size_limit(LONGEST)
    # Undecodable bytes matter in the columns asked for alone: there, encoding finds them again.
    decoded = (raw.decode("utf-8", "surrogateescape") for raw in lines)
    if quoted:
        records = csv.reader(decoded, strict=True)
    else:
        records = csv.reader(decoded, delimiter="\t", quoting=csv.QUOTE_NONE)

    def cells() -> Iterator[list[str]]:
        try:
            yield from filter(None, records)  # an empty line is no record
        except csv.Error as error:
            raise FormatError(f"{lines.where}: not valid CSV: {error}.") from error

    wanted = fields.columns(next(cells(), []), lines.where)

    def parse(record: list[str]) -> tuple[object, object]:
        if len(record) <= max(wanted):
            raise ValueError(f"only {len(record)} columns")
        found = [record[i] for i in wanted]
        "".join(found).encode("utf-8")
        return found[0], found[1] if len(found) > 1 else None

    return cells(), parse


def _without_end(raw: bytes) -> bytes:
    return raw.removesuffix(b"\n").removesuffix(b"\r") if raw.endswith(b"\n") else raw


_READERS: dict[str, Callable[[_Lines, Fields], _Records]] = {
    "txt": _plain,
    "jsonl": _json_lines,
    "csv": partial(_table, quoted=True),
    "tsv": partial(_table, quoted=False),
}
