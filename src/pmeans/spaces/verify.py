"""Look at every byte of a word space, which opening it does not.

`pmeans.spaces.store.open_space` maps gigabytes and reads a header, so a flipped bit or a number
that is not finite shows only where it is used. Here everything is read once, in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pmeans.kernels import index
from pmeans.spaces.space import WordSpace
from pmeans.tensors import decoded
from pmeans.types import Array, Floats, WordTable

_ROWS = 65536


def problems(space: WordSpace) -> Iterator[str]:
    """Yield what is wrong with a space, one sentence a table or matrix; nothing if it is sound."""
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
    if not np.array_equal(index.table_of(table.words, table.offsets).slots, table.slots):
        return "their hash table does not fit them"
    return ""
