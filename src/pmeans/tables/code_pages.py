"""Which code page a text of single bytes is written in, by the letters that it would have.

Bytes beyond ASCII are decoded by each code page, and looked at as letters of each language that is
written in it. The likeliest pair of both is taken: the letters of every language are more or less
common, and a letter that it does not have is unlikely. Half of the letters of Polish, read in the
code page of western Europe, are signs such as ³ and ¹.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache

from pmeans.errors import LanguageError
from pmeans.languages.codes import language_code

WESTERN = "windows-1252"
"""The commonest code page. Browsers read latin-1 by it."""

PAGES = {
    WESTERN: "da de en es fi fr it nl no pt sv",
    "windows-1250": "cs hu pl ro",
    "iso-8859-2": "cs hu pl ro",
    "windows-1251": "ru",
    "koi8-r": "ru",
}
"""The languages that are written in a code page; the first of equals is taken."""

CYRILLIC = ("windows-1251", "koi8-r")

# Shares in thousandths, counted in running text; those of da, hu and ro are rough.
LETTERS = {
    "cs": "í193 á170 ě153 ž101 ř86 š84 č64 é50 ý48 ů32 ď6 ú4 ň3 ť3 ó1",
    "da": "å333 æ333 ø333",
    "de": "ü380 ä272 ö219 ß129 é1",
    "en": "é416 ã50 ä50 ó50 ö50 ü50 í50 á40 ç40 à30 ú30 ê20 ë20 ô20 š20 ž20 â10 è10 ø10 ý10",
    "es": "í237 á218 é211 ó208 ñ76 ú46 ü2",
    "fr": "é540 à148 è100 ê85 ç48 ô16 û15 î14 ù14 â11 œ7 ï2 ë1",
    "hu": "é320 á320 ó100 ö90 ő80 í40 ü30 ú10 ű10",
    "it": "è506 ò147 à142 ù74 é68 ì61 ã1",
    "nl": "ë517 é274 ï116 è20 ü18 ö10 ê8 ó8 í7 á7 ç3 ä2 à2 ñ1 â1 î1 ø1 ã1",
    "pl": "ł258 ę202 ż117 ś112 ą101 ć97 ó83 ń16 ź12",
    "pt": "ã270 ê169 é164 á160 ç77 ó54 í46 à19 ú18 õ10 ô7 â6",
    "ro": "ă200 â200 î200 ş200 ţ200",
    "ru": "о113 е85 т80 а76 н63 и56 с47 м44 л41 в38 р36 д32 к29 у29 п26 я25 ь24 ы22 б19 ч17 з16 г16"
    " ж11 й11 ш9 э7 х7 ю7 ё5 ц3 щ2 ф2",
    "sv": "ä483 å282 ö233 é2",
}

_BESIDE = re.compile(rb"[A-Za-z][\x80-\xff]|[\x80-\xff][A-Za-z]")
_SIGNS = "‚„…‘’“”•–—‹›«»€£§°·´©®™\xa0"
_RARE_SIGNS = "ªº¿¡½¼¾±²³µ×÷"
_OF_OTHERS = 0.2  # a text may mix the languages of a code page
_SIGN, _RARE_SIGN, _UNKNOWN = 0.01, 0.002, 1e-4
_SMOOTH = 10  # thousandths that each letter has more: news has others than fiction
_FIRST = 2.0  # nats that speak for the commonest code page before anything is read
_CAPITALS = 3.0  # nats that speak against a text that is mostly in capitals
_BESIDE_ASCII = 4.0  # nats that speak against each Cyrillic letter beside one of ASCII
_POOR = -5.0  # nats per letter: sentences of a language in its code page have -2 to -3.5
_FEW = 4


def written_language(lang: str) -> str | None:
    """Return the code of a language as people write it, or None if no code page is known for it."""
    with contextlib.suppress(LanguageError):
        return language_code(lang, " ".join(PAGES.values()).split())
    return None


def find_page(data: bytes, lang: str | None = None) -> str | None:
    """Return the code page that a text is most likely written in, or None if it fits none.

    Args:
        data: Some of the text.
        lang: Its language, if that is known: the code page is then one of that language's.
    """
    written = {page: names.split() for page, names in PAGES.items()}
    if any(lang in names for names in written.values()):
        written = {page: [str(lang)] for page, names in written.items() if lang in names}
    counts = Counter(byte for byte in data if byte > 127)
    beside = len(_BESIDE.findall(data))
    likely = {page: _likelihood(counts, page, langs) for page, langs in written.items()}
    likely |= {page: likely[page] - _BESIDE_ASCII * beside for page in likely if page in CYRILLIC}
    page = max(likely, key=lambda page: likely[page] + _FIRST * (page == WESTERN))
    return page if lang in written[page] or _fits(counts, page) else None


def _decoded(byte: int, page: str) -> str:
    return bytes([byte]).decode(page, "replace")


def _likelihood(counts: Mapping[int, int], page: str, languages: list[str]) -> float:
    """Return the logarithm of how likely bytes are in a code page, in the best of its languages."""
    characters = [(_decoded(byte, page), n) for byte, n in counts.items()]
    small = sum(n * (c.islower() - c.isupper()) for c, n in characters) >= 0
    return max(
        sum(n * math.log(_shares(page, lang).get(c.lower(), _UNKNOWN)) for c, n in characters)
        for lang in languages
    ) - (0 if small else _CAPITALS)


def _fits(counts: Mapping[int, int], page: str) -> bool:
    """Whether few letters are beyond ASCII, or they are not too unlikely."""
    letters = {
        byte: n
        for byte, n in counts.items()
        if (c := _decoded(byte, page)).isalpha() or not c.isprintable()
    }
    number = sum(letters.values())
    return number < _FEW or _likelihood(letters, page, PAGES[page].split()) >= _POOR * number


@cache
def _shares(page: str, lang: str) -> Mapping[str, float]:
    """Return how likely characters beyond ASCII are, in lower case."""
    of_page = [_letters(name) for name in PAGES[page].split() if name in LETTERS]
    shares = dict.fromkeys(_SIGNS, _SIGN) | dict.fromkeys(_RARE_SIGNS, _RARE_SIGN)
    for letters, weight in [
        *((each, _OF_OTHERS / len(of_page)) for each in of_page),
        (_letters(lang), 1 - _OF_OTHERS),
    ]:
        for letter, share in letters.items():
            shares[letter] = shares.get(letter, 0) + weight * share
    return shares


def _letters(lang: str) -> dict[str, float]:
    shares = {entry[0]: int(entry[1:]) + _SMOOTH for entry in LETTERS.get(lang, "").split()}
    return {letter: share / sum(shares.values()) for letter, share in shares.items()}
