"""Whether a sentence finds its translation among those of other sentences.

Accuracy is given for each source of the text: thousands of short sentences from one would hide how
the long ones from another fare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pmeans.encoder import PowerMeanEncoder
from pmeans.evaluation.measures import Measured
from pmeans.output import unit_rows
from pmeans.recipe import Part, Recipe
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import Pair, read_pairs, split
from pmeans.types import Encoder, Floats

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
) -> Measured:
    """Measured how often the nearest second sentence, by cosine, translates the first.

    Args:
        encoder: Of both languages.
        pairs: The first sentences ask, all second ones are candidates. Where the same sentence
            occurs in several pairs, each of its translations is right.
        langs: Of the first sentences and of the second.
        on: A name for the pairs.

    Returns:
        The share of all pairs; those with a side that has no known word are wrong, and not covered.
    """
    firsts, seconds = [pair.first for pair in pairs], [pair.second for pair in pairs]
    matrices = encoder.encode(firsts, lang=langs[0]), encoder.encode(seconds, lang=langs[1])
    right, known = retrieved(*matrices, firsts, seconds)
    value = int(right.sum()) / len(pairs)
    return Measured("retrieval", "-".join(langs), on, value, int(known.sum()), len(pairs))


def retrieved(
    x: Floats, y: Floats, firsts: Sequence[str], seconds: Sequence[str]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Say of each first sentence whether the nearest second one, by cosine, is its translation.

    Args:
        x: The first sentences, (n, dim).
        y: The second sentences, (n, dim); row i translates row i of x.
        firsts: Their text, (n,): where a sentence is there twice, each translation is right.
        seconds: The text of the second ones, (n,).

    Returns:
        Which are right, (n,), and which have known words on both sides, (n,); others are wrong.
    """
    x, y = unit_rows(x), unit_rows(y)
    known = np.logical_and(x.any(axis=1), y.any(axis=1))
    blocks = (x[low : low + _BLOCK] @ y.T for low in range(0, len(x), _BLOCK))
    found = [int(j) for block in blocks for j in np.argmax(block, axis=1)]
    same = [firsts[i] == firsts[j] or seconds[i] == seconds[j] for i, j in enumerate(found)]
    return known & np.array(same, dtype=bool), known
