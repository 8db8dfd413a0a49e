"""Words of a further language in a finished space, which teaches them itself.

A word starts as the mean of its translations' vectors. Where all that is taken of a space is the
mean of a sentence's words, the space is a teacher: the mean of a sentence's words shall point where
the space's own mean of its translation points, by the steps of `pmeans.training.bag_means`. The
vectors that are there are not touched.

In such a space a long vector counts for much in a mean, as those of rare words do. So a word starts
as long as its translations are, and one without translations as long as words that are about as
frequent.

Where a language is written in another script than all others, it gets n-grams of its own. The
others' would answer at random for its unknown words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from pmeans import kernels
from pmeans.encoder.postprocess import unit_rows
from pmeans.kernels import index
from pmeans.kernels.folding import folded
from pmeans.kernels.index import phrase_parts
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.space import Subwords, WordSpace, script
from pmeans.tensors import precision_of, quantised
from pmeans.training.bag_means import pass_over, sentence_means
from pmeans.training.bags import BagReader
from pmeans.training.composed_words import fitted_ngrams, ngram_averages
from pmeans.training.lexicon import WordPairs, project
from pmeans.training.start_vectors import LISTED, first_vectors
from pmeans.training.trainer import within
from pmeans.types import Array, Floats, Progress

EPOCHS = 3
"""Passes over the pairs; more do not make words better that start from their translations."""
NEAREST = 100
"""Words that are about as frequent, of which one length is typical."""
BUCKETS = 16_000
"""Of a language's own n-grams."""
PENALTY = 0.01
"""Weight of the squared lengths of these beside the squared errors of words: an n-gram of few words
stays short, so that a word of which little is known counts for little."""


def as_text(pairs: WordPairs, langs: tuple[str, str]) -> WordPairs:
    """Spell entries as text is split, with a space between two words; drop those without words."""
    first, second = (_split(side, lang) for side, lang in zip(pairs[:2], langs, strict=True))
    whole = [i for i, both in enumerate(zip(first, second, strict=True)) if all(both)]
    return WordPairs([first[i] for i in whole], [second[i] for i in whole], pairs.weights[whole])


def _split(entries: list[str], lang: str) -> list[str]:
    # In a table without words all are unknown, and numbered as they appear.
    nothing = index.word_table([])
    (batch,) = kernels.lookup(entries, [(nothing, "cased", 0)], splitting("words", lang))
    words = [batch.unknown_words[i] for i in batch.ids.tolist()]
    return [" ".join(words[low:high]) for low, high in pairwise(batch.offsets.tolist())]


def by_words(pairs: WordPairs, space: WordSpace, pivot: str) -> WordPairs:
    """Let an entry of several words that the space does not have stand for its words."""
    missing = space.find(pairs.first, pivot) < 0
    entries = [
        entry.split(" ") if lost and " " in entry else [entry]
        for entry, lost in zip(pairs.first, missing.tolist(), strict=True)
    ]
    counts = np.array([len(words) for words in entries], dtype=np.int64)
    second = [word for word, n in zip(pairs.second, counts.tolist(), strict=True) for _ in range(n)]
    return WordPairs(
        [word for words in entries for word in words],
        second,
        np.repeat(pairs.weights / np.maximum(counts, 1), counts),
    )


def placed(
    space: WordSpace,
    langs: tuple[str, str],
    pairs: WordPairs,
    text: BagReader,
    progress: Progress,
    *,
    taught: bool,
) -> tuple[list[str], Floats]:
    """Return words of a language, the most frequent first, and their vectors, (n_words, dim).

    There are at most as many as the space has of another language.

    Args:
        space: A space with the pivot.
        langs: The pivot, and the language.
        pairs: Words of both that mean the same, spelled `as_text`. Numbers and punctuation that
            are not among them are taken from the pivot as they are.
        text: Sentences of the pivot and their translations, and text without any.
        progress: How far it is.
        taught: Whether words are fitted to the pivot's sentences, those without translations too.
    """
    pivot, lang = langs
    words, vectors = _translated(space, pivot, pairs)
    most = max(map(len, space.tables.values()))
    side = text.sides[lang]
    others = side.tokens(lang).unknown_words if taught else ()
    frequent = _most_frequent(space, lang, side.texts, words, others, most)
    numbers = {word: i for i, word in enumerate(words)}
    if not taught:
        return frequent, vectors[[numbers[word] for word in frequent]]
    vocabulary, bags = text.bags({lang: frequent})
    goals, known = sentence_means(space, pivot, list(text.sentences))
    # Text without a translation has the number after all sentences of the pivot.
    targets = np.concatenate([unit_rows(goals), np.zeros((1, space.dim), np.float32)])
    bags = bags.of(np.append(known, False))
    own = {lang: {word: [word] for word in words}}
    first = first_vectors(vocabulary, own, numbers, vectors, bags, targets)
    _, measured = _translated(_lengths(space, pivot), pivot, pairs)
    typical = np.median(measured[measured > 0]) if measured.any() else np.float32(1)
    lengths: Floats = np.zeros(len(frequent), dtype=np.float32)
    for i, word in enumerate(frequent):
        if word in numbers:
            lengths[i] = measured[numbers[word], 0] / typical
    first *= typical_lengths(lengths, vocabulary.shares)[:, None]
    squares = np.zeros(len(first), dtype=np.float32)
    for epoch in range(EPOCHS):
        pass_over(
            first, squares, bags, targets, np.random.default_rng([0, epoch]),
            within(progress, epoch, EPOCHS),
        )  # fmt: skip
    started: Array = np.any(first, axis=1)
    return [frequent[i] for i in np.flatnonzero(started).tolist()], first[started] * typical


