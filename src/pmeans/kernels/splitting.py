"""How text is cut into tokens, in plain Python: the specification of the native tokeniser.

The constants and `plain_form` are also its source: its tables are made from this file when the
module is built.

``WHITESPACE`` is the paper's way: `str.split`, for text that is tokenised already.
The ``WORDS`` ways are for raw text. It is first written in `plain` characters: without invisible
format characters, such as soft hyphens, and with ligatures and full-width letters as the letters
that they are. Then:

- what separates digits is white space: ``.``, ``,`` or an apostrophe between two of them. So
  ``1,240``, ``1.240``, ``1'240`` and ``1 240`` are the same two tokens;
- a **word** is a run of letters, marks, digits and ``_``; an apostrophe or hyphen between two
  of them stays inside;
- every other character that is not white space is a token of its own, with the marks that follow
  it, and with what joins an emoji to the next one;
- typographic apostrophes and hyphens inside words become ``'`` and ``-``, and a letter with its
  mark after it becomes the one character that the two are (``e`` and U+0301 are ``é``): the
  spelling that word spaces have;
- ``WORDS_ENGLISH`` then splits clitics off as the Penn Treebank does (``do n't``, ``it 's``),
  ``WORDS_PORTUGUESE`` pronouns (``disse -me``, but ``guarda-chuva``),
  ``WORDS_ELISION`` cuts after an apostrophe (``l' homme``, but ``aujourd'hui``).

Nothing is lower-cased here: that is the word space's affair.
"""

from __future__ import annotations

import enum
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

UNSPLIT_ELISIONS = ("aujourd'hui",)
JOINERS = {"'": "'", "\u2019": "'", "-": "-", "\u2010": "-", "\u2011": "-"}
"""What may stand inside a word, and how it is spelled in a token."""
DIGIT_SEPARATORS = ".,'\u2019"
"""What is left out between two digits."""
_BETWEEN_DIGITS = re.compile(f"(?<=[0-9])[{DIGIT_SEPARATORS}](?=[0-9])")
_TAGS = ("<compat>", "<wide>", "<narrow>", "<font>")
_WORD_CATEGORIES = ("Lu", "Ll", "Lt", "Lo", "Nd")
_OWN_FORMS = ("\u0587", "\u2139")
"""Armenian's letter և and the emoji ℹ: Unicode calls them forms of others, and writers do not."""


class Splitting(enum.IntEnum):
    """The ways to split; the numbers are shared with the native core."""

    WHITESPACE = 0
    WORDS = 1
    WORDS_ENGLISH = 2
    WORDS_ELISION = 3
    WORDS_PORTUGUESE = 4


ENDINGS = {
    Splitting.WORDS_ENGLISH: ("n't", "'s", "'m", "'d", "'re", "'ve", "'ll"),
    Splitting.WORDS_PORTUGUESE: (
        "-me", "-te", "-se", "-lhe", "-lhes", "-nos", "-vos", "-o", "-a",
        "-os", "-as", "-lo", "-la", "-los", "-las", "-no", "-na", "-nas",
    ),
}  # fmt: skip
"""What is split off the end of a word."""


@lru_cache(maxsize=65536)
def kind(character: str) -> str:
    """Return ``"space"``, ``"word"``, ``"mark"`` or ``"other"``."""
    if character.isspace():
        return "space"
    category = unicodedata.category(character)
    if category[0] in "LN" or character == "_":
        return "word"
    return "mark" if category[0] == "M" or category == "Cf" else "other"


@lru_cache(maxsize=65536)
def plain_form(character: str) -> str:
    """Return what a character is written as in a word, which is nothing for an invisible one."""
    if unicodedata.category(character) == "Cf":
        return ""
    # Of ẛ, which is ſ with a mark, the letter says whether there is a plain form.
    letter = unicodedata.normalize("NFD", character)[0]
    tag = unicodedata.decomposition(letter).partition(" ")[0]
    if tag not in _TAGS or character in _OWN_FORMS:
        return character
    form = unicodedata.normalize("NFKC", character)
    if tag == "<wide>" and form.isascii():
        return form
    # Hangul's ㅋ would become a part of a syllable, U+110F, which nobody writes by itself.
    is_word = unicodedata.category(character)[0] in "LN" and all(
        unicodedata.category(c) in _WORD_CATEGORIES and not "\u1100" <= c <= "\u11ff" for c in form
    )
    return form if is_word else character


def plain_characters(text: str) -> Iterator[str]:
    """Iterate over what becomes of each character of a text."""
    after_symbol = False
    for c in text:
        form = plain_form(c)
        # EMOJI. What joins two of them, or names a flag, is invisible and a part of them.
        if not form and after_symbol and (c == "\u200d" or "\U000e0020" <= c <= "\U000e007f"):
            form = c
        if kind(c) != "mark":
            after_symbol = unicodedata.category(c)[0] == "S"
        yield form


def plain(text: str) -> str:
    """Return a text in plain characters."""
    return text if text.isascii() else "".join(plain_characters(text))


def digits_apart(text: str) -> str:
    """Return a plain text with a space in the place of each character that separates digits."""
    return _BETWEEN_DIGITS.sub(" ", text)


def split(text: str, splitting: Splitting) -> list[str]:
    """Return the tokens of one sentence."""
    if splitting == Splitting.WHITESPACE:
        return text.split()
    text = digits_apart(plain(text))
    tokens: list[str] = []
    i = 0
    while i < len(text):
        if kind(text[i]) == "space":
            i += 1
            continue
        end = i + 1
        if kind(text[i]) == "other":
            while end < len(text) and kind(text[end]) == "mark":
                end += 1
            tokens.append(text[i:end])
        else:
            while end < len(text) and (
                kind(text[end]) in ("word", "mark") or _joins(text[end : end + 2])
            ):
                end += 1
            spelled = composed("".join(JOINERS.get(c, c) for c in text[i:end]))
            tokens.extend(_clitics(spelled, splitting))
        i = end
    return tokens


def _joins(two: str) -> bool:
    """Whether the first of two characters holds the second one to the word before it."""
    return len(two) == 2 and two[0] in JOINERS and kind(two[1]) == "word"


def composed(word: str) -> str:
    """Compose letters and marks, each with the one right before it, as Unicode's NFC does."""
    if word.isascii():
        return word
    letters = [word[0]]
    for c in word[1:]:
        one = unicodedata.normalize("NFC", letters[-1] + c) if kind(c) == "mark" else ""
        pair = f"{ord(letters[-1]):04X} {ord(c):04X}"
        if len(one) == 1 and unicodedata.decomposition(one) == pair:
            letters[-1] = one
        else:
            letters.append(c)
    return "".join(letters)


def _clitics(word: str, splitting: Splitting) -> list[str]:
    folded = "".join(c.lower() if c.isascii() else c for c in word)
    for ending in ENDINGS.get(splitting, ()):
        if folded.endswith(ending) and len(word) > len(ending):
            return [word[: -len(ending)], word[-len(ending) :]]
    if splitting == Splitting.WORDS_ELISION and folded not in UNSPLIT_ELISIONS:
        pieces = word.split("'")
        return [piece + "'" for piece in pieces[:-1]] + pieces[-1:]
    return [word]
