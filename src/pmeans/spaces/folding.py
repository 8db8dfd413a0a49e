"""Words as they sound and look without regard to a language's spelling: what n-grams are taken of.

`folded` has no capitals, no accents and no Cyrillic letters: *Łódź* and *lodz*, *счёт* and *schet*
are the same. `skeleton` goes further, for names: the consonants, those that languages write for the
same sound by one capital each, no letter twice in a row, and ``A`` for vowels at the beginning.
*Tschaikowski*, *Tchaikovsky* and *Чайковский* are ``SKVSK``. `aliases` has the spellings that
keyboards without a language's letters give its words.
"""

from __future__ import annotations

import re
import unicodedata

SHORTEST_SKELETON = 3
"""Consonants; what has fewer of them is no name that could be told by them."""

_CYRILLIC = dict(zip("абвгдезийклмнопрстуфыэё", "abvgdeziiklmnoprstufyee", strict=True))
_CYRILLIC |= {"ж": "zh", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch"}
_CYRILLIC |= {"ю": "yu", "я": "ya", "ъ": "", "ь": ""}
_LATIN = {"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ð": "d", "þ": "th"}
_LETTERS = str.maketrans(_CYRILLIC | _LATIN | {"ı": "i"})
_SOUNDING = str.maketrans(
    {"č": "ch", "ć": "ch", "š": "sh", "ś": "sh", "ž": "zh", "ź": "z", "ż": "zh", "ç": "s"}
    | {"ч": "tch", "щ": "sh", "й": "", "ё": "e"}
)
_SOUNDS = (
    ("tsch|tch|shch|sch|sh|ch|cz|sz|rz|zh|dzh|ts|tz|dz|s|z|c(?=[eiy])", "S"),
    ("ck|kh|k|q|c", "K"),
    ("x", "KS"),
    ("ph|f", "F"),
    ("th|t", "T"),
    ("v|w", "V"),
    ("[bdglmnpr]", ""),
)
_SOUND = re.compile("|".join(f"({pattern})" for pattern, _ in _SOUNDS))
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "ß": "ss"})


def folded(word: str) -> str:
    """Return a word in lower case without accents, Cyrillic in Latin letters."""
    word = word.lower()
    if word.isascii():
        return word
    word = word.translate(_LETTERS)
    if word.isascii():
        return word
    split = unicodedata.normalize("NFKD", word)
    return "".join(c for c in split if not unicodedata.combining(c)).translate(_LETTERS)


def skeleton(word: str) -> str:
    """Return a word's consonants by their sounds, or nothing if they are too few."""
    if not word.isalpha():
        return ""
    plain = folded(word if word.isascii() else word.lower().translate(_SOUNDING))
    sounds = ["A"] if plain[:1] in "aeiouyhj" else []
    for match in _SOUND.finditer(plain):
        sound = _SOUNDS[(match.lastindex or 1) - 1][1] or match[0].upper()
        if not sounds or sounds[-1] != sound:
            sounds.append(sound)
    return "".join(sounds) if len(sounds) >= SHORTEST_SKELETON else ""


def aliases(word: str) -> set[str]:
    """Return other spellings of a word: without its accents, and with two letters for one."""
    if word.isascii():
        return set()
    return {folded(word.translate(_UMLAUTS)), _without_accents(word), folded(word)} - {word}


def _without_accents(word: str) -> str:
    split = unicodedata.normalize("NFD", word.replace("й", "\0"))
    plain = "".join(c for c in split if not unicodedata.combining(c)).replace("\0", "й")
    return unicodedata.normalize("NFC", plain)
