"""One word space, one mapped ``.safetensors`` file.

A store is an ordinary safetensors file, readable by that library, with these tensors:

- ``matrix`` (n_words, dim): F32, F16 or I8; starts at a multiple of 64 bytes.
- ``scale`` (n_words,) F32: only for I8.
- ``words.XX`` (n_bytes,) U8, ``offsets.XX`` (n + 1,) I64, ``slots.XX`` (n_slots, 2) U64: the words
  of language XX and the hash table over them (`pmeans.kernels.index`).
- ``ngrams`` (n_buckets, dim) F32, F16 or I8: only for spaces with subwords.
- ``ngram_scale`` (n_buckets,) F32: only for ``ngrams`` in I8.
- ``padding.K`` U8: zeros, up to the next multiple of 64 bytes, because the format knows no holes.

``__metadata__`` holds ``format = "pmeans-space"``, ``version``, the languages in row order and
what else `WordSpace` knows. The same space always gives the same bytes. The official library
copies what it reads; this file maps it, which is why it is read here.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import FormatError, StorageError
from pmeans.files import replacing
from pmeans.kernels import LONGEST_NGRAM
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.types import Array, WordTable

VERSION = 1
LARGEST_DIM = 1 << 20
_ALIGNMENT = 64
_DTYPES = {
    "F32": "<f4", "F16": "<f2", "I8": "|i1", "U8": "|u1", "I64": "<i8", "U64": "<u8",
    "F64": "<f8", "I32": "<i4",  # not in our files, but in those of model2vec
}  # fmt: skip
_CODES = {np.dtype(code): name for name, code in _DTYPES.items()}
_LARGEST_HEADER = 100 << 20
_CASES = ("lower", "cased", "cased-then-lower")


def write_tensors(path: str | Path, tensors: dict[str, Array], metadata: dict[str, str]) -> None:
    """Write named arrays and strings as one safetensors file, each array 64-byte aligned."""
    laid_out: list[tuple[str, Array]] = []
    for name, array in tensors.items():
        laid_out.append((name, array))
        gap = -array.nbytes % _ALIGNMENT
        if gap:
            laid_out.append((f"padding.{len(laid_out)}", np.zeros(gap, dtype=np.uint8)))
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
    with replacing(path) as file:
        file.write(len(encoded).to_bytes(8, "little"))
        file.write(encoded)
        for _, array in laid_out:
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def map_tensors(path: str | Path) -> tuple[dict[str, Array], dict[str, str]]:
    """Map a safetensors file: read-only arrays by name, and its metadata."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, 2)
            if size < 8:
                raise FormatError(f"{path}: {size} bytes are too few for a safetensors file.")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise StorageError(f"no file {str(path)!r}.") from None
    except OSError as error:
        raise StorageError(f"cannot read {str(path)!r}: {error.strerror}.") from error
    length = int.from_bytes(data[:8], "little")
    if length > min(size - 8, _LARGEST_HEADER):
        raise FormatError(f"{path}: not a safetensors file, or cut short.")
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        tensors = dict(_arrays(data, 8 + length, header))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path}: damaged safetensors header: {error}") from error
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FormatError(f"{path}: damaged safetensors header: metadata must be strings.")
    return tensors, metadata


def _arrays(data: mmap.mmap, base: int, header: dict[str, Any]) -> Iterator[tuple[str, Array]]:
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
        yield name, np.frombuffer(data, dtype, count, base + begin).reshape(shape)


def save_space(space: WordSpace, path: str | Path) -> None:
    """Write a space to one file, whole or not at all."""
    tensors: dict[str, Array] = {"matrix": space.matrix}
    if space.scale is not None:
        tensors["scale"] = space.scale
    for language, table in space.tables.items():
        tensors[f"words.{language}"] = table.words
        tensors[f"offsets.{language}"] = table.offsets
        tensors[f"slots.{language}"] = table.slots
    metadata = {
        "format": "pmeans-space",
        "version": str(VERSION),
        "name": space.name,
        "languages": json.dumps(list(space.tables)),
        "case": space.case,
        "source": space.source,
        "licence": space.licence,
    }
    if space.subwords:
        tensors["ngrams"] = space.subwords.ngrams
        if space.subwords.scale is not None:
            tensors["ngram_scale"] = space.subwords.scale
        metadata |= {"minn": str(space.subwords.minn), "maxn": str(space.subwords.maxn)}
    write_tensors(path, tensors, metadata)


