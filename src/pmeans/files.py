"""Write a file, or a folder, whole or not at all.

The bytes go to a temporary name beside the target and are renamed over it when they are
complete and on disk. A full disk, an error or a kill leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from pmeans.errors import InputError, StorageError


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary binary file that takes the place of ``path`` on success."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}.") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_umask())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError) and not isinstance(error, StorageError):
            raise StorageError(
                f"could not write {str(path)!r}: {error.strerror}. "
                "What was there before is untouched."
            ) from error
        raise


@contextlib.contextmanager
def replacing_folder(folder: str | Path, marker: str, what: str) -> Iterator[Path]:
    """Give a temporary folder that takes the place of ``folder`` on success.

    Args:
        folder: Where it goes; what is there is replaced if it is one of its kind.
        marker: A file that each folder of this kind holds: anything else is left alone.
        what: The kind, for messages, such as ``"encoder"``.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / marker).is_file():
        raise InputError(f"{str(folder)!r} exists and is no {what}: choose another name.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise StorageError(f"cannot write {str(folder)!r}: {error.strerror}.") from error
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
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _umask() -> int:
    # The mask can only be read by setting it; mkstemp's 0600 would lock a team out.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
