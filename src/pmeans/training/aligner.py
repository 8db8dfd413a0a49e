"""Which word translates which: an aligner in the manner of IBM's model 2.

Every word of a sentence is explained by one word of its translation, or by none (NULL, id 0). How
likely that is, is the product of a translation probability, learned by EM, and of a prior that
favours the diagonal, ``exp(-TENSION |i / m - j / n|)``, as sentences tell things in about the
same order (Dyer, Chahuneau and Smith 2013). A Dirichlet prior on translations, by variational
Bayes, keeps rare words from explaining everything around them.

A *link* is a pair of positions that EM considers. Links lie flat, those of one explained word side
by side, so that a step of EM is a gather, a sum over segments and a bincount; a few millions are
worked on at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pmeans.errors import InputError
from pmeans.types import Array, Ids, Ints

Doubles = npt.NDArray[np.float64]
Kept = Callable[[int, Doubles], None]

NULL = 0
TENSION = 4.0
NULL_SHARE = 0.08
ALPHA = 0.01
LONGEST = 100
"""Words of the longest sentence that is aligned; links grow with the square."""
_LINKS = 4_000_000


class Sentences(NamedTuple):
    """One side of a corpus: ``ids[offsets[i]:offsets[i + 1]]`` are the words of sentence i."""

    ids: Ids  # from 1 on; 0 is NULL
    offsets: Ints

    @property
    def lengths(self) -> Ints:
        """Words of each sentence, (n_sentences,)."""
        return np.diff(self.offsets)


class WordAlignment:
    """EM in one direction: `source` words explain `target` words."""

    def __init__(self, source: Sentences, target: Sentences) -> None:
        """Lay out the links of a corpus; one without pairs is an `InputError`."""
        if len(source.offsets) != len(target.offsets):
            raise InputError(
                f"{len(source.offsets) - 1:,} sentences cannot be aligned with "
                f"{len(target.offsets) - 1:,}; a corpus has as many on both sides."
            )
        self.source, self.target = source, target
        both = (source.lengths > 0) & (target.lengths > 0)
        short = (source.lengths <= LONGEST) & (target.lengths <= LONGEST)
        self._aligned = np.flatnonzero(both & short)
        if not len(self._aligned):
            raise InputError(f"no pair has 1 to {LONGEST} words on both sides; nothing to align.")
        self._width = int(target.ids.max()) + 1
        # Of all that EM gathers by, only the entry of each link is kept: four bytes a link.
        parts: list[tuple[Ints, Ids]] = []
        for links in self._blocks():
            entries, ids = np.unique(self._keys(links), return_inverse=True)
            parts.append((entries, ids.astype(np.int32)))
        self._entries = _merged([entries for entries, _ in parts])
        self._ids = [
            np.searchsorted(self._entries, entries).astype(np.int32)[ids] for entries, ids in parts
        ]
        self.probabilities = np.full(len(self._entries), 1 / self._width)

    def run(self, iterations: int, kept: Kept = lambda _, __: None, finished: int = 0) -> None:
        """Take steps of EM, less the finished ones; tell `kept` their number and probabilities."""
        owner = self._entries // self._width
        for done in range(finished, iterations):
            counts = np.zeros(len(self._entries))
            for links, ids in zip(self._blocks(), self._ids, strict=True):
                weights = self._weights(links, ids)
                weights /= np.repeat(np.add.reduceat(weights, links.starts), links.choices)
                counts += np.bincount(ids, weights, minlength=len(counts))
            totals = np.bincount(owner, counts) + ALPHA * self._width
            self.probabilities = np.exp(digamma(counts + ALPHA) - digamma(totals)[owner])
            kept(done + 1, self.probabilities)

    def best(self) -> Ints:
        """Return for each target token the source token that explains it best, or -1.

        Tokens are counted through the corpus: (n_target_tokens,), as `target.ids` has them.
        """
        chosen = np.full(len(self.target.ids), -1, dtype=np.int64)
        for links, ids in zip(self._blocks(), self._ids, strict=True):
            weights = self._weights(links, ids)
            highest = np.repeat(np.maximum.reduceat(weights, links.starts), links.choices)
            # The earliest of equals wins: written last.
            winners = np.flatnonzero(weights == highest)[::-1]
            chosen[links.target[winners]] = links.source[winners]
        return chosen

    def _blocks(self) -> Iterator[_Links]:
        lengths = self.source.lengths[self._aligned] + 1
        links = np.cumsum(lengths * self.target.lengths[self._aligned])
        borders = np.flatnonzero(np.diff(links // _LINKS)) + 1
        for pairs in np.split(self._aligned, borders):
            yield _links(self.source, self.target, pairs)

    def _keys(self, links: _Links) -> Ints:
        words = np.where(links.source < 0, NULL, self.source.ids[links.source])
        return words.astype(np.int64) * self._width + self.target.ids[links.target]

    def _weights(self, links: _Links, ids: Ids) -> Doubles:
        prior = np.exp(-TENSION * links.distance)
        prior[links.starts] = 0.0  # NULL has no place
        sums = np.add.reduceat(prior, links.starts)
        prior *= np.repeat((1 - NULL_SHARE) / sums, links.choices)
        prior[links.starts] = NULL_SHARE
        return prior * self.probabilities[ids]


class _Links(NamedTuple):
    """Links of some pairs of sentences; the first of each target token is the one to NULL."""

    source: Ints  # token, or -1 for NULL, (n_links,)
    target: Ints  # token, (n_links,)
    distance: Doubles  # from the diagonal, (n_links,)
    starts: Ints  # first link of each target token, (n_tokens,)
    choices: Ints  # number of links of each target token, (n_tokens,)


def _links(source: Sentences, target: Sentences, pairs: Ints) -> _Links:
    n_source, n_target = source.lengths[pairs], target.lengths[pairs]
    place = _ranges(n_target)  # of a token in its sentence, from 0
    token = np.repeat(target.offsets[pairs], n_target) + place
    choices = np.repeat(n_source + 1, n_target)
    link = _ranges(choices)  # 0 is NULL, then the places of the source from 1
    first = np.repeat(source.offsets[pairs], n_target)
    relative = np.repeat((place + 1) / np.repeat(n_target, n_target), choices)
    distance = np.abs(link / np.repeat(choices - 1, choices) - relative)
    chosen = np.where(link == 0, -1, np.repeat(first - 1, choices) + link)
    starts = np.cumsum(choices) - choices
    return _Links(chosen, np.repeat(token, choices), distance, starts, choices)


def _merged(runs: list[Ints]) -> Ints:
    """Return all numbers of sorted runs, each once: `numpy.unique` is ten times as slow."""
    keys = np.concatenate(runs)
    keys.sort(kind="stable")
    return keys[np.flatnonzero(np.diff(keys, prepend=-1))]


def _ranges(lengths: Ints) -> Ints:
    """Return 0, 1, ... up to each length, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)


