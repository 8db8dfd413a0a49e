"""Word vectors by skip-gram: from words to ids, the epochs, and the state in between.

The engine is `pmeans.kernels.train_skipgram`; here is what surrounds it. A corpus is one array of
ids in memory, its sentences in random order, since files come sorted by source and the learning
rate falls on the way. What is drawn at random depends on the seed, the epoch and the sentence
alone, so a training may stop after any block of sentences and go on from there.

With buckets, what is trained are rows of words and of hash buckets of character n-grams, and a word
is the mean of its own row and those of its n-grams (Bojanowski et al. 2017). Words are keyed by
language, n-grams are not. The space keeps the finished mean for each known word, and the buckets
for the others: an unknown word of any language is the mean of its n-grams' rows, hashed as
`pmeans.kernels.compose` hashes them.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from pmeans import kernels
from pmeans.config import Count, Range, Seed, check
from pmeans.errors import InputError
from pmeans.identity import identity
from pmeans.kernels.skipgram import BLOCK, SkipGramJob
from pmeans.spaces.readers.fasttext_binary import compose_known, ngram_buckets
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.training.corpus import TextFile
from pmeans.training.trainer import Checkpoint, Trainer
from pmeans.types import Array, Floats, Ids, Ints, Progress

LONGEST = 256
"""Longer sentences are cut: a word is composed of its subwords once a sentence."""

_LAST_RATE = 1e-4
_BLOCK_TOKENS = 250_000
_CHECKPOINT_TOKENS = 40_000_000


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train; the trainers inherit these fields, and some have defaults of their own.

    Attributes:
        dim: Length of a vector.
        window: The furthest distance of two words that meet.
        negatives: Random words a centre word.
        epochs: Passes over the corpus.
        min_count: Rarer words have no row, and are left out.
        buckets: Rows that the n-grams of all languages share; with 0 a word has its own row only,
            and unknown words have no vector.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        subsample: Words of a larger share than this are used less often, as word2vec has it.
        rate: First learning rate.
        seed: Of everything that is drawn.
        threads: With one, the same seed gives the same bytes. More are faster, and do not: they
            share the vectors without locks (Hogwild).
    """

    dim: Count = 300
    window: Count = 10
    negatives: Count = 10
    epochs: Count = 5
    min_count: int = 3
    buckets: Annotated[int, Range(0)] = 0
    minn: int = 3
    maxn: int = 6
    subsample: Annotated[float, Range(above=0, high=1)] = 1e-3
    rate: Annotated[float, Range(above=0, high=1)] = 0.025
    seed: Seed = 1
    threads: Count = 1

    def __post_init__(self) -> None:
        check(self)
        if not 1 <= self.minn <= self.maxn <= kernels.LONGEST_NGRAM:
            raise InputError(
                f"n-grams cannot have minn = {self.minn} to maxn = {self.maxn} characters."
            )


class Corpus(NamedTuple):
    """Sentences as ids, which number the words of all languages through."""

    words: dict[str, list[str]]  # of each language, the most frequent first
    counts: Ints  # how often each word occurs, (n_words,)
    ids: Ids  # (n_tokens,)
    offsets: Ints  # sentence borders, (n_sentences + 1,)


def check_language(lang: str) -> None:
    """Refuse what is not a language code."""
    if not re.fullmatch("[a-z]{2,3}", lang):
        raise InputError(f"{lang!r} is not a language code (ISO 639), such as 'en' or 'de'.")


