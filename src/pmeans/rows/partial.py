"""What is done of a job, kept on disk so that a kill at any moment loses a few seconds at most.

::

    OUT.partial        the output so far; locked while a process works on it
    OUT.partial.json   the journal: how much of it counts, where the input stands, and what
                       the job was begun with

The journal is replaced as a whole, after the bytes it speaks of have reached the disk. What
`OUT.partial` holds beyond it was cut off by a kill, and is dropped when the job resumes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pmeans import config
from pmeans.errors import FormatError, InputError, StorageError, counted
from pmeans.files import locked, replacing
from pmeans.rows.fields import Place

_OF_MODELS = (".json", ".md", ".safetensors", ".toml", "")
"""How the files end that a stored model or classifier is made of."""

MUCH = 16 << 20
"""Bytes that a disk takes in a moment."""


@dataclass(frozen=True)
class State(Place):
    """How far a job is, in its input and in its output, which has as many rows.

    Attributes:
        size: Bytes of ``OUT.partial`` that count, once they are saved.
        skipped: Rows that could not be read.
        empty: Rows without a known word.
        unsure: Rows whose label is too improbable to be given.
        columns: The names of the output's columns, if it has some.
    """

    size: int = 0
    skipped: int = 0
    empty: int = 0
    unsure: int = 0
    columns: tuple[str, ...] = ()


class Partial:
    """An unfinished output, open and locked."""

    def __init__(self, out: Path, file: IO[bytes], identity: dict[str, Any]) -> None:
        self.file, self.path = file, partial_path(out)
        self.saved, self._on_disk = State(), 0
        self._identity = identity
        self._journal = Path(f"{self.path}.json")

    def resume(self) -> State:
        """Return the state to go on from, and cut off what was written after it."""
        self.saved = self._read()
        self.file.truncate(self.saved.size)
        self.file.seek(self.saved.size)
        return self.saved

    def write_back(self) -> None:
        """Bring the file to the disk if there is much to bring: else the end of the job waits.

        The system's copy of it is given up. What comes next is written into the same memory, and
        fresh memory would cost more than the writing.
        """
        if self.file.tell() - self._on_disk < MUCH:
            return
        self.file.flush()
        os.fsync(self.file.fileno())
        self._on_disk = self.file.tell()
        if hasattr(os, "posix_fadvise"):  # not everywhere
            os.posix_fadvise(self.file.fileno(), 0, self._on_disk, os.POSIX_FADV_DONTNEED)

    def save(self, state: State) -> None:
        """Bring the file to the disk, then the journal."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.saved = dataclasses.replace(state, size=self.file.tell())
        content = {"begun with": self._identity, "done": dataclasses.asdict(self.saved)}
        with replacing(self._journal, Path(f"{self._journal}.new")) as journal:
            journal.write(json.dumps(content, indent=1).encode("utf-8") + b"\n")

    def discard(self) -> None:
        """Forget what is done; or, when the output is in place, that anything had to be."""
        self._journal.unlink(missing_ok=True)

    def _read(self) -> State:
        size = self.file.seek(0, os.SEEK_END)
        # Without its rows a journal speaks of a job that has been finished, or removed.
        if size == 0:
            self._journal.unlink(missing_ok=True)
        if not self._journal.exists():
            return State()
        anew = "restart=True begins anew"
        try:
            content = json.loads(self._journal.read_bytes())
            begun, state = content["begun with"], config.build(State, content["done"], "journal")
            numbers = [n for n in dataclasses.astuple(state) if isinstance(n, int)]
            if not isinstance(begun, dict) or not all(0 <= n < 1 << 63 for n in numbers):
                raise ValueError("it speaks of what cannot be")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(f"{str(self._journal)!r} is damaged ({error}): {anew}.") from error
        changed = [
            f"{key} was {begun.get(key)!r}, is {self._identity.get(key)!r}"
            for key in {**begun, **self._identity}
            if begun.get(key) != self._identity.get(key)
        ]
        if changed:
            raise InputError(
                f"{str(self.path)!r} was begun with something else: {'; '.join(changed)}. "
                "Resume it with what it was begun with, or discard its "
                f"{counted(state.rows, 'row')} with restart=True."
            )
        if size < state.size:
            raise FormatError(
                f"{str(self.path)!r} has {size:,} bytes, and its journal speaks of "
                f"{state.size:,}: {anew}."
            )
        return state


def partial_path(out: Path) -> Path:
    """Return where an unfinished output lies."""
    return Path(f"{out}.partial")


@contextlib.contextmanager
def open_partial(out: Path, identity: dict[str, Any]) -> Iterator[Partial]:
    """Open an unfinished output, or begin one, for this process alone.

    After an error, one that has nothing worth resuming is removed; a kill leaves it as it is.
    """
    if out.is_dir():
        raise StorageError(f"cannot write {str(out)!r}: it is a folder.")
    path = partial_path(out)
    file = locked(path)
    if file is None:
        raise StorageError(
            f"another process is writing {str(out)!r}: wait for it, or choose another name."
        )
    with file:
        unfinished = Partial(out, file, identity)
        try:
            yield unfinished
        except Exception:
            if not unfinished.saved.rows and not Path(f"{path}.json").exists():
                path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def writing_errors(out: Path) -> Iterator[None]:
    """Say of an error of the system that it was in writing, and what becomes of the job."""
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        if isinstance(error, StorageError) and cause is error:
            raise
        if cause.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(f"could not write {str(out)!r}: {cause.strerror}.") from error
        raise StorageError(
            f"the disk is full: what is done so far is in {str(partial_path(out))!r}. Free some "
            "space and run the same command again to resume."
        ) from error


def refuse_overwriting(out: str | Path, inputs: Iterable[str | Path]) -> None:
    """Raise if writing ``out`` would destroy an input, by whatever name the two are called.

    Args:
        out: A file or a folder to be written; beside a file, its unfinished form is written, too.
        inputs: Files and folders that are read, such as a model; what such a folder is made of is
            not replaced, nor a folder that holds one of them.
    """
    out = Path(out)
    partial = partial_path(out)
    for given in map(Path, inputs):
        own = out.exists() and given.is_dir() and _is_in(out, given) and out.suffix in _OF_MODELS
        holds = out.is_dir() and _is_in(given, out)
        named = (out, partial, Path(f"{partial}.json"))
        same = given.exists() and any(p.exists() and p.samefile(given) for p in named)
        if own or holds or same:
            raise InputError(
                f"writing {str(out)!r} would overwrite {str(given)!r}, which is read: choose "
                "another name for the output."
            )


def _is_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