def _translated(space: WordSpace, pivot: str, pairs: WordPairs) -> tuple[list[str], Floats]:
    """Return translated words and signs, and the means of their vectors, (n_words, dim)."""
    words, vectors = project(space, pivot, by_words(pairs, space, pivot))
    translated = set(words)
    signs = [word for word in filter(is_sign, space.words(pivot)) if word not in translated]
    return [*words, *signs], np.concatenate([vectors, space.rows(space.find(signs, pivot))])


def _lengths(space: WordSpace, lang: str) -> WordSpace:
    """Return a space with the lengths of a language's vectors in place of these."""
    table = space.table(lang)
    which = slice(table.start, table.start + len(table))
    lengths = np.zeros((len(space), 1), dtype=np.float32)
    lengths[which, 0] = np.linalg.norm(space.rows(which), axis=1)
    return replace(space, matrix=lengths, scale=None, subwords=None)


def typical_lengths(lengths: Floats, shares: Array, nearest: int = NEAREST) -> Floats:
    """Give words without a length the median of words that are about as frequent.

    Args:
        lengths: Of words, (n,); 0 of those without one.
        shares: How frequent each word is, (n,).
        nearest: So many words have a median.

    Returns:
        (n,). Between two medians it runs straight; if there are no lengths, all are 1.
    """
    order = np.argsort(-shares, kind="stable")
    known = order[lengths[order] > 0]
    if not len(known):
        return np.ones(len(lengths), dtype=np.float32)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    groups = np.array_split(known, -(-len(known) // nearest))
    middles = [np.median(place[group]) for group in groups]
    medians = [np.median(lengths[group]) for group in groups]
    filled = np.where(lengths > 0, lengths, np.interp(place, middles, medians))
    return filled.astype(np.float32)


def is_sign(word: str) -> bool:
    """Whether a word has no letter, as commas and numbers, which dictionaries lack."""
    return not any(map(str.isalpha, word))


def _most_frequent(
    space: WordSpace,
    lang: str,
    texts: Sequence[str],
    listed: Sequence[str],
    others: Collection[str],
    most: int,
) -> list[str]:
    """Return the most frequent entries; a word with a translation counts `LISTED` times more."""
    known = set(listed)
    words = [*listed, *(word for word in others if word not in known)]
    table = index.word_table(words, phrases=True)
    (batch,) = kernels.lookup(list(texts), [(table, space.case, -1)], splitting("words", lang))
    rank = np.bincount(batch.ids, minlength=len(words))
    # Phrases must occur: dictionaries are full of such as never do.
    rank[: len(listed)] += [LISTED * (" " not in entry) for entry in listed]
    return [words[i] for i in np.argsort(-rank, kind="stable")[:most].tolist()]


def with_own_ngrams(
    space: WordSpace, lang: str, words: Sequence[str], vectors: Floats, progress: Progress
) -> Subwords | None:
    """Return the n-grams of a space, with some for a language if it is written in a new script."""
    shared = space.subwords
    if shared is None or not _new_script(space, words):
        return shared
    single = [i for i, word in enumerate(words) if not phrase_parts(word.encode())]
    spelled = [words[i] for i in single]
    averages = ngram_averages(spelled, BUCKETS, shared.minn, shared.maxn, as_folded=shared.folded)
    ngrams = fitted_ngrams(averages, vectors[single], PENALTY, progress)
    codes, scale = quantised(
        ngrams, None, precision_of(shared.ngrams),
        lambda row: f"the vector of n-gram bucket {row} of {lang!r} in {space.name!r}",
    )  # fmt: skip
    return replace(
        shared,
        ngrams=np.concatenate([shared.ngrams, codes]),
        scale=None if shared.scale is None else np.concatenate([shared.scale, scale]),
        own={**shared.own, lang: BUCKETS},
    )


def _new_script(space: WordSpace, words: Sequence[str]) -> bool:
    """Return whether most letters are of scripts that no language with shared n-grams uses.

    Folded n-grams have Cyrillic in Latin letters.
    """
    own = space.subwords.own if space.subwords else {}
    known = set().union(*(space.scripts(code)[0] for code in space.tables if code not in own))
    spelled = map(folded, words) if space.subwords and space.subwords.folded else words
    letters = Counter(script(letter) for word in spelled for letter in word if letter.isalpha())
    return 2 * sum(n for name, n in letters.items() if name not in known) > letters.total()
