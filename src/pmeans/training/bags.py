"""Sentences of several languages as bags of word ids, each with the sentence that it translates."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from pmeans.training.corpus import words
from pmeans.types import Array, Ids, Ints


@dataclass(frozen=True)
class Bags:
    """Sentences as ids, and what each is to mean.

    Attributes:
        ids: Rows of words, (n_tokens,) int32.
        offsets: Sentence borders, (n + 1,) int64.
        targets: Which sentence of the pivot each translates, or is, (n,) int64.
    """

    ids: Ids
    offsets: Ints
    targets: Ints

    def __len__(self) -> int:
        return len(self.targets)

    def words_of(self, sentences: Ints) -> tuple[Ids, Ints]:
        """Return the words of some sentences, and the place of each one's sentence among these.

        Both are (n_tokens,), one sentence after the other.
        """
        begins = self.offsets[sentences]
        lengths = self.offsets[sentences + 1] - begins
        owner = np.repeat(np.arange(len(sentences)), lengths)
        shift = begins - (np.cumsum(lengths) - lengths)
        return self.ids[np.arange(len(owner)) + shift[owner]], owner

    def of(self, heard: Array) -> Bags:
        """Return the sentences with words whose target there is; heard is (n_targets,) bool."""
        kept = np.flatnonzero(heard[self.targets] & (np.diff(self.offsets) > 0))
        ids, owner = self.words_of(kept)
        borders = np.cumsum(np.bincount(owner, minlength=len(kept)))
        return Bags(ids, np.concatenate([[0], borders]), self.targets[kept])


@dataclass(frozen=True)
class Vocabulary:
    """The words of each language, and how often the text has them.

    Attributes:
        words: The most frequent first; rows number them through, language by language.
        shares: Of the words of the same language, (n_words,).
    """

    words: dict[str, list[str]]
    shares: Array


class _Side:
    """The sentences of one language."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.ids, self.lengths, self.targets = array("i"), array("q"), array("q")

    def add(self, sentence: list[str], target: int) -> None:
        self.ids.extend(self.seen.setdefault(word, len(self.seen)) for word in sentence)
        self.lengths.append(len(sentence))
        self.targets.append(target)


class BagReader:
    """Takes sentences of the pivot with their translations, and makes bags of them.

    Attributes:
        sentences: The pivot's, each once, with its number.
    """

    def __init__(self, pivot: str) -> None:
        self.pivot = pivot
        self.sentences: dict[str, int] = {}
        self._sides: dict[str, _Side] = defaultdict(_Side, {pivot: _Side()})

    def add(self, sentence: str, lang: str = "", translation: str = "") -> bool:
        """Add a sentence of the pivot, and a translation; return whether all of them have words."""
        first = words(sentence, self.pivot)
        second = words(translation, lang) if lang else first
        if not first or not second:
            return False
        target = self.sentences.setdefault(sentence, len(self.sentences))
        if target == len(self._sides[self.pivot].targets):
            self._sides[self.pivot].add(first, target)
        if lang:
            self._sides[lang].add(second, target)
        return True

    def bags(
        self, listed: Mapping[str, Collection[str]], bonus: int, most: int
    ) -> tuple[Vocabulary, Bags]:
        """Return the vocabulary, and the sentences by their words in it.

        Args:
            listed: Words of each language that are in a dictionary.
            bonus: They rank as if they occurred so many times more.
            most: Words of a language, at most.
        """
        kept: dict[str, list[str]] = {}
        shares, ids, lengths = [], [], []
        start = 0
        for lang, side in self._sides.items():
            here = np.frombuffer(side.ids, dtype=np.int32)
            spelled = [*side.seen, *(w for w in listed.get(lang, ()) if w not in side.seen)]
            occurs = np.bincount(here, minlength=len(spelled))
            in_list = np.fromiter((w in listed.get(lang, ()) for w in spelled), bool, len(spelled))
            # Ties: words of the text in the order of their appearance, then those of dictionaries.
            order = np.argsort(-(occurs + bonus * in_list), kind="stable")[:most]
            new = np.full(len(spelled), -1, dtype=np.int32)
            new[order] = np.arange(start, start + len(order), dtype=np.int32)
            found = new[here]
            owner = np.repeat(np.arange(len(side.lengths)), side.lengths)[found >= 0]
            kept[lang] = [spelled[i] for i in order.tolist()]
            shares.append(occurs[order] / max(1, len(here)))
            ids.append(found[found >= 0])
            lengths.append(np.bincount(owner, minlength=len(side.lengths)))
            start += len(order)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        targets = np.concatenate([np.frombuffer(s.targets, np.int64) for s in self._sides.values()])
        vocabulary = Vocabulary(kept, np.concatenate(shares))
        return vocabulary, Bags(np.concatenate(ids), offsets, targets)
