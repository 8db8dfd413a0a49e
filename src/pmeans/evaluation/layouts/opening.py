r"""The files of a task: found, unpacked, decoded, counted and checked against their checksum.

A line ends with ``\n`` and with nothing else, so that row i is line i for every program that
counts; a ``\r`` before it is dropped. A checksum is one of the unpacked bytes: the same file
compressed anew is still the same file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from pmeans.errors import FormatError, StorageError
from pmeans.evaluation.layouts.task import File, Task
from pmeans.streams import open_stream

_MOST = 1 << 30  # bytes of a file; an archive that unpacks to more is no task of sentences


def find(task: Task, file: File, root: Path) -> Path:
    """Return where a file lies: below ``root`` or its folder ``tasks``, packed or not."""
    places = [root / file.path, root / "tasks" / file.path]
    for place in places:
        for path in (place, place.with_name(place.name + ".gz")):
            if path.is_file():
                return path
    raise StorageError(f"task {task.name}: no file {str(places[0])!r}.{_origin(task, file)}")


def read_bytes(path: Path) -> bytes:
    """Return the unpacked bytes of a file."""
    with open_stream(path) as stream:
        data = stream.read(_MOST + 1)
        if stream.damage is not None:
            raise FormatError(f"{path}: damaged or cut short: {stream.damage}")
    if len(data) > _MOST:
        raise FormatError(f"{path}: more than {_MOST >> 20} MiB of text. Is this the right file?")
    return data


def read_text(file: File, path: Path) -> tuple[str, bytes]:
    """Return the text of a file, without a mark of byte order, and the bytes it came from."""
    data = read_bytes(path)
    try:
        text = data.decode(file.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{path}, line {line:,}: not valid {file.encoding.upper()}. Convert the file first."
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"{path}, line {line:,}: a NUL character. Is this a text file?")
    return text, data


def read_lines(task: Task, file: File, root: Path) -> tuple[Path, list[str]]:
    """Return where a file lies and its lines, checked."""
    path = find(task, file, root)
    text, data = read_text(file, path)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not lines[-1]:
        lines.pop()
    check(task, file, path, data, len(lines))
    return path, lines


def check(task: Task, file: File, path: Path, data: bytes, rows: int) -> None:
    """Raise unless a file has the rows and the checksum that its task says."""
    origin = _origin(task, file)
    if file.rows and rows != file.rows:
        raise FormatError(f"{path}: expected {file.rows:,} rows, found {rows:,}.{origin}")
    if not rows:
        raise FormatError(f"{path}: an empty file.{origin}")
    found = hashlib.sha256(data).hexdigest()
    if file.sha256 and found != file.sha256:
        raise FormatError(f"{path}: expected SHA-256 {file.sha256}, found {found}.{origin}")


def _origin(task: Task, file: File) -> str:
    origin = file.origin or task.origin
    return f" It comes from {origin}." if origin else ""
