"""What pmeans keeps to save work: it may all be removed, and is then made or fetched again.

Everything lies beside the installed spaces (`pmeans.spaces.library.home`), by what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from pmeans.errors import InputError, did_you_mean, shown
from pmeans.files import locked
from pmeans.spaces.library import home

Kind = Literal["made", "teachers", "downloads"]
"""Spaces and states of trainings; the vectors of teachers; files as they were fetched."""
KINDS: tuple[Kind, ...] = get_args(Kind)
_OURS = {
    "made": ("*.safetensors", "*.training", "*.lock"),
    "teachers": ("*/*.safetensors",),
    "downloads": ("*",),
}


def folder(kind: Kind) -> Path:
    """Return where things of a kind are kept."""
    return home() / kind if kind == "downloads" else home().with_name(kind)


def checked_kind(name: str) -> Kind:
    """Return the kind of a name, or say which there are."""
    for kind in KINDS:
        if kind == name:
            return kind
    raise InputError(
        f"nothing is kept that is called {shown(name)}.{did_you_mean(name, KINDS)} "
        f"There are {', '.join(KINDS)}."
    )


def contents(kind: Kind) -> dict[Path, int]:
    """Return the number of bytes of each file of a kind that no process is at work on."""
    files = (path for pattern in _OURS[kind] for path in folder(kind).glob(pattern))
    there = (path for path in sorted(files) if path.is_file() and not path.is_symlink())
    return {path: path.stat().st_size for path in there if not _in_use(path)}


def remove(kind: Kind) -> tuple[int, int]:
    """Remove what is kept of a kind; return the number of files and of bytes."""
    files = contents(kind)
    for path in files:
        path.unlink(missing_ok=True)
    for left in _folders(kind):
        if not any(left.iterdir()):
            left.rmdir()
    return len(files), sum(files.values())


def _folders(kind: Kind) -> Iterator[Path]:
    top = folder(kind)
    if top.is_dir():
        yield from (path for path in sorted(top.iterdir()) if path.is_dir())
        yield top


def _in_use(path: Path) -> bool:
    """Return whether a process makes a file, or fetches it: then it, or its lock, is locked."""
    for each in {path, path.with_suffix(".lock")}:
        if each.exists():
            held = locked(each)
            if held is None:
                return True
            held.close()
    return False
