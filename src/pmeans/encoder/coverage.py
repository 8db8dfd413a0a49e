"""How much of a text the word spaces know, counted word by word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.languages.resolution import TextLanguages
from pmeans.types import Array, Ints, TokenBatch


@dataclass(frozen=True)
class Coverage:
    """Known words of some sentences, for every word space of an encoder.

    Attributes:
        spaces: Names of the word spaces.
        known: Words of each sentence that have a vector, (n_spaces, n_sentences).
        tokens: Words of each sentence, (n_sentences,).
        unknown_words: For each space, how often each word without a vector occurred.
        none: Which sentences are in none of the encoder's languages, (n_sentences,); none are
            where the language was given.
        doubtful: Which sentences have a doubtful language, (n_sentences,); the same.
    """

    spaces: tuple[str, ...]
    known: Ints
    tokens: Ints
    unknown_words: Mapping[str, Counter[str]]
    none: npt.NDArray[np.bool_]
    doubtful: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, spaces: Sequence[str], n: int = 0) -> Coverage:
        """Return the coverage of ``n`` sentences of which nothing has been counted yet."""
        known = np.zeros((len(spaces), n), dtype=np.int64)
        unknown = {name: Counter[str]() for name in spaces}
        none, doubtful = np.zeros((2, n), dtype=np.bool_)
        return cls(tuple(spaces), known, known.sum(axis=0), unknown, none, doubtful)

    @classmethod
    def joined(cls, parts: Sequence[Coverage]) -> Coverage:
        """Return the coverage of several texts, one after the other."""
        spaces = parts[0].spaces
        unknown = {
            name: sum((p.unknown_words[name] for p in parts), Counter[str]()) for name in spaces
        }
        known = np.concatenate([part.known for part in parts], axis=1)
        tokens, none, doubtful = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("tokens", "none", "doubtful")
        )
        return cls(spaces, known, tokens, unknown, none, doubtful)

    def at(self, sentences: slice) -> Coverage:
        """Return a view of some sentences; what is entered there is entered here."""
        known, tokens = self.known[:, sentences], self.tokens[sentences]
        doubts = self.none[sentences], self.doubtful[sentences]
        return Coverage(self.spaces, known, tokens, self.unknown_words, *doubts)

    def add(self, languages: TextLanguages) -> None:
        """Enter the doubts about the languages of all sentences."""
        self.none[:], self.doubtful[:] = languages.none, languages.doubtful

    def enter(
        self,
        space: str,
        which: Array,
        batch: TokenBatch,
        known: TokenBatch,
        composed: Array,
        n: int,
    ) -> None:
        """Enter what a space of ``n`` words knows of the sentences at some places, (n_sentences,).

        The batch has their words, unknown ones numbered from ``n`` on; ``kept`` lacks those that
        have no vector. ``made`` says which unknown words have one after all, (n_unknown_words,).
        """
        self.known[self.spaces.index(space), which] = known.known
        self.tokens[which] = batch.known
        counts = np.bincount(batch.ids[batch.ids >= n] - n, minlength=len(composed))
        missing = np.flatnonzero(~composed).tolist()
        words = {batch.unknown_words[i]: int(counts[i]) for i in missing}
        self.unknown_words[space].update(words)

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
