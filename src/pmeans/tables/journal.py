"""What is done of a job, kept on disk so that a kill at any moment loses a few seconds at most.

::

    OUT.partial        the output so far; locked while a process works on it
    OUT.partial.json   the journal: how much of it counts, where the input stands, and what
                       the job was begun with

The journal is written before the first byte of the output, and replaced as a whole after the bytes
it speaks of have reached the disk. What `OUT.partial` holds beyond it was cut off by a kill, and is
dropped when the job resumes. An `OUT.partial` without a journal is somebody else's, and stays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pmeans import config
from pmeans.errors import FormatError, InputError, StorageError, count, shown
from pmeans.files import check_regular, locked, replacing
from pmeans.tables.fields import Place

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
        _, self.path, self._journal = own_paths(out)
        self.file, self.begun = file, False
        self.saved, self._on_disk = State(), 0
        self._identity = identity

    def resume(self, restart: bool = False) -> State:
        """Return the state to go on from, and cut off what was written after it.

        ``restart`` begins anew, in place of what the journal speaks of.
        """
        content, size = self._record(), self.file.seek(0, os.SEEK_END)
        if size and content is None:
            raise InputError(
                f"{str(self.path)!r} is there, and no journal says that pmeans wrote it: move it "
                "away, or choose another name for the output."
            )
        # Without its rows a journal speaks of a job that has been finished, or removed.
        fresh = restart or not size or content is None
        self.saved = State() if fresh else self._checked(content, size)
        self.file.truncate(self.saved.size)
        self.file.seek(self.saved.size)
        self.begun = True
        if not self.saved.rows:
            self._note()
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
        self._note()

    def _note(self) -> None:
        content = {"begun with": self._identity, "done": dataclasses.asdict(self.saved)}
        with replacing(self._journal) as journal:
            journal.write(json.dumps(content, indent=1).encode("utf-8") + b"\n")

    def discard(self) -> None:
        """Forget what is done; or, when the output is in place, that anything had to be."""
        self._journal.unlink(missing_ok=True)

    def _record(self) -> Any:
        """Return what the journal says; None if there is none."""
        check_regular(self._journal)
        if not self._journal.exists():
            return None
        with contextlib.suppress(ValueError, RecursionError):
            content = json.loads(self._journal.read_bytes())
            if isinstance(content, dict) and content.keys() == {"begun with", "done"}:
                return content
        raise FormatError(
            f"{str(self._journal)!r} is damaged, or no journal of pmeans: move it away together "
            f"with {str(self.path)!r}, or choose another name for the output."
        )

    def _checked(self, content: Any, size: int) -> State:
        """Return the state of a journal, if it fits this job and the file."""
        anew = "restart=True begins anew"
        try:
            begun, state = content["begun with"], config.build(State, content["done"], "journal")
            numbers = [n for n in dataclasses.astuple(state) if isinstance(n, int)]
            if not isinstance(begun, dict) or not all(0 <= n < 1 << 63 for n in numbers):
                raise ValueError("it speaks of what cannot be")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{str(self._journal)!r} is damaged ({error}): {anew}.") from error
        changed = [
            f"{key} was {shown(begun.get(key))}, is {shown(self._identity.get(key))}"
            for key in {**begun, **self._identity}
            if begun.get(key) != self._identity.get(key)
        ]
        if changed and state.rows:
            raise InputError(
                f"{str(self.path)!r} was begun with something else: {'; '.join(changed)}. "
                f"Resume it with what it was begun with, or discard its {count(state.rows, 'row')} "
                "with restart=True."
            )
        if size < state.size:
            raise FormatError(
                f"{str(self.path)!r} has {size:,} bytes, and its journal speaks of "
                f"{state.size:,}: {anew}."
            )
        return State() if changed else state


def own_paths(out: Path) -> tuple[Path, Path, Path]:
    """Return the paths that a job writes: the output, where it lies unfinished, the journal."""
    return out, Path(f"{out}.partial"), Path(f"{out}.partial.json")


@contextlib.contextmanager
def open_partial(out: Path, identity: dict[str, Any]) -> Iterator[Partial]:
    """Open an unfinished output, or begin one, for this process alone.

    After an error, one that has nothing worth resuming is removed; a kill leaves it as it is.
    """
    if out.is_dir():
        raise StorageError(f"cannot write {str(out)!r}: it is a folder.")
    _, path, journal = own_paths(out)
    check_regular(path)
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
            if unfinished.begun and not unfinished.saved.rows:
                journal.unlink(missing_ok=True)
                path.unlink(missing_ok=True)
            elif not unfinished.begun and not path.stat().st_size:
                path.unlink()
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
            f"the disk is full: what is done so far is in {str(own_paths(out)[1])!r}. Free some "
            "space and run the same command again to resume."
        ) from error
