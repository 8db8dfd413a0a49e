"""Sentences of several languages as bags of word ids, each with the sentence that it translates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pmeans import kernels
from pmeans.kernels import index
from pmeans.languages.tokenizers import splitting
from pmeans.types import Array, Floats, Ids, Ints, TokenBatch, WordTable

FEWEST = 2
"""Occurrences of a word that gets a vector of its own, unless a dictionary has it."""


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
        usable = np.flatnonzero(heard[self.targets] & (np.diff(self.offsets) > 0))
        ids, owner = self.words_of(usable)
        borders = np.cumsum(np.bincount(owner, minlength=len(usable)))
        return Bags(ids, np.concatenate([[0], borders]), self.targets[usable])


@dataclass(frozen=True)
class Vocabulary:
    """The words of each language, and how often the text has them.

    Attributes:
        words: The most frequent first, phrases last; rows number them through, language by
            language.
        shares: Of the words of the same language, (n_words,).
    """

    words: dict[str, list[str]]
    shares: Array


@dataclass
class Side:
    """The sentences of one language.

    Attributes:
        texts: As they stand.
        targets: Which sentence of the pivot each translates, or is.
    """

    texts: list[str] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)

    def tokens(self, lang: str) -> TokenBatch:
        """Number the words of all sentences in the order of their appearance."""
        # In a table without words all are unknown, and numbered.
        return _look_up(self.texts, lang, index.word_table([]), 0)


class BagReader:
    """Takes sentences of the pivot with their translations, and makes bags of them.

    Attributes:
        sentences: The pivot's, each once, with its number.
        sides: The sentences of each language, the pivot's first.
    """

    def __init__(self, pivot: str) -> None:
        self.pivot = pivot
        self.sentences: dict[str, int] = {}
        self.sides: dict[str, Side] = defaultdict(Side, {pivot: Side()})

    def add(self, sentence: str, lang: str = "", translation: str = "") -> bool:
        """Add a sentence of the pivot, and a translation; return whether all of them have words."""
        if not sentence.strip() or (lang and not translation.strip()):
            return False
        target = self.sentences.setdefault(sentence, len(self.sentences))
        pairs = [(self.pivot, sentence)] if target == len(self.sides[self.pivot].texts) else []
        for code, text in [*pairs, (lang, translation)] if lang else pairs:
            self.sides[code].texts.append(text)
            self.sides[code].targets.append(target)
        return True

    def words(
        self, listed: Mapping[str, Collection[str]], bonus: int, most: int, fewest: int
    ) -> dict[str, list[str]]:
        """Return the words of each language, the most frequent first.

        Args:
            listed: Words of each language that are in a dictionary.
            bonus: They rank as if they occurred so many times more.
            most: Words of a language, at most.
            fewest: What a word must rank as at least.
        """
        vocabulary: dict[str, list[str]] = {}
        for lang, side in self.sides.items():
            tokens = side.tokens(lang)
            unlisted = dict.fromkeys(tokens.unknown_words)
            spelled = [*unlisted, *(w for w in listed.get(lang, ()) if w not in unlisted)]
            occurs = np.bincount(tokens.ids, minlength=len(spelled))
            in_list = np.fromiter((w in listed.get(lang, ()) for w in spelled), bool, len(spelled))
            # Ties: words of the text in the order of their appearance, then those of dictionaries.
            rank = occurs + bonus * in_list
            order = np.argsort(-rank, kind="stable")[:most]
            order = order[rank[order] >= fewest]
            vocabulary[lang] = [spelled[i] for i in order.tolist()]
        return vocabulary

    def bags(self, words: dict[str, list[str]]) -> tuple[Vocabulary, Bags]:
        """Return the sentences by their words, found as in any space, and the words' shares."""
        batches, shares = [], []
        start = 0
        for lang, listed in words.items():
            table = index.word_table(listed, start, phrases=True)
            batches.append(_look_up(self.sides[lang].texts, lang, table, -1))
            total = max(1, batches[-1].known.sum() + batches[-1].unknown.sum())
            shares.append(np.bincount(batches[-1].ids - start, minlength=len(listed)) / total)
            start += len(listed)
        lengths = np.concatenate([np.diff(batch.offsets) for batch in batches])
        targets = [target for lang in words for target in self.sides[lang].targets]
        return Vocabulary(words, np.concatenate(shares)), Bags(
            np.concatenate([batch.ids for batch in batches]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.array(targets, dtype=np.int64),
        )


def _look_up(texts: list[str], lang: str, table: WordTable, first_unknown: int) -> TokenBatch:
    (batch,) = kernels.lookup(texts, [(table, "lower", first_unknown)], splitting("words", lang))
    return batch


@dataclass(frozen=True)
class Types:
    """The distinct words of all languages, and all sentences by their numbers.

    Attributes:
        words: Of each language, those with a vector of their own, the most frequent first.
        shares: Of the words of the same language, for each word with a vector of its own, (n_own,).
        spelled: All words, language by language, (n_words).
        own: The number of a word among those with a vector of their own, or -1, (n_words,).
        ids: Words of all sentences, (n_tokens,) int32, language by language.
        offsets: Borders of sentences, (n_sentences + 1,).
        starts: The first sentence of each language.
    """

    words: dict[str, list[str]]
    shares: Floats
    spelled: list[str]
    own: Ints
    ids: Ids
    offsets: Ints
    starts: dict[str, int]

    @classmethod
    def read(
        cls,
        reader: BagReader,
        listed: Mapping[str, Collection[str]],
        bonus: int,
        most: int,
        phrases: Mapping[str, Sequence[str]] | None = None,
    ) -> Types:
        """Number the words of all texts, those with a vector of their own first in each language.

        Args:
            reader: The sentences.
            listed: Words of each language that are in a dictionary.
            bonus: They rank as if they occurred so many times more.
            most: Words of a language with a vector of their own, at most.
            phrases: Of each language; they have one, too, and text is searched for them.
        """
        words = reader.words(listed, bonus, most, FEWEST)
        spelled: list[str] = []
        shares, own, ids, lengths, starts = [], [], [], [], {}
        n_own = n_sentences = 0
        for lang, side in reader.sides.items():
            words[lang] += (phrases or {}).get(lang, ())
            n = len(words[lang])
            table = index.word_table(words[lang], phrases=True)
            tokens = _look_up(side.texts, lang, table, n)
            occurs = np.bincount(tokens.ids, minlength=n)
            shares.append(occurs[:n] / max(1, occurs.sum()))
            starts[lang] = n_sentences
            ids.append(tokens.ids + len(spelled))
            own.append(np.arange(n_own, n_own + n))
            own.append(np.full(len(tokens.unknown_words), -1))
            spelled += [*words[lang], *tokens.unknown_words]
            lengths.append(np.diff(tokens.offsets))
            n_own += n
            n_sentences += len(side.texts)
        return cls(
            words, np.concatenate(shares), spelled, np.concatenate(own),
            np.concatenate(ids).astype(np.int32),
            np.concatenate([[0], np.cumsum(np.concatenate(lengths))]), starts,
        )  # fmt: skip

    def pairs(self, reader: BagReader, heard: Array) -> tuple[Ints, Ints]:
        """Return the pairs of sentences, (n, 2), and the number of their language, (n,).

        A sentence of the pivot that no other translates is its own translation.
        """
        alone = np.ones(len(reader.sentences), dtype=np.bool_)
        pairs, langs = [], []
        for number, (lang, side) in enumerate(reader.sides.items()):
            if lang == reader.pivot:
                continue
            goals = np.array(side.targets, dtype=np.int64)
            alone[goals] = False
            both = np.stack([goals, self.starts[lang] + np.arange(len(goals))], axis=1)
            pairs.append(both[heard[goals]])
            langs.append(np.full(len(pairs[-1]), number))
        itself = np.flatnonzero(alone & heard[: len(alone)])
        pairs.append(np.stack([itself, itself], axis=1))
        langs.append(np.zeros(len(itself), dtype=np.int64))
        return np.concatenate(pairs), np.concatenate(langs)
