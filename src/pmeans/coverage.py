"""How much of a text the word spaces know, counted word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.spaces.space import WordSpace
from pmeans.types import Ints, TokenBatch


@dataclass(frozen=True)
class Coverage:
    """Known words of some sentences, for every word space of an encoder.

    Attributes:
        spaces: Names of the word spaces.
        known: Words of each sentence that have a vector, (n_spaces, n_sentences).
        tokens: Words of each sentence, (n_sentences,).
        unknown_words: For each space, how often each word without a row of its own occurred.
    """

    spaces: tuple[str, ...]
    known: Ints
    tokens: Ints
    unknown_words: Mapping[str, Counter[str]]

    @property
    def by_space(self) -> dict[str, float]:
        """Share of all words that each space knows; 0 if there are none."""
        total = max(int(self.tokens.sum()), 1)
        return dict(zip(self.spaces, (self.known.sum(axis=1) / total).tolist(), strict=True))

    @property
    def by_sentence(self) -> npt.NDArray[np.float64]:
        """Share of each sentence's words that each space knows, (n_spaces, n_sentences)."""
        return self.known / np.maximum(self.tokens, 1)

    @property
    def zero_rows(self) -> npt.NDArray[np.bool_]:
        """Which sentences have no known word at all, so that their row is zero, (n_sentences,)."""
        return self.known.sum(axis=0) == 0


def count_words(batch: TokenBatch, space: WordSpace) -> tuple[Ints, Counter[str]]:
    """Count a batch whose unknown words are numbered from ``len(space)`` on.

    Returns:
        Known words of each sentence, (n_sentences,), and the unknown words with their counts.
    """
    unknown = batch.ids >= len(space)
    counts = np.bincount(batch.ids[unknown] - len(space), minlength=len(batch.unknown_words))
    words = Counter(dict(zip(batch.unknown_words, counts.tolist(), strict=True)))
    if space.subwords:
        return space.compose(batch)[0].known, words
    sentence = np.repeat(np.arange(len(batch)), batch.known)
    return batch.known - np.bincount(sentence[unknown], minlength=len(batch)), words
