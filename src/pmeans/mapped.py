"""Mapped files, and how arrays of them are pickled: as a place in a file, not as bytes.

A pickle of a mapped array has the path of its file, and the size, time of change and hash of what
was mapped. Whoever reads the pickle maps the file again. If it is gone, or another
one has its name, that is an error: other numbers would give other rows without a sign. Arrays in
memory are pickled as such.

`copy.deepcopy` goes the same way, and shares the mapping, which nobody can write to.
"""

from __future__ import annotations

import dataclasses
import hashlib
import mmap
import os
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pmeans.errors import StorageError
from pmeans.files import reading

_HASHED = 1 << 30
"""Bytes of the largest file that is hashed, within a second or two. Larger ones are told apart by
size and time of change alone, so that their copies elsewhere are not the same."""


class MappedFile(mmap.mmap):
    """A file that is mapped to be read, and knows which one it is.

    Attributes:
        path: Where it was found, from the root.
        changed: Time of its last change when it was mapped, in nanoseconds.
    """

    path: str
    changed: int

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Map a file; an empty one cannot be mapped, and is a `ValueError`."""
        with reading(path), open(path, "rb") as file:
            mapped = cls(file.fileno(), 0, access=mmap.ACCESS_READ)
            mapped.path = str(Path(path).absolute())
            mapped.changed = os.fstat(file.fileno()).st_mtime_ns
        return mapped

    @cached_property
    def sha256(self) -> str:
        """The hash of its content, in hexadecimal; nothing of a large file."""
        return hashlib.sha256(self).hexdigest() if len(self) <= _HASHED else ""

    def array(self, dtype: npt.DTypeLike, shape: tuple[int, ...], offset: int) -> npt.NDArray[Any]:
        """Return an array that begins at some byte, read-only."""
        count = int(np.prod(shape, dtype=object))
        return np.frombuffer(self, dtype, count, offset).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return _mapped_again, (self.path, len(self), self.changed, self.sha256)

    def __deepcopy__(self, memo: object) -> Self:
        return self


def _mapped_again(path: str, size: int, changed: int, sha256: str) -> MappedFile:
    """Map the file that a pickle names, if it is still the same."""
    try:
        file = MappedFile.open(path)
    except ValueError:  # it is empty now
        file = None
    # A copy on another machine has another time of change. Then its content tells.
    same = file and (file.changed == changed or (sha256 and file.sha256 == sha256))
    if file and len(file) == size and same:
        return file
    raise StorageError(
        f"{path!r} has changed since an object that reads from it was pickled. Put the file back "
        "as it was, or pickle the object again."
    )


class _Place(NamedTuple):
    """An array in a mapped file."""

    file: MappedFile
    dtype: str
    shape: tuple[int, ...]
    offset: int


def file_of(array: npt.NDArray[Any]) -> mmap.mmap | None:
    """Return the mapped file that an array is a view of, if it is one."""
    base: Any = array
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return base if isinstance(base, mmap.mmap) else None


def refer(value: Any) -> Any:
    """Put the place in the file in place of a mapped array, also in tuples and dictionaries."""
    if type(value) is tuple:
        return tuple(map(refer, value))
    if type(value) is dict:
        return {key: refer(each) for key, each in value.items()}
    file = file_of(value) if isinstance(value, np.ndarray) else None
    if not isinstance(file, MappedFile) or not value.size or not value.flags.c_contiguous:
        return value
    offset = _address(value) - _address(np.frombuffer(file, np.uint8))
    return _Place(file, value.dtype.str, value.shape, offset)


def resolve(value: Any) -> Any:
    """Return the arrays that `refer` put places for."""
    if isinstance(value, _Place):
        return value.file.array(*value[1:])
    if type(value) is tuple:
        return tuple(map(resolve, value))
    if type(value) is dict:
        return {key: resolve(each) for key, each in value.items()}
    return value


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


class MappedFields:
    """A dataclass whose arrays may be mapped. It is pickled without what it has computed since."""

    def __getstate__(self) -> dict[str, Any]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {each.name: refer(getattr(self, each.name)) for each in fields if each.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**{name: resolve(value) for name, value in state.items()})  # type: ignore[misc]
