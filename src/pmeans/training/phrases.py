"""Entries of several words: which of those in the text are worth a vector of their own.

Words that mean something else together than apart leave a trace: the sentences with *not bad* point
where the mean of their words does not, and all in the same direction. So the words are fitted
first. What is left of a sentence's target, the part at right angles to the mean, is added up over
the sentences of a phrase, and the length of the sum, divided by the root of their number, is what
the phrase is worth. Where what is left points anywhere, this is the same for frequent phrases and
rare ones. It needs no word of the teacher on the phrase, so it serves all languages alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from pmeans.kernels.index import LONGEST_PHRASE
from pmeans.training.bags import Side
from pmeans.types import Floats, Ints

FEWEST = 5
"""A phrase must occur so often; one of a dictionary `LISTED` times less."""
TRIED = 5
"""Times as many phrases are looked at as are chosen, the most frequent ones."""
_BLOCK = 8192  # sentences at a time


def useful_phrases(
    side: Side,
    lang: str,
    listed: Collection[str],
    bonus: int,
    most: int,
    numbers: Ints,
    left: Callable[[Ints], Floats],
) -> list[str]:
    """Return the phrases of a language that are worth most.

    Args:
        side: The sentences.
        lang: Their language.
        listed: Phrases of a dictionary.
        bonus: They count as if they occurred so many times more.
        most: How many are returned, at most.
        numbers: Of the sentences, (n,).
        left: Returns what is left of the targets of some numbers, (n_some, dim).
    """
    phrases, having = _candidates(side, lang, listed, bonus, TRIED * most)
    if not phrases:
        return []
    sums: Any = 0
    for low in range(0, len(numbers), _BLOCK):
        some = slice(low, low + _BLOCK)
        sums = sums + having[some].T @ left(numbers[some])
    worth = np.sqrt(np.einsum("ij,ij->i", sums, sums) / having.sum(axis=0))
    return [phrases[i] for i in np.argsort(-worth, kind="stable")[:most].tolist()]


def _candidates(
    side: Side, lang: str, listed: Collection[str], bonus: int, most: int
) -> tuple[list[str], Any]:
    """Return the most frequent phrases, and which sentences have them, (n_sentences, n) sparse."""
    from scipy.sparse import csr_array

    tokens = side.tokens(lang)
    words = tokens.unknown_words
    ids, n = tokens.ids.astype(np.int64), len(words)
    sentence = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))
    spoken = np.array([any(map(str.isalpha, word)) for word in words])[ids]
    numbers = {word: i for i, word in enumerate(words)}
    # A run of words is numbered by the run without its last word, and that word.
    names, places, runs = list(words), np.flatnonzero(spoken), ids[spoken]
    phrases: list[str] = []
    counts, owners, columns = [], [], []
    for length in range(2, LONGEST_PHRASE + 1):
        last = places + length - 1
        goes_on = last < len(ids)
        here, there = places[goes_on], last[goes_on]
        goes_on[goes_on] = (sentence[here] == sentence[there]) & spoken[there]
        places, runs = places[goes_on], runs[goes_on]
        keys = runs * n + ids[places + length - 1]
        distinct, runs, occurs = np.unique(keys, return_inverse=True, return_counts=True)
        before = {name: i for i, name in enumerate(names)}
        split = [entry.rpartition(" ") for entry in listed if entry.count(" ") == length - 1]
        known = [(a, b) for a, _, b in split if a in before and b in numbers]
        in_list = np.isin(distinct, [before[a] * n + numbers[b] for a, b in known])
        frequent = np.flatnonzero(occurs + bonus * in_list >= FEWEST)
        names = [f"{names[key // n]} {words[key % n]}" for key in distinct[frequent].tolist()]
        number = np.full(len(distinct), -1)
        number[frequent] = np.arange(len(frequent))
        runs = number[runs]
        places, runs = places[runs >= 0], runs[runs >= 0]
        owners.append(sentence[places])
        columns.append(len(phrases) + runs)
        counts.append(occurs[frequent])
        phrases += names
    order = np.argsort(-np.concatenate(counts), kind="stable")[:most]
    number = np.full(len(phrases), -1)
    number[order] = np.arange(len(order))
    column = number[np.concatenate(columns)]
    where = np.concatenate(owners)[column >= 0], column[column >= 0]
    ones = np.ones(len(where[0]), dtype=np.float32)
    return [phrases[i] for i in order.tolist()], csr_array((ones, where), (len(tokens), len(order)))
