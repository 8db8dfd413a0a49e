r"""Lines of text from bytes, compressed or not, in whatever encoding.

The encoding, unless it is named, is told by a mark of byte order (UTF-8, UTF-16, UTF-32), else by
the 64 KiB from the first byte on that is not ASCII: it is UTF-8, unless more bytes there are not
UTF-8 than there are characters that are, beyond ASCII. Then it is the code page that its letters
tell (`code_pages`), with a warning that names it.

A line ends with ``\n`` or ``\r\n`` and with nothing else: U+2028, U+0085 and their kin are
characters like any other, so that row i of the output is line i for every program that counts. Only
where the first 64 KiB have a ``\r`` and no ``\n`` does ``\r`` end a line, as on the Macintosh of
old.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import sys
import warnings
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError, InputError, shown
from pmeans.streams import Stream, open_stream
from pmeans.tables.code_pages import WESTERN, find_page
from pmeans.tables.fields import Place
from pmeans.types import Ints

LONGEST = 64 << 20
"""Bytes of the longest line: what has none for so long is not text, and would fill the memory."""
_CHUNK = 1 << 21
_HEAD = 1 << 16
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ASCII = bytes(range(128))


class GuessedEncodingWarning(UserWarning):
    """A text is not UTF-8: its encoding was guessed by its letters."""


# The five bytes that Windows-1252 leaves undefined are the control characters of latin-1.
codecs.register_error(
    "pmeans.latin-1",
    lambda error: (error.object[error.start : error.end].decode("latin-1"), error.end),  # type: ignore[attr-defined]
)


def checked_encoding(name: str) -> str:
    """Return the usual name of an encoding, or say that there is none of this name."""
    try:
        codec = codecs.lookup(name)
        codec.incrementaldecoder("strict").decode(b"")
        "".encode(name)
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"no encoding {shown(name)}: utf-8, utf-16, latin-1 and windows-1252 are common ones."
        ) from None
    return {"utf-8-sig": "utf-8", "cp1252": WESTERN}.get(codec.name, codec.name)


def _marked(head: bytes, name: str) -> str | None:
    """Tell the encoding by the mark at the beginning of a file, if there is one."""
    if head.isascii() and head.count(0) > len(head) // 4:
        raise FormatError(
            f"{name}: UTF-16, most likely, without its mark: save it as UTF-8, or, to a command "
            "that takes one, name the encoding=."
        )
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), None)


def _guess_encoding(head: bytes, name: str, lang: str | None) -> str:
    """Tell the encoding by the first bytes beyond ASCII, as the docstring of the module says."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head)
    beyond = [character for character in text if character > "\x7f"]
    if 2 * sum("\udc80" <= character <= "\udcff" for character in beyond) <= len(beyond):
        return "utf-8"
    page = find_page(head, lang)
    if page is None:
        raise FormatError(
            f"{name}: not UTF-8, and not a code page that its letters tell. Name it with encoding=."
        )
    warnings.warn(
        f"{name}: not UTF-8, and read as {page}, which fits its letters best. If words look wrong, "
        "name the encoding=.",
        GuessedEncodingWarning,
        stacklevel=2,
    )
    return page


