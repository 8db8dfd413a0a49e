"""Spellings that keyboards without a language's letters give its words."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from pmeans.kernels import index
from pmeans.kernels.folding import Characters, folded
from pmeans.types import WordTable

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
    # Most Russian words have no accents. To see that takes a tenth of the time of dropping them.
    plain = word.isalpha() and unicodedata.is_normalized("NFD", word)
    bare = word if plain else word.translate(_BARE)
    others = {unicodedata.normalize("NFC", bare), folded(word)}
    if _UMLAUT.search(word):
        others.add(folded(_UMLAUT.sub(lambda umlaut: _TWO_LETTERS[umlaut[0]], word)))
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
