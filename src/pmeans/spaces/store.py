"""One word space, one mapped ``.safetensors`` file.

A store is an ordinary safetensors file, readable by that library, with these tensors:

- ``matrix`` (n_words, dim): F32, F16 or I8, or U8 with half the columns, which is int4
  (`pmeans.kernels.coded`); starts at a multiple of 64 bytes. With int4, here or in ``ngrams``,
  the file is of version 5.
- ``scale`` (n_words,) F32: only for I8 and U8.
- ``words.XX`` (n_bytes,) U8, ``offsets.XX`` (n + 1,) I64, ``slots.XX`` (n_slots, 2) U64: the words
  of language XX and the hash table over them (`pmeans.kernels.index`).
- ``phrases.XX`` (n_slots, 2) U64, ``marks.XX`` (n,) U64: only where text is searched for phrases,
  which ``slots.XX`` then lacks. Such a file is of version 2, so that no program reads it that does
  not know phrases.
- ``ngrams`` (n_buckets, dim) F32, F16, I8 or U8: only for spaces with subwords. Where languages
  have buckets of their own, the file is of version 3. Where words are folded first, the
  metadata has ``folded_ngrams = "true"``, and the file is of version 4.
- ``ngram_scale`` (n_buckets,) F32: only for ``ngrams`` in I8 or U8.

``__metadata__`` holds ``format = "pmeans-space"``, ``version``, the languages in row order and
what else `WordSpace` knows. The same space always gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from pmeans.choices import Precision
from pmeans.errors import FormatError
from pmeans.kernels import LONGEST_NGRAM, coded, first_not_finite, index
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.tensors import decoded, map_tensors, precision_of, write_tensors
from pmeans.types import Array, Floats, PhraseTable, WordTable

VERSIONS = (1, 2, 3, 4, 5)
"""The first, with phrases, with n-grams of single languages, with folded n-grams, with int4."""
LARGEST_DIM = 1 << 20
_ROWS = 65536
CHECKED = 1 << 26
"""Numbers of a matrix up to which all are looked at when it is opened: some 30 ms. In a larger one
a number that is not finite is an error when its word is met."""
_CASES = ("lower", "cased", "cased-then-lower")


def save_space(space: WordSpace, path: str | Path) -> None:
    """Write a space to one file, whole or not at all; never over the file that it is read from."""
    tensors: dict[str, Array] = {"matrix": space.matrix}
    if space.scale is not None:
        tensors["scale"] = space.scale
    for language, table in space.tables.items():
        tensors[f"words.{language}"] = table.words
        tensors[f"offsets.{language}"] = table.offsets
        tensors[f"slots.{language}"] = table.slots
        if table.phrases is not None:
            tensors[f"phrases.{language}"] = table.phrases.slots
            tensors[f"marks.{language}"] = table.phrases.marks
    phrases = any(table.phrases is not None for table in space.tables.values())
    own = space.subwords.own if space.subwords else {}
    folded = space.subwords is not None and space.subwords.folded
    matrices = [space.matrix, *([space.subwords.ngrams] if space.subwords else [])]
    int4 = any(precision_of(matrix) == "int4" for matrix in matrices)
    metadata = {
        "format": "pmeans-space",
        "version": str(5 if int4 else 4 if folded else 3 if own else 2 if phrases else 1),
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
    if own:
        metadata["own_ngrams"] = json.dumps(dict(own))
    if folded:
        metadata["folded_ngrams"] = "true"
    write_tensors(path, tensors, metadata, [space.path] if space.path else [])


def open_space(path: str | Path) -> WordSpace:
    """Map a stored space: its header and words are checked, and vectors of up to 256 MB."""
    tensors, metadata = map_tensors(path)
    if metadata.get("format") != "pmeans-space":
        raise FormatError(
            f"{path}: a safetensors file, but not a word space of pmeans. "
            "'pmeans spaces convert' makes one from a vector file."
        )
    if metadata.get("version") not in [str(version) for version in VERSIONS]:
        raise FormatError(
            f"{path}: format version {metadata.get('version')}, this pmeans reads "
            f"{VERSIONS[0]} to {VERSIONS[-1]}. "
            "Upgrade pmeans, or convert the vectors again."
        )
    try:
        return _space(tensors, metadata, str(path))
    except KeyError as error:
        raise FormatError(f"{path}: damaged word space: {error} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: damaged word space: {error}") from error


def problems(space: WordSpace) -> Iterator[str]:
    """Look at every byte of a space, and yield what is wrong, a sentence per table or matrix."""
    for lang, table in space.tables.items():
        wrong = _table_problem(table)
        if wrong:
            yield f"the words of {lang!r} are damaged: {wrong}"
    yield from _vector_problem(space.matrix, space.scale, "vectors")
    if space.subwords:
        yield from _vector_problem(space.subwords.ngrams, space.subwords.scale, "n-gram vectors")


def _vector_problem(matrix: Array, scale: Floats | None, what: str) -> Iterator[str]:
    bad = 0
    first = -1
    for low in range(0, len(matrix), _ROWS):
        finite = np.isfinite(decoded(matrix, scale, slice(low, low + _ROWS))).all(axis=1)
        if bad == 0 and not finite.all():
            first = low + int(np.argmin(finite))
        bad += int((~finite).sum())
    if bad:
        yield f"{bad:,} {what} have numbers that are not finite, first in row {first:,}"


def _table_problem(table: WordTable) -> str:
    if (np.diff(table.offsets) < 0).any():
        return "their offsets do not rise"
    try:
        for i in range(len(table)):
            bytes(table.words[table.offsets[i] : table.offsets[i + 1]]).decode("utf-8")
    except UnicodeDecodeError:
        return f"word {i:,} is not UTF-8"
    # The hash table follows from the words, so it is made once more and compared.
    phrases = table.phrases
    fresh = index.table_of(
        table.words, table.offsets, phrases=phrases is not None,
        spellings=not index.in_one_spelling(table),
    )  # fmt: skip
    if not np.array_equal(fresh.slots, table.slots):
        return "their hash table does not fit them"
    if phrases is not None and not (
        fresh.phrases is not None
        and np.array_equal(fresh.phrases.slots, phrases.slots)
        and np.array_equal(fresh.phrases.marks, phrases.marks)
    ):
        return "their table of phrases does not fit them"
    return ""


def _space(tensors: dict[str, Array], metadata: dict[str, str], path: str) -> WordSpace:
    matrix = tensors["matrix"]
    scale = tensors.get("scale")
    languages = json.loads(metadata["languages"])
    _require(isinstance(languages, list) and bool(languages), "it names no language")
    _check_vectors(matrix, scale, "the matrix")
    dim = coded.n_columns(matrix)
    _require(dim <= LARGEST_DIM, f"its vectors have {dim} columns")
    _require(metadata["case"] in _CASES, f"unknown case {metadata['case']!r}")
    tables: dict[str, WordTable] = {}
    start = 0
    for language in languages:
        _require(isinstance(language, str), "a language is not a string")
        table = WordTable(
            tensors[f"words.{language}"],
            tensors[f"offsets.{language}"],
            tensors[f"slots.{language}"],
            start,
            _phrases(tensors, language),
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
        fits = len(ngrams) > 0 and coded.n_columns(ngrams) == dim
        _require(fits, f"the n-gram vectors misfit: {ngrams.shape}")
        own = json.loads(metadata.get("own_ngrams", "{}"))
        counts = own.values() if isinstance(own, dict) else [0]
        _require(all(isinstance(n, int) and n > 0 for n in counts), "own n-grams misfit")
        _require(sum(counts) < len(ngrams), "own n-grams misfit")
        folded = metadata.get("folded_ngrams", "false")
        _require(folded in ("true", "false"), f"folded n-grams are {folded!r}")
        subwords = Subwords(ngrams, minn, maxn, ngram_scale, own, folded == "true")
    return WordSpace(
        metadata["name"], matrix, tables, metadata["case"], scale, subwords,  # type: ignore[arg-type]
        metadata.get("source", ""), metadata.get("licence", ""), path,
    )  # fmt: skip


def _phrases(tensors: dict[str, Array], language: str) -> PhraseTable | None:
    if f"phrases.{language}" not in tensors:
        return None
    phrases = PhraseTable(tensors[f"phrases.{language}"], tensors[f"marks.{language}"])
    _check_slots(phrases.slots)
    n = len(phrases.marks)
    fits = (
        phrases.marks.dtype == np.uint64 and phrases.marks.ndim == 1 and n > 1 and n & (n - 1) == 0
    )
    _require(fits, "the marks of phrases misfit")
    return phrases


def _check_slots(slots: Array) -> None:
    _require(slots.dtype == np.uint64 and slots.shape[1:] == (2,), "slots misfit")
    _require(len(slots) >= 8, "a table is too short")


def _check_vectors(matrix: Array, scale: Array | None, what: str) -> None:
    _require(matrix.ndim == 2, f"{what} has not two dimensions")
    _require(precision_of(matrix) in get_args(Precision), f"{what} has a strange type")
    coded = matrix.dtype.itemsize == 1
    _require((scale is None) != coded, f"{what}: int8 or int4 and a scale go together")
    if scale is not None:
        fits = scale.shape == (len(matrix),) and scale.dtype == np.float32
        _require(fits, f"{what}: scale misfits")
        # Times 127, it must be a number still.
        _require(bool((np.abs(scale) < 2.6e36).all()), f"{what}: a scale is not a finite number")
    elif matrix.size <= CHECKED:
        row = first_not_finite(matrix)
        _require(row is None, f"{what} has NaN or infinity in row {row}")


def _check_table(table: WordTable) -> None:
    _require(table.words.dtype == np.uint8 and table.words.ndim == 1, "words are not bytes")
    _require(table.offsets.dtype == np.int64 and table.offsets.ndim == 1, "offsets misfit")
    _check_slots(table.slots)
    _require(len(table.offsets) > 0, "a table is too short")
    _require(
        table.offsets[0] == 0 and table.offsets[-1] == len(table.words), "words and offsets misfit"
    )
    _require(not (np.diff(table.offsets) < 0).any(), "the offsets of its words do not rise")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