def mutual(
    first: Sentences, second: Sentences, forward: Ints, backward: Ints
) -> tuple[Ints, Ints, Ints]:
    """Count the word pairs whose tokens choose each other in both directions.

    Args:
        first: One side of the corpus.
        second: The other.
        forward: For each token of the second side the best of the first, or -1.
        backward: The other way round.

    Returns:
        First words, second words, and how often they chose each other, (n_pairs,) each.
    """
    tokens = np.flatnonzero(forward >= 0)
    tokens = tokens[backward[forward[tokens]] == tokens]
    width = int(second.ids.max()) + 1
    keys = first.ids[forward[tokens]].astype(np.int64) * width + second.ids[tokens]
    pairs, counts = np.unique(keys, return_counts=True)
    return *np.divmod(pairs, width), counts


def digamma(x: Array) -> Doubles:
    """Return the derivative of log gamma for positive numbers, to about 1e-10.

    Its asymptotic series is exact enough from 6 on; smaller numbers are moved up there by
    ``digamma(x) = digamma(x + 1) - 1 / x``.
    """
    x = np.asarray(x, dtype=np.float64)
    moved = np.zeros_like(x)
    for step in range(6):
        moved += 1 / (x + step)
    x = x + 6
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return np.log(x) - 0.5 / x - series - moved
