"""Words by their n-grams: which rows of a table are theirs, what they compose, and the best fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.kernels.folding import SKELETON_MINN, folded, skeleton, written_out
from pmeans.spaces.readers.fasttext_binary import ngram_buckets
from pmeans.training.bag_means import averaging
from pmeans.training.students import Lessons
from pmeans.types import Array, Floats, Ids, Ints, Progress

ITERATIONS = 30
"""Of conjugate gradients; the last ones move the n-grams by less than a thousandth."""
_TINY = np.float32(1e-30)
SAMPLED = 10_000
"""Pairs of a language, at most, that tell the axes."""
_CHUNK = 50_000  # words at a time


def folded_buckets(words: Sequence[str], buckets: int, minn: int, maxn: int) -> tuple[Ids, Ints]:
    """Return the rows of n-grams of all words, and where each word's begin: as words compose.

    N-grams of a word come before those of its skeleton.
    """
    rows, counts = [], []
    for low in range(0, len(words), _CHUNK):
        some = words[low : low + _CHUNK]
        plain = [folded(word).encode("utf-8", "surrogatepass") for word in some]
        bones = [skeleton(word).encode() for word in some]
        # An empty word still has its ends for an n-gram: it is not asked.
        boned = [i for i, each in enumerate(bones) if each]
        first, edges = ngram_buckets(plain, buckets, minn, maxn)
        second, borders = ngram_buckets(
            [bones[i] for i in boned] or [b""], buckets, max(minn, SKELETON_MINN), maxn
        )
        of_bones = np.zeros(len(some), dtype=np.int64)
        of_bones[boned] = np.diff(borders)[: len(boned)]
        numbers = np.arange(len(some))
        owners = np.concatenate([np.repeat(numbers, n) for n in (np.diff(edges), of_bones)])
        both = np.concatenate([first, second[: of_bones.sum()]])
        rows.append(both[np.argsort(owners, kind="stable")].astype(np.int32))
        counts.append(np.diff(edges) + of_bones)
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(np.concatenate(counts))])


def merge_spellings(words: Sequence[str], shares: Array, vectors: Floats) -> None:
    """Give *счёт* and *счет*, *für* and *fuer* one vector, where a language has both.

    Args:
        words: Those of the language.
        shares: How common each is, (n_words,): by these both vectors are averaged.
        vectors: (n_words, dim), which is changed.
    """
    rows = {word: i for i, word in enumerate(words)}
    for word, i in rows.items():
        other = rows.get(written_out(word), i)
        if other != i:
            both = [i, other]
            weights = shares[both] if shares[both].any() else None
            vectors[both] = np.average(vectors[both], axis=0, weights=weights)


def ngram_averages(
    words: Sequence[str], buckets: int, minn: int, maxn: int, *, as_folded: bool = False
) -> Any:
    """Return the sparse matrix that composes words from n-grams, (n_words, buckets).

    Folded ones are summed and divided by the root of their number.
    """
    from scipy.sparse import csr_array

    rows: Array
    if as_folded:
        rows, borders = folded_buckets(words, buckets, minn, maxn)
    else:
        rows, borders = ngram_buckets([word.encode() for word in words], buckets, minn, maxn)
    counts = np.diff(borders)
    shares = 1 / np.maximum(counts, 1) ** (0.5 if as_folded else 1)
    weights = np.repeat(shares, counts).astype(np.float32)
    return csr_array((weights, rows, borders), shape=(len(words), buckets))


def fitted_ngrams(averages: Any, vectors: Floats, penalty: float, progress: Progress) -> Floats:
    """Return the n-grams of least error, (buckets, dim), by conjugate gradients per column.

    Zhao et al. (2018) have the idea of n-grams for the words of a finished space.

    Args:
        averages: Composes words from n-grams, as of `ngram_averages`.
        vectors: Of the words, (n_words, dim).
        penalty: Weight of the squared lengths of n-grams' vectors beside the squared errors.
        progress: How far it is.
    """
    solved = np.zeros((averages.shape[1], vectors.shape[1]), dtype=np.float32)
    residual = averages.T @ vectors
    direction, square = residual.copy(), _squares(residual)
    for i in range(ITERATIONS):
        progress(i / ITERATIONS, f"fitting n-grams, {i} of {ITERATIONS}")
        turned = averages.T @ (averages @ direction) + np.float32(penalty) * direction
        # A column that is solved already has nothing left to divide.
        size = square / np.maximum(np.einsum("ij,ij->j", direction, turned), _TINY)
        solved += size * direction
        residual -= size * turned
        before, square = square, _squares(residual)
        direction = residual + square / np.maximum(before, _TINY) * direction
    return solved


def _squares(rows: Floats) -> Floats:
    return np.einsum("ij,ij->j", rows, rows)


@dataclass(frozen=True)
class ComposedWords:
    """What `pmeans.training.students` has fitted, and to what.

    Attributes:
        own: Vectors of words, (n_own, dim).
        rows: Vectors of n-grams, (n_buckets, dim).
        lessons: Says which word has which.
    """

    own: Floats
    rows: Floats
    lessons: Lessons

    def vectors(self, words: Ints) -> Floats:
        """Return the vectors of words by their numbers, (n, dim)."""
        from scipy.sparse import csr_array

        lessons = self.lessons
        begins, counts = lessons.borders[words], np.diff(lessons.borders)[words]
        borders = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(borders[-1]) + np.repeat(begins - borders[:-1], counts)
        scales = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)
        shape = (len(words), len(self.rows))
        vectors = csr_array((scales, lessons.ngrams[places], borders), shape=shape) @ self.rows
        has_own = lessons.own[words] >= 0
        vectors[has_own] += self.own[lessons.own[words[has_own]]]
        return vectors

    def with_ngrams(self) -> Floats:
        """Return the vectors of words with an own one, their n-grams added in, (n_own, dim)."""
        bearers = np.flatnonzero(self.lessons.own >= 0)
        vectors = np.empty_like(self.own)
        for low in range(0, len(bearers), _CHUNK):
            some = bearers[low : low + _CHUNK]
            vectors[self.lessons.own[some]] = self.vectors(some)
        return vectors

    def means(self, sentences: Ints) -> Floats:
        """Return the means of sentences' words, (n, dim)."""
        offsets = self.lessons.offsets
        lengths = np.diff(offsets)[sentences]
        owner = np.repeat(np.arange(len(sentences)), lengths)
        shift = offsets[sentences] - (np.cumsum(lengths) - lengths)
        ids = self.lessons.ids[np.arange(len(owner)) + shift[owner]].astype(np.int64)
        words, averages = averaging(ids, owner, len(sentences))
        means: Floats = averages @ self.vectors(words)
        return means

    def left_over(self, sentences: Ints, goals: Array) -> Floats:
        """Return the part of each sentence's goal at right angles to the mean of its words.

        Args:
            sentences: Their numbers, (n,).
            goals: Where they should point, (n, dim).
        """
        means, goals = unit_rows(self.means(sentences)), goals.astype(np.float32)
        return goals - np.einsum("ij,ij->i", goals, means)[:, None] * means

    def axes(self) -> Floats:
        """Return the axes along which sentences vary, the largest variance first, (dim, dim).

        The sentences are some of every language, about the language's own mean, each 1 long.
        """
        pairs, langs = self.lessons.pairs, self.lessons.langs
        squares = np.zeros((self.own.shape[1], self.own.shape[1]))
        for lang in np.unique(langs).tolist():
            some = pairs[langs == lang]
            for side in some[:: -(-len(some) // SAMPLED)].T:
                means = self.means(side)
                about = unit_rows(means - means.mean(axis=0)).astype(np.float64)
                squares += about.T @ about / len(side)
        axes = np.linalg.eigh(squares)[1][:, ::-1]
        # An axis has two directions: take the one whose largest number is positive.
        largest = np.abs(axes).argmax(axis=0)
        return (axes * np.sign(axes[largest, np.arange(len(axes))])).astype(np.float32)

    def turned(self, axes: Floats) -> ComposedWords:
        """Return the same along other axes, (dim, dim)."""
        return replace(self, own=self.own @ axes, rows=self.rows @ axes)
