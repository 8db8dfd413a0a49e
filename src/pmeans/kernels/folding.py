"""Words as they sound and look without regard to a language's spelling: what n-grams are taken of.

`folded` has no capitals, no accents and no Cyrillic letters: *Łódź* and *lodz*, *счёт* and *schet*
are the same. `skeleton` goes further, for names: the consonants, those that languages write for the
same sound by one capital each, no letter twice in a row, and ``A`` for vowels at the beginning.
*Tschaikowski*, *Tchaikovsky* and *Чайковский* are ``SKVSK``. `aliases` are what keyboards without a
language's letters make of a word.

This is the specification of ``native/folding.hpp``, whose tables are made from this file when the
module is built; `tests/property/test_folding_cores.py` holds the two equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import groupby

SHORTEST_SKELETON = 3
"""Consonants; what has fewer of them is no name that could be told by them."""
SKELETON_MINN = 4
"""Length of the shortest n-gram of a skeleton, its ends included."""

_CYRILLIC = dict(zip("абвгдезийклмнопрстуфыэё", "abvgdeziiklmnoprstufyee", strict=True))
_CYRILLIC |= {"ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch"}
_CYRILLIC |= {"ю": "yu", "я": "ya", "ъ": "", "ь": ""}
_LATIN = {"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th"}
_LETTERS = _CYRILLIC | _LATIN | {"ı": "i"}
_SOUNDING = {"č": "ch", "ć": "ch", "š": "sh", "ś": "sh", "ž": "zh", "ź": "z", "ż": "zh", "ç": "s"}
_SOUNDING |= {"ч": "tch", "щ": "sh", "й": "", "ё": "e"}
_SOFT_C = re.compile("c(?=[eiy])")
_SPELLINGS = {
    "S": "tsch tch shch sch sh ch cz sz rz zh dzh ts tz dz s z ç",  # ç: see _SOFT_C
    "K": "ck kh k q c",
    "KS": "x",
    "F": "ph f",
    "T": "th t",
    "V": "v w",
} | {letter.upper(): letter for letter in "bdglmnpr"}
SOUNDS = {
    letters: sound for sound, spellings in _SPELLINGS.items() for letters in spellings.split()
}
"""How sounds are spelled. Where several spellings fit, the first one counts."""
_SOUND = re.compile("|".join(SOUNDS))


class Characters(dict[int, str]):
    """What becomes of each character, for `str.translate`: computed once, when it is met."""

    def __init__(self, spell: Callable[[str], str]) -> None:
        self._spell = spell

    def __missing__(self, code: int) -> str:
        spelled = self[code] = self._spell(chr(code))
        return spelled


def _plain(character: str) -> str:
    if character in _LETTERS:
        return _LETTERS[character]
    split = unicodedata.normalize("NFKD", character)
    return "".join(_LETTERS.get(c, c) for c in split if not unicodedata.combining(c))


_PLAIN = Characters(_plain)
_SPOKEN = Characters(lambda character: _SOUNDING.get(character, _PLAIN[ord(character)]))


def folded(word: str) -> str:
    """Return a word in lower case without accents, Cyrillic in Latin letters."""
    word = word.lower()
    return word if word.isascii() else word.translate(_PLAIN)


def spoken(word: str) -> str:
    """Return a word as `folded` does, but letters that have a sound of their own by that sound."""
    word = word.lower()
    return word if word.isascii() else word.translate(_SPOKEN)


_WRITTEN_OUT = {"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "ß": "ss", "ё": "е"}
_OUT = re.compile("|".join(_WRITTEN_OUT))


def written_out(word: str) -> str:
    """Return a word without the letters that its language may write otherwise: *fuer*, *счет*."""
    return word if word.isascii() else _OUT.sub(lambda found: _WRITTEN_OUT[found[0]], word)


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
    others = {unicodedata.normalize("NFC", bare), folded(word), folded(written_out(word))}
    others.discard(word)
    return others


def skeleton(word: str) -> str:
    """Return a word's consonants by their sounds, or nothing if they are too few."""
    if not word.isalpha():
        return ""
    plain = spoken(word)
    first = ["A"] if plain[:1] in "aeiouyhj" else []
    letters = _SOUND.findall(_SOFT_C.sub("ç", plain))
    sounds = first + [sound for sound, _ in groupby(map(SOUNDS.__getitem__, letters))]
    return "".join(sounds) if len(sounds) >= SHORTEST_SKELETON else ""
