"""Many Parquet files, here or in a bucket: a pattern becomes a list of files, each with its size.

Addresses such as ``s3://bucket/folder/*.parquet`` are opened by pyarrow, which has credentials from
where its makers look for them; ``?region=…&endpoint_override=…`` may end an address.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pmeans.errors import PmeansError, StorageError
from pmeans.files import check_regular, optional
from pmeans.tables.sources import open_parquet

_AT_ONCE = 16  # files asked for their size and columns


@dataclass(frozen=True)
class ParquetFile:
    """A file that was found.

    Attributes:
        address: The path or address that was asked for; it tells the file system.
        path: Where the file is, within its file system.
        size: Its bytes.
        modified: When it was changed last, in ns.
        rows: How many it has.
        largest: How many its largest row group has.
        schema: Of its columns, a ``pyarrow.Schema``.
        metadata: What it says of itself, by name.
    """

    address: str
    path: str
    size: int
    modified: int
    rows: int
    largest: int
    schema: Any
    metadata: dict[bytes, bytes]


def find_parquet(address: str) -> list[ParquetFile]:
    """Return the files that an address means, sorted by path, each opened once to see its columns.

    Args:
        address: A file, a folder (its ``.parquet`` files), or a pattern in which ``*``, ``?`` and
            ``[…]`` stand for parts of a name, never for a ``/``.
    """
    system, path = _system(address)
    fs = optional("pyarrow.fs", "data", repr(address)).fs
    with reading_address(address):
        if system.get_file_info(path).type == fs.FileType.Directory:
            path = f"{path.rstrip('/')}/*.parquet"
        infos = _matching(fs, system, path)
    if not infos:
        raise StorageError(f"no file {address!r}.")

    def opened(info: Any) -> ParquetFile:
        with (
            reading_address(address),
            system.open_input_file(info.path) as stream,
            open_parquet(info.path, stream) as file,
        ):
            metadata, groups = file.metadata, range(file.num_row_groups)
            largest = max((metadata.row_group(i).num_rows for i in groups), default=0)
            time, schema = info.mtime_ns or 0, file.schema_arrow
        about = metadata.metadata or {}
        return ParquetFile(
            address, info.path, info.size, time, metadata.num_rows, largest, schema, about
        )

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(opened, infos))


def local_paths(files: Iterable[ParquetFile]) -> list[str]:
    """Return the paths of those files that lie on this machine."""
    return [file.path for file in files if _is_local(file.address)]


def open_file(address: str, path: str) -> Any:
    """Open a file that `find_parquet` found, on this machine or another, to read anywhere in it."""
    if _is_local(address):
        check_regular(path)
    return _system(address)[0].open_input_file(path)


def file_stamps(address: str, paths: Sequence[str]) -> list[tuple[int, int] | None]:
    """Return the bytes and the time of change in ns of files at an address; None if one is gone."""
    fs = optional("pyarrow.fs", "data", repr(address)).fs
    system, _ = _system(address)
    with reading_address(address):
        infos = system.get_file_info(list(paths))
    for info in infos:
        if info.type not in (fs.FileType.File, fs.FileType.NotFound):
            raise StorageError(f"{info.path!r} is a folder or a device: expected a Parquet file.")
    return [(info.size, info.mtime_ns or 0) if info.is_file else None for info in infos]


def _is_local(address: str) -> bool:
    return not re.match(r"(?!file:)\w+://", address)


@functools.cache  # a bucket is asked for its region, which takes a while
def _system(address: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    pyarrow = optional("pyarrow.fs", "data", repr(address))
    if "://" not in address:
        return pyarrow.fs.LocalFileSystem(), Path(address).absolute().as_posix()
    with reading_address(address):
        system, path = pyarrow.fs.FileSystem.from_uri(address)
    return system, path


def _matching(fs: Any, system: Any, pattern: str) -> list[Any]:
    """Return the files of a pattern."""
    parts = pattern.split("/")
    wild = [i for i, part in enumerate(parts) if any(sign in part for sign in "*?[")]
    if not wild:
        files = [system.get_file_info(pattern)]
    else:
        deep = wild[0] < len(parts) - 1
        folder = fs.FileSelector("/".join(parts[: wild[0]]) or "/", recursive=deep)
        files = system.get_file_info(folder)
    return sorted(
        (info for info in files if info.is_file and _fits(info.path.split("/"), parts)),
        key=lambda info: info.path,
    )


def _fits(path: list[str], pattern: list[str]) -> bool:
    return len(path) == len(pattern) and all(map(fnmatchcase, path, pattern))


@contextlib.contextmanager
def reading_address(address: str) -> Iterator[None]:
    """Turn what a file system says into an error of ours."""
    pyarrow = optional("pyarrow", "data", repr(address))
    try:
        yield
    except PmeansError:
        raise
    except FileNotFoundError:
        raise StorageError(f"no file {address!r}.") from None
    except (pyarrow.ArrowException, OSError, ValueError) as error:  # such as a zero in a name
        raise StorageError(f"cannot read {address!r}: {error}.") from error