def strange(text: str) -> bool:
    """Say whether a text has a lone surrogate: it stands for what no encoding can write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def valid_text(text: str) -> str:
    """Return a text, or refuse it: in an argument, bytes of another encoding are surrogates."""
    if strange(text):
        raise InputError(
            f"{shown(text)} is not valid text: give it in the encoding of the terminal."
        )
    return text


class _AsUtf8:
    """Bytes of an encoding in which a line does not end with the byte 10, as UTF-8."""

    def __init__(self, stream: Stream, encoding: str, name: str, head: bytes) -> None:
        self._stream, self._name, self._encoding = stream, name, encoding
        handler = "surrogatepass" if encoding.startswith(("utf-16", "utf-32")) else "strict"
        self._decoder = codecs.getincrementaldecoder(encoding)(handler)
        self._head = head

    @property
    def damage(self) -> str | None:
        return self._stream.damage

    def read(self, n: int) -> bytes:
        text, data = "", b"."
        try:
            while data and not text:
                data, self._head = self._head or self._stream.read(n), b""
                text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            raise FormatError(
                f"{self._name}: not valid {self._encoding.upper()}: {error}. "
                "If it is in another encoding, name it with encoding=."
            ) from error
        return text.encode("utf-8", "surrogatepass")


class Chunk:
    """Whole lines that were read together.

    Attributes:
        text: All of them.
        dirty: Whether a byte was not valid: there, ``text`` has a lone surrogate.
        last: Whether nothing comes after it.
    """

    def __init__(self, data: bytes, encoding: str, newline: bytes, first: bool, last: bool) -> None:
        self.data, self.last, self.dirty, self._newline = data, last, False, newline[0]
        try:
            errors = "pmeans.latin-1" if encoding == WESTERN else "strict"
            self.text = data.decode(encoding, errors)
        except UnicodeDecodeError:
            self.text, self.dirty = data.decode(encoding, "surrogateescape"), True
        if first:
            self.text = self.text.removeprefix("\ufeff")
        if newline == b"\r":
            self.text = self.text.replace("\r", "\n")

    @cached_property
    def ends(self) -> Ints:
        """Bytes up to the end of each line, (n_lines,)."""
        codes = np.frombuffer(self.data, np.uint8)
        ends = np.flatnonzero((codes == 10) | (codes == self._newline)) + 1
        return ends if len(ends) and ends[-1] == len(codes) else np.append(ends, len(codes))

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        lines = (self.text.replace("\r\n", "\n") if "\r" in self.text else self.text).split("\n")
        if not lines[-1]:
            lines.pop()
        return lines


class Lines:
    """The lines of a stream, a chunk at a time, counted and summed as they are taken.

    Attributes:
        encoding: What they are decoded from.
        place: Where what was taken ends.
        where: Begins a message about a line, before its number.
    """

    def __init__(
        self, stream: Stream, name: str, encoding: str | None = None, lang: str | None = None
    ) -> None:
        self._lang = lang
        self.name, self.where, self.place = name, f"{name}, line", Place()
        self._stream: Stream | _AsUtf8 = stream
        head = stream.read(_HEAD)
        first_guess = encoding or _marked(head, name)
        self.encoding, self._certain = first_guess or "utf-8", first_guess is not None
        if "\n".encode(self.encoding) != b"\n":
            self._stream = _AsUtf8(stream, self.encoding, name, head)
            head, self.encoding = self._stream.read(_HEAD), "utf-8"
        self._ahead, self._ended = head, False
        self._taken = self._first = 0  # bytes of it that are taken; number of its first line
        self._newline = b"\r" if b"\r" in head and b"\n" not in head else b"\n"

    def chunk(self) -> Chunk | None:
        """Return what is read and not yet taken, and more, up to the end of a line."""
        self._ahead = self._ahead[self._taken :]
        self._taken, self._first = 0, self.place.line
        while not self._ended:
            more = self._stream.read(_CHUNK)
            self._ended = not more
            self._ahead += more
            if self._stream.damage is not None:
                raise FormatError(
                    f"{self.name}: damaged or cut short after line {self.place.line:,}: "
                    f"{self._stream.damage}"
                )
            if self._newline in more:
                break
            if len(self._ahead) > LONGEST:
                line = self.place.line + self._ahead.count(self._newline) + 1
                raise FormatError(
                    f"{self.where} {line:,} is longer than {LONGEST >> 20} MiB: is this text?"
                )
        self._decide()
        whole = len(self._ahead) if self._ended else self._ahead.rfind(self._newline) + 1
        if not whole:
            return None
        first, last = self.place.offset == 0, self._ended or whole >= LONGEST
        return Chunk(self._ahead[:whole], self.encoding, self._newline, first, last)

    def _decide(self) -> None:
        """Tell the encoding, once there is something to tell it by."""
        if self._certain or self._ahead.isascii():
            return
        at = len(self._ahead) - len(self._ahead.lstrip(_ASCII))
        while len(self._ahead) < at + _HEAD and (more := self._stream.read(_CHUNK)):
            self._ahead += more
        head = self._ahead[at : at + _HEAD]
        self.encoding, self._certain = _guess_encoding(head, self.name, self._lang), True

    def advance(self, chunk: Chunk, n_lines: int, rows: int) -> Place:
        """Take the lines of a chunk up to some number, with so many rows; return their end."""
        size = int(chunk.ends[n_lines - 1]) if n_lines else 0
        passed = memoryview(chunk.data)[self._taken : size]
        self.place = Place(
            self.place.rows + rows,
            self._first + n_lines,
            self.place.offset + len(passed),
            zlib.crc32(passed, self.place.checksum),
        )
        self._taken = size
        return self.place

    def go_to(self, place: Place) -> bool:
        """Read on to a place; return whether all before it is what it was."""
        checksum, offset = self.place.checksum, self.place.offset
        self._ahead, self._taken = self._ahead[self._taken :], 0
        while offset < place.offset:
            if not self._ahead:
                self._ahead = self._stream.read(_CHUNK)
                if not self._ahead:
                    return False
            self._decide()
            passed = memoryview(self._ahead)[: place.offset - offset]
            checksum = zlib.crc32(passed, checksum)
            offset += len(passed)
            self._ahead = self._ahead[len(passed) :]
        self.place = place
        return checksum == place.checksum


@contextlib.contextmanager
def opened(path: Path | None) -> Iterator[Stream]:
    """Open a file, or standard input if ``path`` is None."""
    if path is not None:
        with open_stream(path) as stream:
            yield stream
        return
    # Past Python's own buffer, which a thread that is left waiting at the end would keep locked.
    standard: Any = sys.stdin.buffer
    file = io.BufferedReader(getattr(standard, "raw", standard), _HEAD)
    try:
        with open_stream(file) as stream:
            yield stream
    finally:
        if not file.closed:  # as it may be by the time that a stopped job lets go of it
            file.detach()


def read_lines(
    path: str | Path, encoding: str | None = None, lang: str | None = None
) -> Iterator[str]:
    """Yield the lines of a text file, compressed or not, without their ends.

    Both are found if they are not given; the language tells the code pages to choose among.
    """
    with open_stream(path) as stream:
        lines = Lines(stream, str(path), encoding and checked_encoding(encoding), lang)
        while chunk := lines.chunk():
            if chunk.dirty:
                line = next(i for i, text in enumerate(chunk.lines, 1) if strange(text))
                line += lines.place.line
                raise FormatError(f"{lines.where} {line:,}: not valid {lines.encoding.upper()}.")
            yield from chunk.lines
            lines.advance(chunk, len(chunk.ends), 0)