def open_space(path: str | Path) -> WordSpace:
    """Map a stored space; nothing but its header is read until it is used."""
    tensors, metadata = map_tensors(path)
    if metadata.get("format") != "pmeans-space":
        raise FormatError(
            f"{path}: a safetensors file, but not a word space of pmeans. "
            "'pmeans spaces convert' makes one from a vector file."
        )
    if metadata.get("version") != str(VERSION):
        raise FormatError(
            f"{path}: format version {metadata.get('version')}, this pmeans reads {VERSION}. "
            "Upgrade pmeans, or convert the vectors again."
        )
    try:
        return _space(tensors, metadata, str(path))
    except KeyError as error:
        raise FormatError(f"{path}: damaged word space: {error} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged word space: {error}") from error


def _space(tensors: dict[str, Array], metadata: dict[str, str], path: str) -> WordSpace:
    matrix = tensors["matrix"]
    scale = tensors.get("scale")
    languages = json.loads(metadata["languages"])
    _require(isinstance(languages, list) and bool(languages), "it names no language")
    _check_vectors(matrix, scale, "the matrix")
    _require(matrix.shape[1] <= LARGEST_DIM, f"its vectors have {matrix.shape[1]} columns")
    _require(metadata["case"] in _CASES, f"unknown case {metadata['case']!r}")
    tables: dict[str, WordTable] = {}
    start = 0
    for language in languages:
        _require(isinstance(language, str), "a language is no string")
        table = WordTable(
            tensors[f"words.{language}"],
            tensors[f"offsets.{language}"],
            tensors[f"slots.{language}"],
            start,
        )
        _check_table(table)
        tables[language] = table
        start += len(table)
    _require(start == len(matrix), f"{start} words for {len(matrix)} vectors")
    subwords = None
    if "ngrams" in tensors:
        ngrams, ngram_scale = tensors["ngrams"], tensors.get("ngram_scale")
        minn, maxn = int(metadata["minn"]), int(metadata["maxn"])
        _require(0 <= minn <= maxn <= LONGEST_NGRAM, f"n-gram lengths of {minn} to {maxn}")
        _check_vectors(ngrams, ngram_scale, "the matrix of n-grams")
        fits = len(ngrams) > 0 and ngrams.shape[1] == matrix.shape[1]
        _require(fits, f"the n-gram vectors misfit: {ngrams.shape}")
        subwords = Subwords(ngrams, minn, maxn, ngram_scale)
    return WordSpace(
        metadata["name"], matrix, tables, metadata["case"], scale, subwords,  # type: ignore[arg-type]
        metadata.get("source", ""), metadata.get("licence", ""), path,
    )  # fmt: skip


def _check_vectors(matrix: Array, scale: Array | None, what: str) -> None:
    _require(matrix.ndim == 2, f"{what} has not two dimensions")
    _require(matrix.dtype.name in ("float32", "float16", "int8"), f"{what} has a strange type")
    _require((scale is None) == (matrix.dtype != np.int8), f"{what}: int8 and a scale go together")
    if scale is not None:
        fits = scale.shape == (len(matrix),) and scale.dtype == np.float32
        _require(fits, f"{what}: scale misfits")


def _check_table(table: WordTable) -> None:
    _require(table.words.dtype == np.uint8 and table.words.ndim == 1, "words are no bytes")
    _require(table.offsets.dtype == np.int64 and table.offsets.ndim == 1, "offsets misfit")
    _require(table.slots.dtype == np.uint64 and table.slots.shape[1:] == (2,), "slots misfit")
    _require(len(table.offsets) > 0 and len(table.slots) >= 8, "a table is too short")
    _require(
        table.offsets[0] == 0 and table.offsets[-1] == len(table.words), "words and offsets misfit"
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
