"""Files whole or not at all, with checksums, or for one process alone; packages that may be absent.

The bytes go to a temporary name beside the target and are renamed over it when they are
complete and on disk. A full disk, an error or a kill leaves the old file, or the old folder, as
it was.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib
import itertools
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from pmeans.errors import InputError, StorageError
from pmeans.outputs import (
    check_output,
    clear,
    descriptor_of,
    is_leftover,
    is_stream,
    place_of,
    put_in_place,
    strangers,
    unfinished_paths,
)

CHECKSUMS = "SHA256SUMS"
"""The file beside others that has their hashes, as `sha256sum --check` reads it."""

_NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK)
"""What a disk says that cannot lock. There, temporary names are random, and what is left stays."""
_WRITERS = 8
"""Of one file at a time, at most, whose remains are looked for."""


@contextlib.contextmanager
def replacing(path: str | Path, inputs: Iterable[str | Path] = ()) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that takes the place of ``path`` on success.

    A pipe or a device gets the bytes when all are there. ``inputs`` are as of `check_output`.
    """
    check_output(path, inputs)
    if is_stream(path):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with writing_stream(path) as stream:
                shutil.copyfileobj(file, stream)
        return
    target = place_of(path)
    if target.is_dir():
        raise StorageError(f"cannot write {str(path)!r}: it is a folder.")
    with _writable(Path(path)):
        temporary, opened = _temporary(target)
    # Locked until it has its name, so that nobody takes it for what a killed process left.
    with opened as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException as error:
            temporary.unlink(missing_ok=True)
            raise _as_storage_error(error, Path(path)) from error


def _temporary(target: Path) -> tuple[Path, IO[bytes]]:
    """Open an empty file beside another, for this process alone; remove what killed ones left."""
    target.parent.mkdir(parents=True, exist_ok=True)
    paths = (target.with_name(f".{target.name}.pmeans-{n}") for n in itertools.count())
    try:
        path, file = next((p, file) for p in paths if is_leftover(p) and (file := _locked(p)))
        file.truncate()
        _remove_dead(itertools.islice(paths, _WRITERS))
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        target.with_name(f".{target.name}.pmeans-0").unlink(missing_ok=True)
        path = target.with_name(f".{target.name}.pmeans-{secrets.token_hex(8)}")
        file = open(path, "x+b")  # noqa: SIM115 - the caller closes it
    return path, file


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of `replacing` in a folder that no living process writes."""
    _remove_dead(folder.glob(".*.pmeans-[0-9]"))


def _remove_dead(temporaries: Iterable[Path]) -> None:
    for path in temporaries:
        with contextlib.suppress(OSError):
            if path.exists() and is_leftover(path) and (lock := _locked(path)):
                with lock:
                    path.unlink(missing_ok=True)


@contextlib.contextmanager
def writing_stream(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a pipe, a device, or what is open as ``/dev/stdout``, to be written from where it is."""
    try:
        number = descriptor_of(path)
        opened = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
        with os.fdopen(opened, "wb") as stream:
            yield stream
    except (BrokenPipeError, StorageError):
        raise
    except OSError as error:
        raise StorageError(f"could not write {str(path)!r}: {error.strerror}.") from error


@contextlib.contextmanager
def replacing_folder(
    folder: str | Path, what: str, ours: Sequence[str], inputs: Iterable[str | Path] = ()
) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``folder`` on success.

    Args:
        folder: What is there is replaced if it is empty, or of this kind with nothing else in it.
        what: Names the kind in messages, such as ``"encoder"``.
        ours: Patterns of the files that such a folder may have. The first names one that each has.
        inputs: As of `check_output`.
    """
    check_output(folder, inputs)
    target = Path(folder).resolve()
    _check_replaceable(target, what, ours)
    lock, new, old = unfinished_paths(target)
    held: contextlib.AbstractContextManager[object] | None
    with _writable(Path(folder)):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            held = _locked(lock)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            lock.unlink(missing_ok=True)
            held = contextlib.nullcontext()
            lock, new, old = unfinished_paths(target, f"-{secrets.token_hex(8)}")
    if held is None:
        raise StorageError(
            f"another process is writing {str(folder)!r}: wait for it, or choose another name."
        )
    with held:
        try:
            clear(target, new, old)
            _check_replaceable(target, what, ours)
            new.mkdir()
            yield new
            _check_replaceable(target, what, ours)
            put_in_place(new, target, old)
        except BaseException as error:
            raise _as_storage_error(error, Path(folder)) from error
        finally:
            clear(target, new, old)
            lock.unlink(missing_ok=True)


def _check_replaceable(folder: Path, what: str, ours: Sequence[str]) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / ours[0]).is_file():
        raise InputError(f"{str(folder)!r} exists and is no {what}: choose another name.")
    others = strangers(folder, ours)
    if others:
        raise InputError(
            f"{str(folder)!r} holds {', '.join(others[:3])}{' and more' * (len(others) > 3)} "
            f"beside the files of its {what}: move away what you need, or choose another name."
        )


def finish_replacing(folder: Path) -> None:
    """Complete what a killed process left half done, where a folder is missing for it."""
    # Another process is at it, we may not, or it is no name of a file.
    with contextlib.suppress(OSError, ValueError):
        lock, new, old = unfinished_paths(folder)
        if folder.exists() or not (new.is_dir() and old.is_dir()):
            return
        held = locked(lock)
        if held is not None:
            with held:
                clear(folder, new, old)
                lock.unlink(missing_ok=True)


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Say of an error of the system in opening a path which it was."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}.") from error


def _as_storage_error(error: BaseException, path: Path) -> BaseException:
    """Say of an error of the system that nothing is lost; any other stays as it is."""
    if not isinstance(error, OSError):
        return error
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    if isinstance(error, StorageError) and cause is error:
        return error
    return StorageError(
        f"could not write {str(path)!r}: {cause.strerror or cause}. "
        "What was there before is untouched."
    )


@contextlib.contextmanager
def reading(path: str | Path, what: str = "") -> Iterator[None]:
    """Turn the system's errors about a file into ours; ``what`` says why it is needed."""
    try:
        yield
    except StorageError:
        raise
    except FileNotFoundError:
        raise StorageError(f"no file {str(path)!r}{what}.") from None
    except OSError as error:
        why = error.strerror or str(error).rstrip(".")
        raise StorageError(f"cannot read {str(path)!r}: {why}.") from error


