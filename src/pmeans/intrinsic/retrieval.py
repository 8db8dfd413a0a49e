"""Whether a sentence finds its translation among those of other sentences.

Accuracy is given for each source of the text: thousands of short sentences from one would hide how
the long ones from another fare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.intrinsic.measure import Measure
from pmeans.output import unit_rows
from pmeans.recipe import Part, Recipe
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import Pair, read_pairs, split
from pmeans.types import Encoder

_BLOCK = 1024


def held_out(path: str | Path) -> dict[str, list[Pair]]:
    """Return the pairs of a file that nothing was trained on, by source."""
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for pair in split(read_pairs(path))["test"]:
        by_source[pair.source].append(pair)
    return by_source


def sentence_means(space: WordSpace) -> PowerMeanEncoder:
    """Return the encoder of raw text by the mean of its words' vectors."""
    recipe = Recipe((Part(space.name, (1.0,)),), name=space.name, tokenizer="words")
    return PowerMeanEncoder(recipe, {space.name: space})


def accuracy(
    encoder: Encoder, pairs: Sequence[Pair], langs: tuple[str, str], on: str = ""
) -> Measure:
    """Measure how often the nearest second sentence, by cosine, translates the first.

    Args:
        encoder: Of both languages.
        pairs: The first sentences ask, all second ones are candidates. Where the same sentence
            occurs in several pairs, each of its translations is right.
        langs: Of the first sentences and of the second.
        on: A name for the pairs.

    Returns:
        The share of all pairs; those with a side that has no known word are wrong, and not covered.
    """
    firsts = unit_rows(encoder.encode([pair.first for pair in pairs], lang=langs[0]))
    seconds = unit_rows(encoder.encode([pair.second for pair in pairs], lang=langs[1]))
    known = np.logical_and(firsts.any(axis=1), seconds.any(axis=1)).tolist()
    right = 0
    for low in range(0, len(pairs), _BLOCK):
        found = np.argmax(firsts[low : low + _BLOCK] @ seconds.T, axis=1).tolist()
        for i, j in enumerate(found, low):
            same = pairs[i].first == pairs[j].first or pairs[i].second == pairs[j].second
            right += known[i] and same
    name = "-".join(langs)
    return Measure("retrieval", name, on, right / len(pairs), sum(known), len(pairs))
