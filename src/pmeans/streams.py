"""A file as a stream of bytes, whether it is compressed or not.

What a file is stands in its first bytes, not in its name. Nothing is unpacked further than it
is read, so a small archive cannot fill the memory. An archive that is cut short or damaged
yields what comes before the damage, and `Stream.damage` then says what happened: how that is
treated is the reader's affair.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pmeans.errors import FormatError
from pmeans.files import reading

_STEP = 1 << 20
_DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
# What zipfile makes of damage is not documented: a place outside of the file is an OSError or a
# ValueError, a file without a name an IndexError, an unknown method a NotImplementedError.
_ZIP_DAMAGE = (*_DAMAGE, ValueError, LookupError, RuntimeError, struct.error)


class Stream:
    """Bytes in order, with a way to look for a byte.

    Attributes:
        damage: What is wrong with the archive, once reading has come to it; else None.
    """

    def __init__(self, raw: Any) -> None:
        self.damage: str | None = None
        self._is_over = False
        self._raw = raw
        self._ahead = b""
        self._at = 0

    def read(self, n: int) -> bytes:
        """Return the next n bytes, or fewer at the end."""
        if self._at + n <= len(self._ahead):
            self._at += n
            return self._ahead[self._at - n : self._at]
        data = bytearray(min(n, _STEP))
        filled = self.readinto(memoryview(data))
        while filled == len(data) < n:
            data.extend(bytes(min(len(data), n - len(data))))
            filled += self.readinto(memoryview(data)[filled:])
        return bytes(data[:filled])

    def readinto(self, view: memoryview) -> int:
        """Fill the view with the next bytes; return how many there were."""
        filled = min(len(view), len(self._ahead) - self._at)
        view[:filled] = self._ahead[self._at : self._at + filled]
        self._at += filled
        while filled < len(view):
            # One step of unpacking at a time: an error later on loses none of these bytes.
            got = self._step_into(view[filled:])
            if not got:
                break
            filled += got
        return filled

    def read_until(self, end: bytes, most: int) -> bytes | None:
        """Return the bytes before the next ``end``, and pass it; None if it is not near."""
        place = self._ahead.find(end, self._at)
        while place < 0:
            rest = self._ahead[self._at :]
            step = bytearray(_STEP)
            got = self._step_into(memoryview(step)) if len(rest) <= most else 0
            self._ahead, self._at = rest + step[:got], 0
            if not got:
                return None
            place = self._ahead.find(end, max(0, len(rest) - len(end) + 1))
        data = self._ahead[self._at : place]
        self._at = place + len(end)
        return data if len(data) <= most else None

    def skip(self, n: int) -> int:
        """Pass over n bytes; return how many there were."""
        skipped = 0
        view = memoryview(bytearray(min(n, _STEP)))
        while skipped < n:
            got = self.readinto(view[: n - skipped])
            if not got:
                break
            skipped += got
        return skipped

    def _step_into(self, view: memoryview) -> int:
        if self.damage is not None or self._is_over:
            return 0
        try:
            got: int = self._raw.readinto1(view[:_STEP])
            self._is_over = not got and len(view) > 0  # a terminal would be read on
            return got
        except _DAMAGE as error:
            self.damage = str(error) or type(error).__name__
            return 0


@contextlib.contextmanager
def open_stream(path: str | Path | io.BufferedReader) -> Iterator[Stream]:
    """Open a file for reading, through gzip, bzip2, xz or zip if it is one of these.

    An open file, such as standard input, is read from where it stands, and stays open.
    """
    with contextlib.ExitStack() as stack:
        with reading("-" if isinstance(path, io.BufferedReader) else path):
            if isinstance(path, io.BufferedReader):
                file, path = path, Path("-")
            else:
                file = stack.enter_context(open(path, "rb"))
            magic = file.peek(10)[:10]  # a pipe cannot be read twice
        raw: Any
        if magic.startswith(b"\x1f\x8b\x08"):
            raw = stack.enter_context(gzip.GzipFile(fileobj=file))
        elif magic.startswith(b"BZh") and magic.endswith(b"1AY&SY"):
            raw = stack.enter_context(bz2.BZ2File(file))
        elif magic.startswith(b"\xfd7zXZ\x00"):
            raw = stack.enter_context(lzma.LZMAFile(file))
        elif magic.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            raw = stack.enter_context(_member(file, Path(path)))
        else:
            raw = file
        yield Stream(raw)


def _member(file: io.BufferedReader, path: Path) -> IO[bytes]:
    """Open the one member of a zip archive, or the one that is called as the archive is."""
    try:
        archive = zipfile.ZipFile(file)
        if not all(info.filename for info in archive.infolist()):
            raise zipfile.BadZipFile("a file in it has no name")
        members = [info for info in archive.infolist() if not info.is_dir()]
        named = [m for m in members if path.stem in (Path(m.filename).name, Path(m.filename).stem)]
        if len(members) != 1 and len(named) != 1:
            listed = ", ".join(repr(member.filename) for member in members[:10])
            raise FormatError(
                f"{path}: {len(members)} files in the archive and none, or more than one, called "
                f"{path.stem!r}. Unpack the one you mean: {listed}."
            )
        return archive.open(members[0] if len(members) == 1 else named[0])
    except FormatError:
        raise
    except _ZIP_DAMAGE as error:
        raise FormatError(f"{path}: cannot open this zip archive: {error}.") from error
