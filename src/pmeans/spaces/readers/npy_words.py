"""A NumPy matrix and a list of its words: ``X.npy`` beside ``X.words.txt``.

The matrix is mapped, not read, and keeps its float32 or float16. The list has one word a line,
each the bytes up to the newline. A type at the end of the matrix's name is no part of the list's:
``glove.f16.npy`` goes with ``glove.words.txt``.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from typing import Literal

import numpy as np

from pmeans.errors import FormatError
from pmeans.files import reading
from pmeans.spaces.readers.entries import Entries, Tally, make_space, usable
from pmeans.spaces.space import WordSpace
from pmeans.types import Array

_LONGEST_HEADER = 1 << 10  # NumPy writes 118 bytes; Python chokes on deep nesting in more


def read_npy_words(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Map a matrix and read the list of its words."""
    matrix = _mapped(tally.path)
    words = _words(words_path(tally.path))
    n = min(len(words), len(matrix))
    wanted = min(max(len(words), len(matrix)), limit)
    if n < wanted:
        what = f"{len(words):,} words for {len(matrix):,} vectors"
        tally.enter("truncated", n + 1, what, wanted - n)
    tally.seen = min(n, wanted)
    entries = Entries.of(words[: tally.seen], matrix[: tally.seen])
    return make_space(usable(entries, tally), tally, name, lang)


def words_path(path: Path) -> Path:
    """Return where the words of a matrix are listed."""
    stem = path.name.removesuffix(".npy").removesuffix(".f16").removesuffix(".f32")
    return path.with_name(f"{stem}.words.txt")


def _mapped(path: Path) -> Array:
    """Map the matrix of a file. `numpy.load` would try pickles, archives and Python 2 as well."""
    try:
        with reading(path), open(path, "rb") as file:
            start = file.read(8)
            if not start.startswith(b"\x93NUMPY") or len(start) < 8:
                raise FormatError(f"{path}: not a .npy file.")
            length = int.from_bytes(file.read(2 if start[6] == 1 else 4), "little")
            header = ast.literal_eval(file.read(min(length, _LONGEST_HEADER)).decode("utf-8"))
            stored, shape, by_column = (header[key] for key in ("descr", "shape", "fortran_order"))
            if stored not in ("<f4", "<f2"):
                raise FormatError(
                    f"{path}: values of type {stored!r}; save them as np.float32 or np.float16."
                )
            if len(shape) != 2 or min(shape) < 1:
                raise FormatError(f"{path}: {shape} is not the shape of a matrix, (n_words, dim).")
            begin = file.tell()
            n_bytes = math.prod(shape) * np.dtype(stored).itemsize
            if n_bytes > file.seek(0, 2) - begin:  # where numpy.memmap counts, it overflows
                raise ValueError(f"{n_bytes:,} bytes are announced")
            order: Literal["F", "C"] = "F" if by_column else "C"
            return np.ascontiguousarray(np.memmap(file, stored, "r", begin, shape, order))
    except FormatError:
        raise
    except (ValueError, SyntaxError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise FormatError(f"{path}: not a .npy file, or one that is cut short: {error}.") from error


def _words(path: Path) -> list[bytes]:
    with reading(path, ", which lists the words of the matrix"):
        lines = path.read_bytes().split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]
