"""An identifier of a few words, whose every gram speaks for the languages that have it."""

from collections.abc import Mapping, Sequence

import numpy as np

from pmeans import kernels
from pmeans.languages.identifier import Identifier

N_BUCKETS = 1 << 12


def make_identifier(words: Mapping[str, Sequence[str]], sharpness: float = 0.05) -> Identifier:
    """Return an identifier of these languages; only letters of the words are known."""
    letters = np.zeros(1024, dtype=np.uint64)
    for c in {ord(c) for each in words.values() for word in each for c in word}:
        letters[c >> 6] |= np.uint64(1 << (c & 63))
    weights = np.zeros((N_BUCKETS, kernels.TILE), dtype=np.uint8)
    for column, each in enumerate(words.values()):
        buckets, _ = kernels.grams(list(each), letters, N_BUCKETS)
        weights[buckets, column] = 100
    return Identifier(tuple(words), letters, weights, sharpness)
