"""Files whole or not at all, with checksums, or for one process alone; packages that may be absent.

The bytes go to a temporary name beside the target and are renamed over it when they are
complete and on disk. A full disk, an error or a kill leaves the old file, or the old folder, as
it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pmeans.errors import InputError, StorageError

CHECKSUMS = "SHA256SUMS"
"""The file beside others that has their hashes, as `sha256sum --check` reads it."""


@contextlib.contextmanager
def replacing(path: str | Path, temporary: Path | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that takes the place of ``path`` on success.

    A name of its own, ``temporary``, is for a writer that holds a lock and may be killed time and
    again: it leaves no litter.
    """
    path = Path(path)
    with _writable(path):
        if temporary:
            name = str(temporary)
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        else:
            descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise _told(error, path) from error


@contextlib.contextmanager
def replacing_folder(folder: str | Path, marker: str, what: str) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``folder`` on success.

    What is there is replaced if it holds the marker, a file that each folder of this kind has;
    anything else is left alone. ``what`` names the kind in messages, such as ``"encoder"``.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / marker).is_file():
        raise InputError(f"{str(folder)!r} exists and is no {what}: choose another name.")
    with _writable(folder):
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
            os.replace(folder, old / what)
            os.replace(temporary, folder)
            shutil.rmtree(old)
        else:
            os.replace(temporary, folder)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise _told(error, folder) from error


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Make the folder of a path; an error of the system in opening it names the path."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}.") from error


def _told(error: BaseException, path: Path) -> BaseException:
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
    """Raise if there is no file of this name; a pipe or a device might be read for ever."""
    with reading(path):
        mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode):
        raise StorageError(f"{str(path)!r} is a folder, a pipe or a device: expected a file.")


def sha256(path: str | Path) -> str:
    """Return the hash of a file's content, in hexadecimal."""
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
    found = _hashes(folder)
    return sorted(name for name in {*listed, *found} if listed.get(name) != found.get(name))


def _hashes(folder: Path) -> dict[str, str]:
    return {name: sha256(folder / name) for name in sizes(folder) if name != CHECKSUMS}


def locked(path: Path) -> IO[bytes] | None:
    """Open a file, made with its folder if need be, for this process alone; None if another has it.

    The system lets go of the lock when its process ends, however it ends. A holder may rename or
    remove the file meanwhile: the one that is returned is the one that has the name.
    """
    with _writable(path):
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


def _umask() -> int:
    # The mask can only be read by setting it; mkstemp's 0600 would lock a team out.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
