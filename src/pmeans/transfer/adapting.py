"""Mean and deviation of a language's rows, from few or many unlabelled texts.

Two texts say little about the mean of a kind of text, and next to nothing about its deviation. So
the statistics of the texts are mixed with those of the training rows, as if there were `WEIGHT`
more texts like these: ten texts change little, a thousand nearly all. ``docs/transfer.md`` names
the experiment that the weight is from.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.znorm import Moments, Statistics
from pmeans.errors import InputError, count
from pmeans.transfer.learned import Fitted
from pmeans.types import Floats

WEIGHT = 100
"""So many texts that the training rows count for."""

_BLOCK = 4096
FEW = 100
"""Texts below which adapting is warned of."""


class FewTextsWarning(UserWarning):
    """A language was adapted to few texts, which say little about its kind of text."""


def warn_of_few(n: int, lang: str) -> None:
    """Warn if a language is adapted to few texts."""
    if n < FEW:
        warnings.warn(
            f"{lang!r} is adapted to {n:,} text{'' if n == 1 else 's'} with a known word, which "
            f"changes little. Give {FEW:,} or more of the kind to be classified.",
            FewTextsWarning,
            stacklevel=4,
        )


def adapted(encoder: PowerMeanEncoder, fitted: Fitted, texts: Sequence[str], lang: str) -> Fitted:
    """Return a classifier that is adapted to the rows of texts of a language."""
    moments = Moments(encoder.dim)
    for start in range(0, len(texts), _BLOCK):
        rows, coverage = encoder.encode_covered(texts[start : start + _BLOCK], lang=lang)
        moments.add(rows[~coverage.zero_rows])
    if not moments.count:
        raise InputError(
            f"no known word in {count(len(texts), 'text')} to adapt to: is the language right?"
        )
    warn_of_few(moments.count, lang)
    statistics = shrunken(moments, fitted.centre, fitted.spread)
    return replace(fitted, adapted={**fitted.adapted, lang: statistics})


def shrunken(
    moments: Moments, centre: Floats, spread: Floats, weight: float = WEIGHT
) -> Statistics:
    """Return statistics of rows, drawn towards those of the training rows.

    Args:
        moments: Of the rows of the texts.
        centre: Mean of the training rows, (dim,).
        spread: Standard deviation of their columns, (dim,).
        weight: How many texts the training rows count for.
    """
    share = moments.count / (moments.count + weight)
    mean = share * moments.mean + (1 - share) * centre
    variance = share * np.square(moments.std) + (1 - share) * np.square(spread, dtype=np.float64)
    return Statistics(mean.astype(np.float32), np.sqrt(variance).astype(np.float32), moments.count)
