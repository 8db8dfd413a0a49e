"""Sentence pairs as a map is trained on them: two matrices, and which rows are for what."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pmeans import kernels
from pmeans.errors import InputError, did_you_mean
from pmeans.spaces.space import WordSpace
from pmeans.text import splitting
from pmeans.training.corpus import Pair, read_pairs
from pmeans.types import Array, Floats, Ints

Part = Literal["train", "dev", "test"]

HELD_OUT = 50
"""One line in so many is for development, and as many for testing: 2 % each."""
FEWEST = 100
"""Pairs; of fewer not even two could be held out for each purpose."""


@dataclass(frozen=True)
class PairFile:
    """Sentences of the pivot, in the first column, and of another language.

    Attributes:
        path: A TSV file, see `pmeans.training.corpus`.
        lang: The second language.
        sources: Keep the pairs from these sources only; all if empty.
        limit: Keep so many pairs, drawn at random from the whole file; all if None.
    """

    path: str
    lang: str
    sources: tuple[str, ...] = ()
    limit: int | None = None


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """The pairs of one file that have known words on both sides.

    Attributes:
        lang: The second language.
        first: Means of the pivot's sentences, (n, dim_first) float32.
        second: Means of their translations, (n, dim_second) float32.
        sources: Where each pair comes from, (n,) strings.
        parts: The rows to train on, to stop on and to test on.
    """

    lang: str
    first: Floats
    second: Floats
    sources: Array
    parts: Mapping[Part, Ints]

    def digest(self) -> str:
        """Return a hash over everything that training sees."""
        digest = hashlib.sha256(self.lang.encode())
        digest.update(self.first.data)
        digest.update(self.second.data)
        for rows in self.parts.values():
            digest.update(rows.data)
        return digest.hexdigest()


def load(
    file: PairFile, pivot: str, spaces: Mapping[str, WordSpace], rng: np.random.Generator
) -> SentencePairs:
    """Read a file of pairs; the generator draws the pairs of a limit."""
    pairs = _chosen(file, rng)
    lang = file.lang
    first, knows_first = sentence_means(spaces[pivot], pivot, [pair.first for pair in pairs])
    second, knows_second = sentence_means(spaces[lang], lang, [pair.second for pair in pairs])
    known = knows_first & knows_second
    if known.sum() < FEWEST:
        raise InputError(
            f"{file.path}: {known.sum()} of {len(pairs):,} pairs have known words on both sides; "
            f"at least {FEWEST} are needed. {spaces[pivot].name!r} knows words of "
            f"{knows_first.sum():,} first sentences ({pivot}), {spaces[lang].name!r} of "
            f"{knows_second.sum():,} second ones ({lang})."
        )
    sources = np.array([pair.source for pair in pairs])[known]
    return SentencePairs(lang, first[known], second[known], sources, split_by_source(sources))


def sentence_means(space: WordSpace, lang: str, sentences: Sequence[str]) -> tuple[Floats, Array]:
    """Return the mean of each sentence's known words, (n, dim), and whether it has any, (n,)."""
    table = (space.table(lang), space.case, -1)
    (batch,) = kernels.lookup(sentences, [table], splitting("words", lang))
    means = kernels.power_means(space.matrix, batch, [1.0], scale=space.scale)
    return means, batch.known > 0


def split_by_source(sources: Array) -> dict[Part, Ints]:
    """Return the rows of each part; ``dev`` and ``test`` are the last 2 % + 2 % of each source.

    The paper takes the last lines of a file that is all TED talks. Where a file has several
    sources, one behind the other, its last lines would be of one alone.
    """
    cut: list[list[Ints]] = []
    for source in np.unique(sources):
        rows = np.flatnonzero(sources == source)
        held = -(-len(rows) // HELD_OUT)
        cut.append(np.split(rows, [max(len(rows) - 2 * held, 0), len(rows) - held]))
    train, dev, test = (np.sort(np.concatenate(some)) for some in zip(*cut, strict=True))
    return {"train": train, "dev": dev, "test": test}


def _chosen(file: PairFile, rng: np.random.Generator) -> list[Pair]:
    pairs = read_pairs(file.path)
    if file.sources:
        present = dict.fromkeys(pair.source for pair in pairs)
        for source in file.sources:
            if source not in present:
                raise InputError(
                    f"{file.path}: no pairs from {source!r}.{did_you_mean(source, present)} "
                    f"There are pairs from: {', '.join(map(repr, present))}."
                )
        pairs = [pair for pair in pairs if pair.source in file.sources]
    if file.limit is not None and file.limit < len(pairs):
        # Not the first ones: files lie source by source. In their order, for the last 2 %.
        pairs = [pairs[i] for i in np.sort(rng.permutation(len(pairs))[: max(file.limit, 0)])]
    return pairs
