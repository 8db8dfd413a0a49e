"""Calibration for languages that there are no labels of, by translations of general text.

A translation is not encoded quite as its original is, so the decisions about it differ. Decisions
that are blurred like this are right less often, at the same confidence. How much they are blurred
is seen on general text, and what it does to confidence is seen on the training rows, whose labels
are known:

1. Pairs of the model (`pmeans.encoder.translations`) are joined until they are as long as a
   training text, because decisions about a long text are blurred less.
2. The decision about a translation is taken as a multiple of the one about its original, plus what
   is left. Decisions on held-out training rows are multiplied and have such rests added. The rests
   of other texts must not be differences of both decisions: these have the blur of the original
   in them, which the training rows have already.
3. The result is calibrated as the decisions themselves were. It never makes a language surer than
   the one of training.

Of what language the training rows are does not matter: how it is blurred itself is in their
decisions. The pivot is left alone, as the language that all translations are compared with.

What counts is how the two decisions about a pair go together, not the decisions, so the text need
not be of the task's kind. ``docs/transfer.md`` has numbers.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import LanguageError
from pmeans.transfer.linear import Calibration, Linear, calibration
from pmeans.types import Array, Floats, Ints

FEWEST = 100
"""Pairs of a language from which its shifts can be told."""
ROWS = 1000
LONGEST = 500
"""Words that pairs are joined to at most: a longer text costs time, and is shifted hardly less."""


@dataclasses.dataclass(frozen=True)
class HeldOut:
    """Rows that were not trained on.

    Attributes:
        decisions: Calibrated decisions about them, (n, n_classes).
        y: Their classes, (n,), or labels, (n, n_classes) bool.
        words: How many words their texts have, (n,).
    """

    decisions: Floats
    y: Array
    words: Ints


def calibrations(
    encoder: PowerMeanEncoder,
    linear: Linear,
    held: HeldOut,
    trained: Collection[str],
    rng: np.random.Generator,
) -> dict[str, Calibration]:
    """Calibrate the decisions in every language that the encoder has translations into.

    The languages that were trained in are left out.
    """
    carried = encoder.translations
    if carried is None or not len(held.y):
        return {}
    which = rng.permutation(len(held.y))[:ROWS]
    decisions, y = held.decisions[which], held.y[which]
    words = np.minimum(held.words[which], LONGEST)
    # Translations are raw text, whatever the texts of the task are.
    plain = encoder.replace(recipe=dataclasses.replace(encoder.recipe, tokenizer="words"))
    by_language = {}
    for lang, pairs in carried.pairs.items():
        # An encoder may have lost a language, or its z-norm, since it was built.
        with contextlib.suppress(LanguageError):
            if lang not in trained and len(pairs) >= FEWEST:
                sides = _decided(plain, linear, (carried.pivot, lang), pairs, words, rng)
                by_language[lang] = _no_surer(calibration(_translated(decisions, *sides), y))
    return by_language


def _decided(
    encoder: PowerMeanEncoder,
    linear: Linear,
    langs: tuple[str, str],
    pairs: Sequence[tuple[str, str]],
    words: Ints,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Decide about joined pairs of so many words, in both languages, each (n, n_classes)."""
    lengths = encoder.coverage([first for first, _ in pairs], lang=langs[0]).tokens
    shuffled = _shuffled(len(pairs), rng)
    joined = []
    for n in words.tolist():
        taken = [next(shuffled)]
        while (n := n - int(lengths[taken[-1]])) > 0 and len(taken) < len(pairs):
            taken.append(next(shuffled))
        joined.append([" ".join(side) for side in zip(*(pairs[i] for i in taken), strict=True)])
    first, second = (
        linear.decide(encoder.encode_rows(list(texts), lang=lang))
        for lang, texts in zip(langs, zip(*joined, strict=True), strict=True)
    )
    return first, second


def _translated(decisions: Floats, first: Floats, second: Floats) -> Floats:
    """Return decisions as they would be about translations, (n, n_classes).

    The second decision about a pair is a multiple of the first, class by class, and what is left:
    both are taken from the pairs.
    """
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    spread = (first * first).sum(axis=0)
    slope = (first * second).sum(axis=0) / np.where(spread > 0, spread, 1)
    return np.asarray(slope * decisions + (second - slope * first), dtype=np.float32)


def _shuffled(n: int, rng: np.random.Generator) -> Iterator[int]:
    """Yield the numbers below n in random order, then in another one, and so on."""
    while True:
        yield from rng.permutation(n).tolist()


def _no_surer(fitted: Calibration) -> Calibration:
    """Leave decisions as they are where they would be stretched."""
    is_flatter = fitted.slope >= 1
    return Calibration(
        np.where(is_flatter, np.float32(1), fitted.slope),
        np.where(is_flatter, np.float32(0), fitted.offset),
    )
