"""What is done of a job, kept on disk so that a kill at any moment loses one batch at most.

::

    OUT.partial        the vectors so far; locked while a process works on them
    OUT.partial.json   the journal: how much of it counts, where the input stands, and what
                       the job was begun with

The journal is replaced as a whole, after the bytes it speaks of have reached the disk. What
`OUT.partial` holds beyond it was cut off by a kill, and is dropped when the job resumes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pmeans import config
from pmeans.errors import FormatError, InputError, StorageError


@dataclass(frozen=True)
class State:
    """How far a job is.

    Attributes:
        rows: Vectors written.
        size: Bytes of ``OUT.partial`` that count.
        line: Lines of the input read.
        offset: Bytes of the input read.
        checksum: Over the sentences read, where the input itself has to be read again.
        skipped: Rows that could not be read, and are zero.
        empty: Rows without a known word, and zero for that.
    """

    rows: int = 0
    size: int = 0
    line: int = 0
    offset: int = 0
    checksum: int = 0
    skipped: int = 0
    empty: int = 0


class Partial:
    """An unfinished output, open and locked."""

    def __init__(self, out: Path, file: IO[bytes], identity: dict[str, Any]) -> None:
        self.out, self.file, self.path = out, file, partial_path(out)
        self._identity = identity
        self._journal = Path(f"{self.path}.json")

    def resume(self) -> State:
        """Return the state to go on from, and cut off what was written behind it."""
        state = self._read()
        self.file.truncate(state.size)
        self.file.seek(state.size)
        return state

    def save(self, state: State) -> State:
        """Bring the file to the disk, then the journal; return the state with the file's size."""
        self.file.flush()
        os.fsync(self.file.fileno())
        state = dataclasses.replace(state, size=self.file.tell())
        content = {"begun with": self._identity, "done": dataclasses.asdict(state)}
        with rewriting(self._journal) as journal:
            journal.write(json.dumps(content, indent=1).encode("utf-8") + b"\n")
        return state

    def discard(self) -> None:
        """Forget what is done; or, when the output is in place, that anything had to be."""
        self._journal.unlink(missing_ok=True)

    def _read(self) -> State:
        size = self.file.seek(0, os.SEEK_END)
        # Without its vectors a journal speaks of a job that has been finished, or removed.
        if size == 0:
            self._journal.unlink(missing_ok=True)
        if not self._journal.exists():
            return State()
        try:
            content = json.loads(self._journal.read_bytes())
            begun, state = content["begun with"], config.build(State, content["done"], "journal")
            numbers = dataclasses.astuple(state)
            if not isinstance(begun, dict) or not all(0 <= n < 1 << 63 for n in numbers):
                raise ValueError("it speaks of what cannot be")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(
                f"{str(self._journal)!r} is damaged ({error}): --restart begins anew."
            ) from error
        changed = [
            f"{key} was {begun.get(key)!r}, is {self._identity.get(key)!r}"
            for key in {**begun, **self._identity}
            if begun.get(key) != self._identity.get(key)
        ]
        if changed:
            raise InputError(
                f"{str(self.path)!r} was begun with something else: {'; '.join(changed)}. "
                f"Resume it with what it was begun with, or discard its {state.rows:,} rows "
                "with --restart."
            )
        if size < state.size:
            raise FormatError(
                f"{str(self.path)!r} has {size:,} bytes, and its journal speaks of "
                f"{state.size:,}: --restart begins anew."
            )
        return state


def partial_path(out: Path) -> Path:
    """Return where an unfinished output lies."""
    return Path(f"{out}.partial")


@contextlib.contextmanager
def rewriting(path: Path, temporary: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` on success.

    Unlike that of `pmeans.files.replacing`, its name is always the same, so that a job that is
    killed time and again leaves no litter. The lock on ``OUT.partial`` keeps others off it.
    """
    temporary = temporary or Path(f"{path}.new")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def open_partial(out: Path, identity: dict[str, Any]) -> Iterator[Partial]:
    """Open an unfinished output, or begin one, for this process alone."""
    if out.is_dir():
        raise StorageError(f"cannot write {str(out)!r}: it is a folder.")
    path = partial_path(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        file = _open_locked(path)
    except BlockingIOError:
        raise StorageError(
            f"another process is writing {str(out)!r}: wait for it, or choose another --out."
        ) from None
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}.") from error
    with file:
        yield Partial(out, file, identity)


def _open_locked(path: Path) -> IO[bytes]:
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking, another process may have renamed it to its output.
            if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                return file
        except BaseException:
            file.close()
            raise
        file.close()
