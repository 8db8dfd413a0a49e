"""What may be written where: the one rule for every output, and how a new folder takes its place.

Nothing that a user has is lost to an output. `check_output` refuses one that is read as an input,
by whatever name. A device or a pipe is written to and never replaced. A link is followed. A folder
is replaced only if all that it holds is of the kind that is written.

Whole folders are swapped by one system call, where the system has it: a kill at any instant leaves
the old one or the new one. Elsewhere there are two steps, between which both have other names::

    .NAME.pmeans-lock    held by the process that writes NAME
    .NAME.pmeans-new     what is being written
    .NAME.pmeans-old     what was there, until the new one has its name

What a killed process left under these names is finished or removed by the next one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from pmeans.errors import InputError, StorageError

_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV)


def check_output(out: str | Path | int, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse an output that would destroy an input, by whatever name the two are called.

    Args:
        out: A file or a folder to be written, or the number of an open file.
        inputs: Files and folders that are read; ``-`` is standard input. Into such a folder nothing
            is written. Names of what is no file, such as installed models, may be among them.
    """
    target = _status(out)
    mode = target.st_mode if target and not isinstance(out, int) else 0
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        kind = "a disk" if stat.S_ISBLK(mode) else "a socket"
        raise StorageError(f"cannot write {str(out)!r}: it is {kind}. Name a file.")
    for each in inputs:
        source = _status(0 if each == "-" else each)
        if source is None or not (stat.S_ISREG(source.st_mode) or stat.S_ISDIR(source.st_mode)):
            continue
        same = target is not None and os.path.samestat(target, source)
        holds = target is not None and stat.S_ISDIR(target.st_mode) and _is_in(each, target)
        within = stat.S_ISDIR(source.st_mode) and _is_in(out, source)
        if same or holds or within or _is_linked(target, each, source):
            name = "standard input" if each == "-" else repr(str(each))
            what = "the output" if isinstance(out, int) else repr(str(out))
            how = "overwrite" if target is not None else "write into"
            raise InputError(
                f"writing {what} would {how} {name}, which is read: choose another name for the "
                "output."
            )


def is_stream(out: str | Path) -> bool:
    """Whether an output is written to and not replaced: a pipe, a device, or ``/dev/stdout``."""
    if descriptor_of(out) is not None:
        return True
    status = _status(out)
    return status is not None and (stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode))


def descriptor_of(out: str | Path) -> int | None:
    """Return the open file of this process that a path such as ``/dev/stdout`` stands for."""
    path, open_files = Path(out), ("/dev/fd", f"/proc/{os.getpid()}/fd")
    for _ in range(40):  # as many links as Linux follows
        if path.name.isdecimal() and str(path.parent.resolve()) in open_files:
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None


def place_of(out: str | Path) -> Path:
    """Return where an output lies: a link is followed, so that it stays a link."""
    return Path(out).resolve() if Path(out).is_symlink() else Path(out)


def _status(path: str | Path | int) -> os.stat_result | None:
    """Return what a path or an open file is; None if it is nothing, or cannot be told."""
    try:
        return os.fstat(path) if isinstance(path, int) else Path(path).stat()
    except (OSError, ValueError):  # a name with a zero byte is no file
        return None


def _is_in(path: str | Path | int, folder: os.stat_result) -> bool:
    """Whether a path lies in a folder; ``-`` is what standard input is redirected from."""
    if isinstance(path, int):
        return False
    real = Path(os.path.realpath("/dev/stdin" if path == "-" else path))
    statuses = map(_status, real.parents)
    return any(each is not None and os.path.samestat(each, folder) for each in statuses)


def _is_linked(target: os.stat_result | None, folder: str | Path, source: os.stat_result) -> bool:
    """Whether a file has a second name in a folder."""
    if target is None or target.st_nlink < 2 or not stat.S_ISREG(target.st_mode):
        return False
    if not stat.S_ISDIR(source.st_mode):
        return False
    inside = (Path(at) / name for at, _, names in os.walk(folder) for name in names)
    return any(each and os.path.samestat(each, target) for each in map(_status, inside))


def is_leftover(path: Path) -> bool:
    """Whether a temporary name is free, or has what a killed process of this user may have left."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return True
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return own and stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def strangers(folder: Path, ours: Iterable[str]) -> list[str]:
    """Return what a folder holds beside files of some patterns, by path within it, sorted.

    In a pattern ``*`` stands for a part of a name. A folder on the way to a file of ours is ours.
    """
    patterns = [pattern.split("/") for pattern in ours]

    def is_ours(path: str, depth: int | None = None) -> bool:
        parts = path.split("/")
        cut = (pattern[:depth] for pattern in patterns if depth is None or len(pattern) > depth)
        return any(len(parts) == len(p) and all(map(fnmatchcase, parts, p)) for p in cut)

    names = []
    for at, folders, files in os.walk(folder):
        inside = Path(at).relative_to(folder)
        for name in list(folders):
            path = (inside / name).as_posix()
            if (folder / path).is_symlink() or not is_ours(path, path.count("/") + 1):
                names.append(f"{path}/")
                folders.remove(name)
        paths = ((inside / name).as_posix() for name in files)
        names += [path for path in paths if not is_ours(path)]
    return sorted(names)


def unfinished_paths(folder: Path, end: str = "") -> tuple[Path, Path, Path]:
    """Return the lock of a folder that is being written, the new folder and the old one."""
    lock, new, old = (f".{folder.name}.pmeans-{what}{end}" for what in ("lock", "new", "old"))
    return folder.with_name(lock), folder.with_name(new), folder.with_name(old)


def put_in_place(new: Path, folder: Path, old: Path) -> None:
    """Give a finished folder its name, and remove what had it before.

    After an error, what was there before has its name again.
    """
    if not folder.exists():
        new.rename(folder)
    elif _exchange(new, folder):
        _remove(new)
    else:
        try:
            folder.rename(old)
            new.rename(folder)
        except BaseException:
            if not folder.exists() and old.exists():
                old.rename(folder)
            raise
        _remove(old)


def clear(folder: Path, new: Path, old: Path) -> None:
    """Finish or remove what a killed process left of a folder, whose lock is held."""
    if old.is_dir() and new.is_dir() and not folder.exists():
        new.rename(folder)  # it was whole: the old one had made way for it
    for left in (new, old):
        if left.is_dir():
            _remove(left)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step; False if the system or its disk cannot."""
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    code = ctypes.get_errno()
    if code in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))
