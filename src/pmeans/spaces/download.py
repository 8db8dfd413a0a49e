"""Fetch public word spaces: download, check, convert, install.

`pmeans.spaces.http` moves the bytes, and says why it is not pooch. A file that was put into
the downloads by hand is taken like one that was downloaded, so all of this also works on a
machine without a network.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmeans.errors import FormatError, StorageError
from pmeans.files import locked, replacing, size
from pmeans.spaces import cache, catalogue
from pmeans.spaces.catalogue import Entry
from pmeans.spaces.http import Progress, Transfer, UselessError
from pmeans.spaces.library import path_of
from pmeans.spaces.readers import read_space
from pmeans.spaces.space import ANY_LANGUAGE
from pmeans.spaces.store import save_space


def fetch(
    name: str,
    *,
    library: Path | None = None,
    progress: Progress | None = None,
    report: Callable[[Any], None] | None = None,
    read: Callable[..., Any] = read_space,
    **options: Any,
) -> Path:
    """Download a space of the catalogue, convert it and install it under its name.

    One that is installed is left alone. The download is removed once it is converted, and kept
    if that fails.

    Args:
        name: A name of the catalogue, with its language where it has one.
        library: The folder to install it in, in place of `pmeans.spaces.library.home`.
        progress: Told about the bytes as they come.
        report: Given the `ReadReport` of the conversion.
        read: In place of `pmeans.spaces.readers.read_space`.
        options: What else that function is to be told: ``policy``, ``limit``.

    Returns:
        The installed file.
    """
    entry = catalogue.entry(name)
    installed = path_of(name, library)
    if installed.exists():
        return installed
    file = download(
        entry, library / "downloads" if library else cache.folder("downloads"), progress
    )
    lang = entry.languages[0] if len(entry.languages) == 1 else ANY_LANGUAGE
    options |= {"format": entry.format, "name": name, "lang": lang, "case": entry.case}
    try:
        with _unpacked(entry, file) as vectors:
            space, counts = read(vectors, **options)
    except FormatError as error:
        raise FormatError(
            f"{error} The download is kept as {str(file)!r}; remove it to download it again."
        ) from error
    if report:
        report(counts)
    save_space(replace(space, source=entry.url[0], licence=entry.licence), installed)
    file.unlink()
    return installed


def download(entry: Entry, folder: Path, progress: Progress | None = None) -> Path:
    """Download an entry's file into a folder, or take the one that lies there.

    The URLs are tried in their order until one gives a file with the right checksum.
    """
    file = folder / entry.file_name
    if file.exists():
        if wrong := _mismatch(entry, file):
            raise StorageError(f"{str(file)!r}: {wrong}. Remove it, or put the right file there.")
        return file
    partial = file.with_name(file.name + ".partial")
    failures: list[str] = []
    try:
        opened = locked(partial)
        if opened is None:
            raise StorageError(
                f"another process is downloading to {str(partial)!r}; wait for it to end."
            )
        with opened as out:
            out.seek(0, os.SEEK_END)
            for url in entry.url:
                transfer = Transfer(url, out, partial, _acceptance(entry, folder), progress)
                try:
                    transfer.complete()
                    if wrong := _mismatch(entry, partial):
                        transfer.discard()
                        raise UselessError(wrong)
                except UselessError as failure:
                    failures.append(f"{url}: {failure}.")
                    continue
                os.replace(partial, file)
                transfer.note.unlink(missing_ok=True)
                return file
        n_bytes = partial.stat().st_size
        if not n_bytes:
            partial.unlink()
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"could not write {str(partial)!r}: {error.strerror}.") from error
    whole = f"{'about ' if entry.approximate else ''}{size(entry.bytes)}"
    resume = (
        f" {size(n_bytes)} of it are kept, and the same command goes on there." if n_bytes else ""
    )
    raise StorageError(
        f"cannot download {entry.name!r} ({whole if entry.bytes else 'size unknown'}). "
        f"{' '.join(failures)}{resume} Without a network, get {entry.url[0]} elsewhere, "
        f"put it at {str(file)!r} and run the same command again."
    )


def _acceptance(entry: Entry, folder: Path) -> Progress:
    """Return the check of a file's size, before it is downloaded."""

    def accept(have: int, total: int) -> None:
        known = entry.bytes
        if total and known and total != known and not entry.approximate:
            raise UselessError(f"{total:,} bytes there, {known:,} in the catalogue; it has changed")
        # The converted space is about as large as the compressed vectors that it is made from.
        _require_room(folder, 2 * (total or known) - have, entry.name)

    return accept


def _mismatch(entry: Entry, file: Path) -> str:
    """Return what tells a file from the one in the catalogue, or nothing."""
    n = file.stat().st_size
    if entry.bytes and not entry.approximate and n != entry.bytes:
        return f"it has {n:,} bytes, expected {entry.bytes:,}"
    for kind, expected in (("sha256", entry.sha256), ("md5", entry.md5)):
        if expected:
            with open(file, "rb") as content:
                got = hashlib.file_digest(content, kind).hexdigest()
            if got != expected:
                return f"its {kind} is {got}, expected {expected}"
    return ""


@contextlib.contextmanager
def _unpacked(entry: Entry, file: Path) -> Iterator[Path]:
    """Unpack the member that is wanted, if the archive has several, for as long as it is read."""
    if not entry.member:
        yield file
        return
    path = file.with_name(f"{entry.name}.unpacked")
    try:
        with zipfile.ZipFile(file) as archive:
            _require_room(file.parent, archive.getinfo(entry.member).file_size, entry.name)
            with archive.open(entry.member) as packed, replacing(path) as out:
                shutil.copyfileobj(packed, out, 1 << 20)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, EOFError) as error:
        raise FormatError(f"{file}: no archive with {entry.member!r} in it: {error}.") from error
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _require_room(folder: Path, needed: int, name: str) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise StorageError(
            f"{name!r} needs about {size(needed)} more in {str(folder)!r}, where {size(free)} "
            "are free. Make room, or set PMEANS_HOME to a folder on a larger disk."
        )
