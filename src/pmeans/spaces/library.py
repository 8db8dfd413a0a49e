"""Where word spaces live on this computer: one ``NAME.safetensors`` each, in one folder.

``$PMEANS_HOME/spaces``, or ``pmeans/spaces`` in the user's cache folder: everything in it can be
downloaded or converted again. A name is a file name that is safe everywhere, so that no name
from a recipe or a request can reach outside the folder.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from pmeans.errors import InputError, StorageError, shown
from pmeans.spaces import catalogue
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space

_SUFFIX = ".safetensors"
_FETCH = "'pmeans spaces fetch {}' downloads it."
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def home() -> Path:
    """Return the folder of spaces: in ``$PMEANS_HOME``, or in the user's cache."""
    chosen = os.environ.get("PMEANS_HOME")
    if chosen:
        return Path(chosen).expanduser() / "spaces"
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification has programs ignore a path that is not absolute.
    return (cache if cache.is_absolute() else Path.home() / ".cache") / "pmeans" / "spaces"


def data_home(wanted: str | Path | None = None, *, needed: bool = False) -> Path:
    """Return the folder of data to train and measure on: given, ``$PMEANS_DATA``, or by the spaces.

    Where it is needed, it is an error that it is not there.
    """
    variable, usual = os.environ.get("PMEANS_DATA"), home().with_name("data")
    chosen = wanted or variable or usual
    folder = Path(chosen).expanduser().absolute()
    if needed and not folder.is_dir():
        raise StorageError(
            f"no folder {str(chosen)!r} with the data. It is the one that is given, "
            f"else $PMEANS_DATA ({variable or 'not set'}), else {usual}."
        )
    return folder


def installed() -> list[Path]:
    """Return the files of the installed spaces, sorted by name."""
    return sorted(home().glob(f"*{_SUFFIX}"))


def path_of(name: str, folder: Path | None = None) -> Path:
    """Return the file of an installed space, or where it would be, in a folder or in `home`."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{shown(name)} cannot name a word space: take letters, digits, '.', '_' and '-', "
            "and do not begin with '.' or '-'."
        )
    return (folder or home()) / f"{name}{_SUFFIX}"


def find_space(name_or_path: str | Path) -> WordSpace:
    """Open a word space by the name it is installed under, or by the path of its file.

    What is a `Path`, contains a slash or ends in ``.safetensors`` is a path.
    """
    text = str(name_or_path)
    slashed = any(each in text for each in (os.sep, os.altsep) if each)
    if isinstance(name_or_path, Path) or text.endswith(_SUFFIX) or slashed:
        return open_space(Path(name_or_path).expanduser())
    path = path_of(text)
    if path.exists():
        return open_space(path)
    raise StorageError(_missing(text))


def _missing(name: str) -> str:
    if catalogue.knows(name):
        return f"the word space {shown(name)} is not installed. {_FETCH.format(name)}"
    here = [path.stem for path in installed()]
    message = f"no word space named {shown(name)}."
    for near in difflib.get_close_matches(name, [*here, *catalogue.names()], n=1):
        message += f" Did you mean {near!r}?"
        if near not in here:
            message += f" {_FETCH.format(near)}"
    return f"{message} 'pmeans spaces list' shows the {len(here)} installed."
