"""Which language a text is in, by the letters of its words: the specification in plain Python.

A text is read in `splitting.plain` characters, as words of letters, in lower case. Every other
character ends a word, but for marks, which are passed over. An apostrophe belongs to the word
before it and ends it (``l' homme``). A letter that is rare in all languages of a model becomes
`FOREIGN`, so that all other scripts look the same. With a space at both ends, a word has **grams**:
its pieces of 1 to `LONGEST` characters, and itself where it is longer. A hash leads from a gram to
its bucket.

Each bucket has a whole number per language, and a language's score is the sum of them over all
grams. So the likeliest language does not depend on the machine. Its probability is a softmax of the
scores times ``sharpness``, over the root of the number of grams, because grams of one word are not
independent of each other.

``native/letters.hpp`` does the same, and `tests/property/test_letters.py` holds the two equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.kernels.splitting import kind, plain
from pmeans.types import Array

LONGEST = 5
"""Characters of a gram that is a piece of a word, the spaces at its ends included."""

LONGEST_WORD = 62
"""Letters of a word; what follows is another one. There are scripts without spaces."""

ENOUGH = 4096
"""Characters of a text that are read."""

FOREIGN = 1
"""In place of a letter that the languages of the model do not have."""

TILE = 32
"""Columns come in multiples of this, so that a processor adds up whole registers."""

_SPACE = ord(" ")
_MASK = 0xFFFF_FFFF


@dataclass(frozen=True)
class GramWeights:
    """What grams say about languages.

    Attributes:
        letters: A bit for each of the first 65,536 characters: whether it is a letter that the
            languages have, (1024,) uint64.
        weights: How much the grams of a bucket speak for each language, (n_buckets, n_columns)
            uint8; columns are a multiple of `TILE`, the last of which may be nobody's.
        wanted: Whether a language is one to choose among, (n_languages,) bool; one is at least.
        sharpness: Of probabilities.
    """

    letters: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.uint8]
    wanted: npt.NDArray[np.bool_]
    sharpness: float

    def __post_init__(self) -> None:
        n_columns = self.weights.shape[-1]
        arrays = (self.letters, np.uint64), (self.weights, np.uint8), (self.wanted, np.bool_)
        fits = all(array.dtype == dtype and array.flags.c_contiguous for array, dtype in arrays)
        fits &= (self.letters.shape, self.weights.ndim) == ((1024,), 2) and n_columns % TILE == 0
        if not fits or not self.weights.size or not self.sharpness > 0:
            raise ValueError("letters, weights or sharpness are not as they must be")
        if not self.wanted.any() or len(self.wanted) > n_columns:
            raise ValueError(f"{self.wanted.sum()} of {len(self.wanted)} languages are wanted")


def words(text: str, letters: Array) -> list[list[int]]:
    """Return the words of a text as characters, with a space at both ends."""
    parts: list[list[int]] = [[]]
    for character in plain(text[:ENOUGH]):
        if kind(character) == "mark":
            continue
        word = parts[-1]
        if character.isalpha():
            code = ord(character.lower()[0])
            known = code < 65536 and int(letters[code >> 6]) >> (code & 63) & 1
            word.append(code if known else FOREIGN)
        elif character in "'\u2019" and word:
            word.append(ord("'"))
        if word and (not character.isalpha() or len(word) == LONGEST_WORD):
            parts.append([])
    return [[_SPACE, *word, _SPACE] for word in parts if word]


def grams(text: str, letters: Array, n_buckets: int) -> list[int]:
    """Return the buckets of a text's grams, one after the other."""
    buckets = []
    for word in words(text, letters):
        for start in range(len(word)):
            hashed, end = 0, start
            while end < len(word) and (end - start < LONGEST or start == 0):
                hashed = (hashed ^ word[end]) * 0x85EB_CA6B & _MASK
                hashed ^= hashed >> 15
                end += 1
                whole = start == 0 and end == len(word)
                if (end - start <= LONGEST or whole) and word[start:end] != [_SPACE]:
                    buckets.append((hashed * 0x9E37_79B1 & _MASK) * n_buckets >> 32)
    return buckets


def identify(text: str, model: GramWeights) -> tuple[int, float]:
    """Return the likeliest wanted language of a text, and a probability.

    The first number is its column k, or ``-1 - k`` where another language is likelier still, or the
    text has no letters. The probability is that of the language, or that it is none of the wanted.
    """
    buckets = grams(text, model.letters, len(model.weights))
    scores = model.weights[buckets].sum(axis=0, dtype=np.int64).tolist()
    wanted = model.wanted.tolist()
    best = max(range(len(wanted)), key=scores.__getitem__)
    likeliest = max((k for k, own in enumerate(wanted) if own), key=scores.__getitem__)
    if not buckets:
        return -1 - likeliest, 1.0
    sharpness = model.sharpness / math.sqrt(len(buckets))
    likely = [math.exp((scores[k] - scores[best]) * sharpness) for k in range(len(wanted))]
    # As float32, because the last bits of an exponential are the machine's.
    if scores[best] > scores[likeliest]:
        others = sum(p for p, own in zip(likely, wanted, strict=True) if not own)
        return -1 - likeliest, float(np.float32(others / sum(likely)))
    return likeliest, float(np.float32(1 / sum(likely)))
