r"""A task as a row of data, its files, and the labelled sentences that a layout reads from them.

Files are found, unpacked, decoded, counted and checked against their checksum. A line ends with
``\n`` and with nothing else, so that row i is line i for every program that counts; a ``\r``
before it is dropped. A checksum is one of the unpacked bytes: the same file compressed anew is
still the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from pmeans.errors import FormatError, StorageError
from pmeans.streams import open_stream
from pmeans.types import Tokenizer
from pmeans_lab.evaluation.dataset import Scoring, TaskPart

Layout = Literal[
    "table",
    "senteval-binary",
    "senteval-trec",
    "senteval-sst",
    "ukp",
    "cls-sentences",
    "cls-reviews",
    "lines",
    "graded-pairs",
    "held-out-pairs",
]
_MOST = 1 << 30  # bytes of a file; an archive that unpacks to more is not a task of sentences


@dataclass(frozen=True)
class File:
    """One file of a task.

    Attributes:
        path: Where it lies below the folder of all tasks; ``.gz`` is tried as well.
        lang: Language of its sentences; empty if a column tells, or if it has labels alone.
        part: The part of the task that it holds.
        label: Class of all its lines, where a file holds one class.
        source: Which of its pairs are meant, where a file has several sources.
        rows: How many lines, records or reviews it must have; 0 if that is not known.
        sha256: Checksum of its unpacked bytes; empty if that is not known.
        encoding: Of its text.
        origin: Where it comes from, if not from where the task does.
    """

    path: str
    lang: str = ""
    part: TaskPart = "all"
    label: str = ""
    source: str = ""
    rows: int = 0
    sha256: str = ""
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    origin: str = ""


@dataclass(frozen=True)
class Task:
    """A task, and all that is needed to read and to score it.

    Attributes:
        name: A column of a table of results.
        files: Where its sentences and labels are.
        languages: Those it has.
        layout: How the files are read; a user's own are always a ``table``.
        measure: The score that is reported.
        protocol: How classifiers are trained and tested in the paper's way; of a task without
            classes, how it is measured.
        parallel: Whether row i means the same in every language.
        classes: Names of the classes in order; if empty, the sorted labels of the training rows.
        origin: Where the files come from.
        text: Column of a table with the sentence.
        label: Column with its class.
        lang: Column with its language, for files that are not of one language.
        tokenizer: ``words`` splits raw text; ``whitespace`` leaves tokens as they are.
    """

    name: str
    files: tuple[File, ...]
    languages: tuple[str, ...]
    layout: Layout = "table"
    measure: Scoring = "accuracy"
    protocol: str = "senteval-2018"
    parallel: bool = False
    classes: tuple[str, ...] = ()
    origin: str = ""
    text: str = "text"
    label: str = "label"
    lang: str = "lang"
    tokenizer: Tokenizer = "words"


class Labelled(NamedTuple):
    """A sentence as tokens with spaces between, its label, and where both were read."""

    sentence: str
    label: str
    where: str


Parts = Mapping[TaskPart, Sequence[Labelled]]


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
