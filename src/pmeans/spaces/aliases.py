"""Spellings that keyboards without a language's letters give its words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmeans.kernels import index
from pmeans.kernels.folding import aliases, written_out
from pmeans.types import Array, Floats, WordTable


def alias_rows(table: WordTable) -> dict[str, int]:
    """Return the row of each alias of a table's words; a word of the table is never one.

    Where several words have an alias, it is the first one's.
    """
    text, offsets = bytes(table.words), table.offsets.tolist()
    letters = np.concatenate([[0], np.cumsum(table.words > 127)])[table.offsets]
    rows: dict[str, int] = {}
    for i in np.flatnonzero(np.diff(letters)).tolist():
        for alias in aliases(text[offsets[i] : offsets[i + 1]].decode("utf-8", "replace")):
            rows.setdefault(alias, table.start + i)
    spelled = list(rows)
    for i in np.flatnonzero(index.find(table, spelled) >= 0).tolist():
        del rows[spelled[i]]
    return rows


def merge_spellings(words: Sequence[str], shares: Array, vectors: Floats) -> None:
    """Give *счёт* and *счет*, *für* and *fuer* one vector, where a language has both.

    Args:
        words: Those of the language.
        shares: How common each is, (n_words,): by these both vectors are averaged.
        vectors: (n_words, dim), which is changed.
    """
    rows = {word: i for i, word in enumerate(words)}
    for word, i in rows.items():
        other = rows.get(written_out(word), i)
        if other != i:
            both = [i, other]
            weights = shares[both] if shares[both].any() else None
            vectors[both] = np.average(vectors[both], axis=0, weights=weights)
