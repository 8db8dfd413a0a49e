"""Spellings that keyboards without a language's letters give its words.

`folded` and `skeleton`, what n-grams are taken of, come from `pmeans.kernels.folding`.
"""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from pmeans.kernels import index
from pmeans.kernels.folding import Characters, folded, skeleton
from pmeans.types import WordTable

__all__ = ["alias_rows", "aliases", "folded", "skeleton"]

_TWO_LETTERS = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "ß": "ss"}
_UMLAUT = re.compile("|".join(_TWO_LETTERS))


def _bare(character: str) -> str:
    if character == "й":  # a letter of its own, not an accented one
        return character
    split = unicodedata.normalize("NFD", character)
    return "".join(c for c in split if not unicodedata.combining(c))


_BARE = Characters(_bare)


def aliases(word: str) -> set[str]:
    """Return other spellings of a word: without its accents, and with two letters for one."""
    if word.isascii():
        return set()
    bare = unicodedata.normalize("NFC", word.translate(_BARE))
    spelled_out = _UMLAUT.sub(lambda umlaut: _TWO_LETTERS[umlaut[0]], word)
    others = {bare, plain := folded(word), plain if spelled_out == word else folded(spelled_out)}
    others.discard(word)
    return others


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
