"""The paired bootstrap: would other test rows have told another story?

The rows of a test set are drawn again, with replacement, and scored again, thousands of times.
Rows with the same true class and the same predictions are alike, so only how many of each kind are
drawn matters: a resample is one multinomial draw, and ten thousand of them take milliseconds.
"""

from __future__ import annotations

import numpy as np

from pmeans.types import Array, Ints

RESAMPLES = 10_000
_CHUNK = 500  # resamples at once: thousands of kinds times all resamples would fill the memory


def observed(rows: Ints, measure: str) -> Array:
    """Score the rows themselves.

    Args:
        rows: True class and the prediction of each encoder, (1 + n_encoders, n_rows).
        measure: ``accuracy``, or macro-F1 over the classes that occur.

    Returns:
        Per cent, (n_encoders,).
    """
    kinds, counts = np.unique(rows, axis=1, return_counts=True)
    return _scores(kinds, counts[None], measure)[:, 0]


def resampled(rows: Ints, measure: str, rng: np.random.Generator) -> Array:
    """Score `RESAMPLES` samples drawn from the rows, (n_encoders, RESAMPLES)."""
    kinds, counts = np.unique(rows, axis=1, return_counts=True)
    n = counts.sum()
    samples = (rng.multinomial(n, counts / n, _CHUNK) for _ in range(RESAMPLES // _CHUNK))
    return np.concatenate([_scores(kinds, drawn, measure) for drawn in samples], axis=1)


def _scores(kinds: Ints, drawn: Ints, measure: str) -> Array:
    """Score samples that consist of so many rows of each kind.

    Args:
        kinds: True class and the predictions of each encoder, (1 + n_encoders, n_kinds).
        drawn: Number of rows of each kind, (n_samples, n_kinds).
        measure: Accuracy or macro-F1, over the classes that occur in a sample.

    Returns:
        Per cent, (n_encoders, n_samples).
    """
    gold, n = kinds[0], drawn.sum(axis=1)
    if measure == "accuracy":
        return np.stack([100 * (drawn @ (gold == each)) / n for each in kinds[1:]])
    classes = np.unique(kinds)[:, None]
    scores = []
    for each in kinds[1:]:
        hits = drawn @ ((gold == classes) & (each == classes)).T
        sizes = drawn @ ((gold == classes).astype(int) + (each == classes)).T
        f1 = 2 * hits / np.maximum(sizes, 1)
        scores.append(100 * f1.sum(axis=1) / (sizes > 0).sum(axis=1))
    return np.stack(scores)