class Collector:
    """Takes sentences of words that are keyed by language, and makes a `Corpus` of them."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, int]] = defaultdict(dict)
        self._n_words = 0
        self._ids = array("i")
        self._lengths = array("q")

    def add(self, parts: Iterable[tuple[str, Sequence[str]]]) -> None:
        """Add one sentence, given as language and words of each of its parts."""
        before = len(self._ids)
        for lang, words in parts:
            seen = self._seen[lang]
            for word in words:
                if word not in seen:
                    seen[word] = self._n_words
                    self._n_words += 1
                self._ids.append(seen[word])
        self._lengths.append(len(self._ids) - before)

    def corpus(self, min_count: int, seed: int) -> Corpus:
        """Return the corpus without words that occur less than ``min_count`` times."""
        ids = np.frombuffer(self._ids, dtype=np.int32) if self._ids else np.empty(0, np.int32)
        counts = np.bincount(ids, minlength=self._n_words)
        words: dict[str, list[str]] = {}
        order: list[int] = []
        for lang, seen in self._seen.items():
            frequent = [(word, i) for word, i in seen.items() if counts[i] >= min_count]
            frequent.sort(key=lambda entry: (-counts[entry[1]], entry[0]))
            words[lang] = [word for word, _ in frequent]
            order += [i for _, i in frequent]
        if len(order) < 2 or not all(words.values()):
            lacking = [lang for lang, some in words.items() if not some] or ["all languages"]
            raise InputError(
                f"too little text: fewer than 2 words of {', '.join(lacking)} occur "
                f"{min_count} times, in {len(ids):,} words of text. Give more text, or a smaller "
                "min_count."
            )
        new_id = np.full(self._n_words, -1, dtype=np.int32)
        new_id[order] = np.arange(len(order), dtype=np.int32)
        numbers = new_id[ids]
        sentence = np.repeat(np.arange(len(self._lengths)), self._lengths)[numbers >= 0]
        numbers = numbers[numbers >= 0]
        lengths = np.bincount(sentence, minlength=len(self._lengths))
        return Corpus(words, counts[order], *_shuffled(numbers, lengths, seed))


@dataclass(frozen=True)
class SkipGram(Settings, Trainer):
    """What trainers by skip-gram have in common.

    Attributes:
        licence: The terms of the material, if they should be kept with the space.
    """

    shuffle: ClassVar[bool]
    name: str
    licence: str = field(default="", kw_only=True)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint."""
        collector = Collector()
        source, material = self._collect(collector, progress)
        corpus = collector.corpus(self.min_count, self.seed)
        vectors, subwords = train(
            corpus, self, shuffle=self.shuffle, progress=progress, checkpoint=checkpoint
        )
        licence = self.licence or f"terms of its material: {material}"
        return WordSpace.from_words(
            self.name, corpus.words, vectors, subwords=subwords, source=source, licence=licence
        )

    @abstractmethod
    def _collect(self, collector: Collector, progress: Progress) -> tuple[str, str]:
        """Read all sentences; return what the space is made by, and the names of its material.

        Settings without material are refused before any is read.
        """


@dataclass(frozen=True)
class FastText(SkipGram):
    """Train a space of one language on running text, with subwords (Bojanowski et al. 2017).

    Attributes:
        lang: Language of the text.
        texts: The files.
        limit: At most this many lines of each file, the first ones.
    """

    shuffle = False
    lang: str
    texts: tuple[TextFile, ...]
    limit: int | None = None
    _: KW_ONLY
    window: int = 5
    min_count: int = 5
    buckets: Count = 200_000
    subsample: float = 1e-4

    def _collect(self, collector: Collector, progress: Progress) -> tuple[str, str]:
        check_language(self.lang)
        if not self.texts:
            raise InputError("texts names no file; add a [[texts]] with a path.")
        for file in self.texts:
            progress(0.0, f"reading {Path(file.path).name}")
            for sentence in file.sentences(self.lang, LONGEST, self.limit):
                collector.add([(self.lang, sentence)])
        files = ", ".join(Path(file.path).name for file in self.texts)
        return f"fastText on {files}", files


def _shuffled(ids: Ids, lengths: Ints, seed: int) -> tuple[Ids, Ints]:
    """Put sentences in random order, and cut those that are too long."""
    rank = np.empty(len(lengths), dtype=np.int64)
    rank[np.random.default_rng(seed).permutation(len(lengths))] = np.arange(len(lengths))
    order = np.argsort(np.repeat(rank, lengths), kind="stable")
    position = (np.arange(len(ids)) - np.repeat(np.cumsum(lengths) - lengths, lengths))[order]
    cuts = np.flatnonzero(position % LONGEST == 0)
    return ids[order], np.append(cuts, len(ids)).astype(np.int64)


