"""Targets without files: tokeniser, look-up and line parser, over any text and damaged tables."""

from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from fuzz import seeds
from fuzz.damage import NUMBERS, damaged
from fuzz.seeds import VALUES, WORDS
from pmeans import kernels
from pmeans.kernels import Splitting, index, parsing, split
from pmeans.types import WordTable

# From which a text draws its characters: strings of one, two and four bytes a character, with
# what cutting and lower-casing trip over. Lone surrogates are characters to Python.
_ALPHABETS = (
    "abcXYZ'-.,_ 019\t\n\x1c\x85\xa0ß\xad\xb5",
    "aZ Σςσ’‐‑ıſẞ\u0301\u200d\u2028\u3000\ufeff\ud800\udfff\uffff'-.,0١ǅŉﬁⅧＡ＇．\u200b",
    "aZ Σİ😀𝔘\U000e0001\U0010ffff\U0001f3fd\ufe0f\udc80'’n'ts𝟗\u200d\U000e0067",
)
_CASES = ("lower", "cased", "cased-then-lower")


def tokens(rng: Random, folder: Path) -> None:
    """Cut and spell any text as plain Python does, and compose vectors of its words."""
    sentences = [_any_text(rng) for _ in range(rng.choice((1, 1, 2, 4)))]
    kind = rng.random()
    if kind < 0.01:
        sentences *= 300  # enough for more than one thread
    elif kind < 0.015:
        sentences[0] = sentences[0][:3] * 20_000
    way, lower = rng.choice(list(Splitting)), rng.random() < 0.5
    tables = [(index.word_table([]), "lower" if lower else "cased", 0)]
    (batch,) = kernels.lookup(sentences, tables, way)
    expected = [token for sentence in sentences for token in split(sentence, way)]
    if lower:
        expected = [token.lower() for token in expected]
    assert [batch.unknown_words[i] for i in batch.ids] == expected, sentences
    minn = rng.choice((0, 1, 3))
    short = [word for word in batch.unknown_words if len(word) < 1000]
    made, counts = kernels.compose(short, VALUES, minn, minn + rng.choice((0, 1, 3)))
    assert np.isfinite(made).all()
    assert (made[counts == 0] == 0).all()


def lines(rng: Random, folder: Path) -> None:
    """Parse the lines of a damaged text file as plain Python does."""
    data = damaged(rng, seeds.text(header=False))[:2000]
    dim = rng.choice((1, 2, 3, 3, 3, 4, 2**20))
    expected = parsing.parse_lines(np.frombuffer(data, np.uint8), dim, 1)
    for got, plain in zip(kernels.parse_lines(data, dim), expected, strict=True):
        np.testing.assert_array_equal(got, plain)


def tables(rng: Random, folder: Path) -> None:
    """Look words up in damaged tables: they may be missed, but no row is ever outside."""
    whole = _table()
    arrays = [np.array(a) for a in (whole.words, whole.offsets, whole.slots)]
    for _ in range(rng.choice((1, 2, 8))):
        flat = rng.choice(arrays).reshape(-1)
        if rng.random() < 0.5:
            flat = flat.view(np.uint8)
        size = flat.itemsize
        value = (rng.choice(NUMBERS) % 256**size).to_bytes(size, "little")
        flat[rng.randrange(len(flat))] = np.frombuffer(value, flat.dtype)[0]
    words, offsets, slots = arrays
    if rng.random() < 0.3:
        slots = slots[: rng.randint(8, len(slots))].copy()  # a sanitizer sees where it ends
    if rng.random() < 0.3:
        offsets = offsets[: rng.randint(1, len(offsets))].copy()
    hurt = WordTable(words[: rng.randint(0, len(words))].copy(), offsets, slots, 7)
    sentence = " ".join([*WORDS, "maus", _any_text(rng)])
    case = rng.choice(_CASES)
    (batch,) = kernels.lookup([sentence], [(hurt, case, -1)], Splitting.WHITESPACE)
    assert ((batch.ids >= 7) & (batch.ids < 7 + len(hurt))).all()
    assert len(batch.ids) + int(batch.unknown.sum()) == len(sentence.split())
    numbers = index.find(hurt, list(WORDS))
    assert ((numbers >= -1) & (numbers < len(hurt))).all()


@cache
def _table() -> WordTable:
    return index.word_table([*WORDS, "ein wort mit leerzeichen", *map(str, range(20)), "x" * 300])


def _any_text(rng: Random) -> str:
    alphabet = rng.choice(_ALPHABETS)
    length = rng.choice((0, 1, 7, 8, 9, 20, 20, 60))
    chosen = "".join(rng.choices(alphabet, k=length))
    if rng.random() < 0.1:
        chosen += chr(rng.randrange(0x110000))
    return chosen