def check_regular(path: str | Path) -> None:
    """Refuse a folder, a pipe or a device in the place of a file: reading it might never end."""
    if Path(path).exists() and not Path(path).is_file():
        raise StorageError(f"{str(path)!r} is a folder, a pipe or a device: expected a file.")


def sha256(path: str | Path) -> str:
    """Return the hash of a file's content, in hexadecimal."""
    check_regular(path)
    with reading(path), open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size(n_bytes: int) -> str:
    """Write a number of bytes for people."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.1f} {unit}"
    return f"{n_bytes} bytes"


def sizes(folder: Path) -> dict[str, int]:
    """Return the number of bytes of each file in a folder, by its path within it, sorted."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in files}


def write_checksums(folder: Path) -> None:
    """Write the hashes of all files in a folder to a file beside them."""
    listed = "".join(f"{digest}  {name}\n" for name, digest in _hashes(folder).items())
    (folder / CHECKSUMS).write_text(listed, encoding="utf-8")


def altered(folder: Path) -> list[str]:
    """Return the files that `write_checksums` found otherwise: changed, missing, or added."""
    if not (folder / CHECKSUMS).is_file():
        return [CHECKSUMS]
    with reading(folder / CHECKSUMS):
        lines = (folder / CHECKSUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    hashes = _hashes(folder)
    return sorted(name for name in {*listed, *hashes} if listed.get(name) != hashes.get(name))


def _hashes(folder: Path) -> dict[str, str]:
    return {name: sha256(folder / name) for name in sizes(folder) if name != CHECKSUMS}


def locked(path: Path) -> IO[bytes] | None:
    """Open a file, made with its folder if need be, for this process alone; None if another has it.

    The system lets go of the lock when its process ends, however it ends. A holder may rename or
    remove the file meanwhile: the one that is returned is the one that has the name.
    """
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        return _locked(path)


if sys.platform == "win32":

    def _locked(path: Path) -> IO[bytes] | None:
        """Lock a file as Windows does: while it is open, others may read or rename it, not write.

        Python's `open` would let others write, and let nobody rename. The locks of `msvcrt` keep
        off readers as well, and reach no further than 2 GB.
        """
        import _winapi
        import msvcrt

        read_and_write, share_reading_and_deleting, open_or_make, violation = 0xC0000000, 5, 4, 32
        try:
            handle = _winapi.CreateFile(
                str(path), read_and_write, share_reading_and_deleting, 0, open_or_make, 0, 0
            )
        except OSError as error:
            if error.winerror == violation:
                return None
            raise
        return os.fdopen(msvcrt.open_osfhandle(handle, os.O_RDWR), "r+b")

else:

    def _locked(path: Path) -> IO[bytes] | None:
        import fcntl

        while True:
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Between opening and locking its holder may have renamed or removed it, and a
                # lock on a file without a name would keep nobody out.
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                        return file
            except BlockingIOError:
                file.close()
                return None
            except BaseException:
                file.close()
                raise
            file.close()


def optional(module: str, extra: str, what: str, instead: str = "") -> Any:
    """Import a package that not everybody installs, or say how to get it.

    Of ``"pyarrow.parquet"`` the top package is returned. ``extra`` is the extra of pmeans that
    brings it, ``what`` needs it (``"approximate search"``), ``instead`` ends the message.
    """
    top = module.partition(".")[0]
    try:
        importlib.import_module(module)
        return importlib.import_module(top)
    except ImportError:
        ending = f", or {instead}" if instead else ""
        raise InputError(
            f"{what} needs {top}, which is not installed: pip install 'pmeans[{extra}]'{ending}."
        ) from None