def train(
    corpus: Corpus, how: Settings, *, shuffle: bool, progress: Progress, checkpoint: Path | None
) -> tuple[Floats, Subwords | None]:
    """Train vectors, from the beginning or from a checkpoint.

    The state is kept at the end of every epoch, or more often in long ones. If `shuffle`, the words
    of a sentence are put in another order in each epoch.

    Returns:
        The words' vectors, (n_words, dim), and what unknown words are composed from, if the
        settings have buckets.
    """
    listed = [
        word.encode("utf-8", "surrogatepass") for words in corpus.words.values() for word in words
    ]
    pieces, borders = _pieces(listed, how) if how.buckets else (None, None)
    coin, alias = alias_table(corpus.counts**0.75)
    job = SkipGramJob(
        ids=corpus.ids, offsets=corpus.offsets, keep=_kept(corpus.counts, how.subsample),
        coin=coin, alias=alias, window=how.window, negatives=how.negatives, epochs=how.epochs,
        rate=how.rate, last_rate=min(_LAST_RATE, how.rate), seed=how.seed, shuffle=shuffle,
        pieces=pieces, borders=borders,
    )  # fmt: skip
    # A trainer is more than its settings: what it is called, and where its files lie.
    values = [getattr(how, each.name) for each in fields(Settings)]
    seen = corpus.words, identity(corpus.ids, corpus.offsets)
    rows = _run(job, how, progress, Checkpoint(checkpoint, (values, shuffle, seen)))
    if not how.buckets:
        return rows, None
    vectors, ngrams = rows[: len(listed)].copy(), rows[len(listed) :].copy()
    compose_known(listed, vectors, ngrams, how.minn, how.maxn)
    return vectors, Subwords(ngrams, how.minn, how.maxn)


def _pieces(listed: list[bytes], how: Settings) -> tuple[Ids, Ints]:
    """Return the rows of every word: its own, and after all words those of its n-grams."""
    buckets, ends = ngram_buckets(listed, how.buckets, how.minn, how.maxn)
    pieces = np.insert(buckets + len(listed), ends[:-1], np.arange(len(listed)))
    return pieces.astype(np.int32), ends + np.arange(len(listed) + 1)


def _run(job: SkipGramJob, how: Settings, progress: Progress, state: Checkpoint) -> Floats:
    """Return the rows of words and, after them, of buckets, (n_words + buckets, dim)."""
    arrays, at = state.load() or (_first(len(job.keep), how), {"epoch": 0, "sentence": 0})
    epoch, sentence = at["epoch"], at["sentence"]
    inputs, offsets = arrays["inputs"], job.offsets
    saved = int(offsets[sentence])
    while epoch < how.epochs:
        end = int(np.searchsorted(offsets, offsets[sentence] + _BLOCK_TOKENS))
        end = min(len(offsets) - 1, end)
        kernels.train_skipgram(job, inputs, arrays["outputs"], epoch, sentence, end, how.threads)
        sentence, done = end, int(offsets[end])
        progress((epoch + done / len(job.ids)) / how.epochs, f"epoch {epoch + 1}")
        if end == len(offsets) - 1:
            epoch, sentence, done = epoch + 1, 0, 0
        if sentence == 0 or done - saved >= _CHECKPOINT_TOKENS:
            saved = done
            if not np.isfinite(inputs).all():
                raise InputError(
                    "the vectors left the range of float32: a word met the same few others too "
                    f"often. Train with a smaller rate than {how.rate}, or on more text."
                )
            state.save(arrays, {"epoch": epoch, "sentence": sentence})
    return np.ascontiguousarray(inputs[:, : how.dim])


def _first(n_words: int, how: Settings) -> dict[str, Array]:
    """Return word2vec's first matrices, padded with columns of zeros that stay zeros."""
    n_rows = n_words + how.buckets
    width = -(-how.dim // BLOCK) * BLOCK
    inputs = np.zeros((n_rows, width), dtype=np.float32)
    drawn = np.random.default_rng(how.seed).random((n_rows, how.dim), dtype=np.float32)
    inputs[:, : how.dim] = (drawn - np.float32(0.5)) / np.float32(how.dim)
    return {"inputs": inputs, "outputs": np.zeros((n_words, width), dtype=np.float32)}


def _kept(counts: Ints, threshold: float) -> Array:
    """Return word2vec's chance that an occurrence is used, out of 2**32."""
    limit = threshold * counts.sum()
    chance = (np.sqrt(counts / limit) + 1) * limit / counts
    return (np.minimum(chance, 1) * 2**32).astype(np.uint64)


def alias_table(weights: Array) -> tuple[Array, Ids]:
    """Return Walker's table for drawing in proportion to weights: coins out of 2**32, and aliases.

    A column is drawn evenly; a coin decides between it and its alias.
    """
    n = len(weights)
    share = weights / weights.sum() * n
    coin, alias = np.ones(n), np.arange(n, dtype=np.int32)
    small = np.flatnonzero(share < 1).tolist()
    large = np.flatnonzero(share >= 1).tolist()
    while small and large:
        low, high = small.pop(), large[-1]
        coin[low], alias[low] = share[low], high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            small.append(large.pop())
    return (coin * 2**32).astype(np.uint64), alias
