"""Arrays on disk: mapped safetensors files, and the one rule for storing numbers in fewer bits.

A file is an ordinary safetensors file, which that library reads as well. Every array starts at a
multiple of 64 bytes; ``padding.K`` (U8, zeros) fills up to it, because the format knows no holes.
The official library copies what it reads. This module maps it, which is why it is read here.

Numbers are float32, float16, int8 or int4. An int8 row is ``rint(x / scale)`` with
``scale = max|x| / 127``; codes times scale give the same codes and scale when stored again, because
fl(127 * fl(x / 127)) / 127 rounds back to fl(x / 127), whatever x. Float16 rounds to nearest and
refuses numbers that it cannot hold.

An int4 row is ``rint(x / scale)``, cut off at -7 and 7, with ``scale = share * max|x| / 7`` for the
one of `SHARES` that gives the least squared error: a row of many numbers has few large ones, and
smaller steps for the others are worth cutting those off. The largest code is always 7 or -7, and
fl(7 * fl(x / 7)) / 7 rounds back as well, so that int4 stored again stays the same, too.
`pmeans.kernels.coded` says how the codes lie.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeGuard, get_args

import numpy as np
import numpy.typing as npt

from pmeans.choices import Precision
from pmeans.errors import FormatError, InputError
from pmeans.files import check_regular, reading, replacing
from pmeans.kernels import coded
from pmeans.mapped import MappedFile
from pmeans.types import Array, Floats

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)
"""Of the largest number of a row: what 7 may stand for in int4."""

_ALIGNMENT, _PADDING = 64, "padding."
_DTYPES = {
    "F32": "<f4", "F16": "<f2", "I8": "|i1", "U8": "|u1", "I64": "<i8", "U64": "<u8",
    "F64": "<f8", "I32": "<i4",  # not in our files, but in those of model2vec
}  # fmt: skip
_CODES = {np.dtype(code): name for name, code in _DTYPES.items()}
_LARGEST_HEADER = 100 << 20
_ROWS = 65536  # decoded at a time: 75 MB at 300 columns


def write_tensors(
    path: str | Path,
    tensors: dict[str, Array],
    metadata: dict[str, str],
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write named arrays and strings as one safetensors file, each array 64-byte aligned.

    ``inputs`` are files that they were read from, none of which is overwritten.
    """
    laid_out: list[tuple[str, Array]] = []
    for name, array in tensors.items():
        laid_out.append((name, array))
        gap = -array.nbytes % _ALIGNMENT
        if gap:
            laid_out.append((f"{_PADDING}{len(laid_out)}", np.zeros(gap, dtype=np.uint8)))
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in laid_out:
        begin, end = end, end + array.nbytes
        header[name] = {
            "dtype": _CODES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    encoded = json.dumps(header, ensure_ascii=False).encode("utf-8")
    encoded += b" " * (-(8 + len(encoded)) % _ALIGNMENT)
    with replacing(path, inputs) as file:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for _, array in laid_out:
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def map_tensors(path: str | Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Map a safetensors file: read-only arrays by name, without padding, and its metadata."""
    check_regular(path)
    with reading(path):
        size = Path(path).stat().st_size
    if size < 8:
        raise FormatError(f"{path}: {size} bytes are too few for a safetensors file.")
    data = MappedFile.open(path)
    length = int.from_bytes(data[:8], "little")
    if length > min(len(data) - 8, _LARGEST_HEADER):
        raise FormatError(f"{path}: not a safetensors file, or cut short.")
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        arrays = _arrays(data, 8 + length, header)
        tensors = {name: array for name, array in arrays if not name.startswith(_PADDING)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path}: damaged safetensors header: {error}") from error
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FormatError(f"{path}: damaged safetensors header: metadata must be strings.")
    return tensors, metadata


def _arrays(data: MappedFile, base: int, header: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    for name, entry in header.items():
        dtype = np.dtype(_DTYPES[entry["dtype"]])
        shape = tuple(entry["shape"])
        begin, end = entry["data_offsets"]
        if not all(isinstance(n, int) and n >= 0 for n in (*shape, begin, end)):
            raise ValueError(f"tensor {name!r} has a shape or an offset that is no whole number")
        count = math.prod(shape)
        if end - begin != count * dtype.itemsize or base + end > len(data):
            raise ValueError(f"tensor {name!r} does not fit into the file")
        if (base + begin) % dtype.itemsize:
            raise ValueError(f"tensor {name!r} is not aligned")
        yield name, data.array(dtype, shape, base + begin)


def are_numbers(array: Array | None, shape: tuple[int, ...]) -> TypeGuard[Floats]:
    """Whether a stored array has this shape, and finite float32 in it."""
    if array is None or array.shape != shape or array.dtype != np.float32:
        return False
    return bool(np.isfinite(array).all())


def precision_of(matrix: Array) -> Precision:
    """Return how a matrix of word vectors is stored."""
    return "int4" if matrix.dtype == np.uint8 else matrix.dtype.name  # type: ignore[return-value]


def decoded(matrix: Array, scale: Floats | None, which: slice | Array = slice(None)) -> Floats:
    """Return rows of word vectors in any precision as float32, (n, dim)."""
    if scale is None:
        return np.asarray(matrix[which], dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # a damaged scale is for `verify` to find
        # Decodes and multiplies in one pass, in less than half the time of two.
        codes = coded.unpacked(matrix[which])
        return np.multiply(codes, scale[which, None], dtype=np.float32)


def quantised(
    matrix: Array, scale: Floats | None, precision: Precision, place: Callable[[int], str]
) -> tuple[Array, Floats | None]:
    """Return a matrix in another precision, and for int8 and int4 the scale of its rows, (n,).

    The matrix is (n, dim) in any precision, with a scale if it is int8 or int4. As int4 it becomes
    (n, dim / 2). ``place`` ends the message about a number that cannot be stored, given its row.
    """
    if precision not in get_args(Precision):
        raise InputError(f"unknown precision {precision!r}; take float32, float16, int8 or int4.")
    dim = coded.n_columns(matrix)
    if precision == "int4" and dim % 2:
        raise InputError(
            f"int4 puts two numbers in a byte and needs an even number of columns, not {dim}; "
            "take int8."
        )
    columns, dtype = (dim // 2, "uint8") if precision == "int4" else (dim, precision)
    stored = np.empty((len(matrix), columns, *matrix.shape[2:]), dtype=dtype)
    scales = np.empty(len(matrix), dtype=np.float32) if stored.itemsize == 1 else None
    for start in range(0, len(matrix), _ROWS):
        chunk = slice(start, start + _ROWS)
        rows = decoded(matrix, scale, chunk)
        largest = np.abs(rows).max(axis=1, initial=0)
        if scales is not None:
            _refuse(start, rows, ~np.isfinite(largest), f"{precision} has no code for", place)
            if precision == "int4":
                scales[chunk] = _best_top(rows, largest) / np.float32(coded.LARGEST)
                stored[chunk] = coded.packed(_codes(rows, scales[chunk], coded.LARGEST))
            else:
                scales[chunk] = largest / np.float32(127)
                stored[chunk] = _codes(rows, scales[chunk], 127)
        elif precision == "float16":
            # From 65520 on, rounding to nearest gives infinity.
            bad = ~(largest < 65520)
            _refuse(start, rows, bad, "float16 ends at 65504 and cannot hold", place)
            stored[chunk] = rows
        else:
            stored[chunk] = rows
    return stored, scales


def _codes(rows: Floats, scale: Floats, largest: int) -> npt.NDArray[np.int8]:
    step = np.where(scale > 0, scale, 1)[:, None]
    # A row near the smallest float32 has a scale that rounds far down: int8 needs the clip, too.
    return np.clip(np.rint(rows / step), -largest, largest).astype(np.int8)


def _best_top(rows: Floats, largest: Floats) -> Floats:
    """Return what 7 is to stand for in each row of int4, (n,): the best share of its largest."""
    # Squares of these cannot overflow.
    units = np.divide(rows, np.where(largest > 0, largest, 1)[:, None], dtype=np.float32)
    errors = []
    for share in SHARES:
        step = np.full(len(rows), share / coded.LARGEST, dtype=np.float32)
        misses = units - _codes(units, step, coded.LARGEST) * step[:, None]
        errors.append(np.einsum("ij,ij->i", misses, misses))
    return largest * np.array(SHARES, dtype=np.float32)[np.argmin(errors, axis=0)]


def _refuse(
    start: int, rows: Floats, bad: npt.NDArray[np.bool_], why: str, place: Callable[[int], str]
) -> None:
    if bad.any():
        i = int(np.argmax(bad))
        value = rows[i][np.argmax(np.abs(rows[i]))]
        raise InputError(f"{why} {value}, a number in {place(start + i)}")
