"""Words and sentences by vectors that were fitted together: own ones and those of n-grams."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.training.bag_means import averaging
from pmeans.training.students import Lessons
from pmeans.types import Array, Floats, Ints

SAMPLED = 10_000
"""Pairs of a language, at most, that tell the axes."""
_CHUNK = 50_000  # words at a time


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
