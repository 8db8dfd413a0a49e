"""How sure a score is, and whether one encoder is really better than another.

Scores of folds and repetitions are not independent: their training sets overlap. Divided by the
square root of their number, their spread promises a precision that is not there. Nadeau and Bengio
(2003, Inference for the generalization error) correct it: with J splits the variance of the mean
is (1/J + n_test/n_train) s² instead of s²/J. They derived it for repeated random splits. The folds
of a cross-validation overlap in training for the same reason, and there too n_test/n_train, which
is 1/(k - 1), stands for a correlation of 1/k between two folds, the share of rows that a fold
tests; so both use it. For k folds it errs on the side of caution.

A fixed test set gives one score. Its interval is Wilson's if that is an accuracy, and two encoders
are compared by drawing its rows again and again. That speaks of other test rows and says nothing
of other training rows. Rows with the same true class and the same predictions are alike, so only
how many of each kind are drawn matters: a resample is one multinomial draw, and ten thousand of
them take milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.transfer.linear import wilson
from pmeans.types import Array, Ints
from pmeans_lab.evaluation.cells import Cell, decode_classes

CONFIDENCE = 0.95
SPEARMAN = 1.06
"""Variance of Fisher's transformation of a rank correlation, times n - 3."""
RESAMPLES = 10_000
_CHUNK = 500  # resamples at once: thousands of kinds times all resamples would fill the memory
Test = Literal["corrected t-test", "paired bootstrap", "combined"]


@dataclass(frozen=True)
class Interval:
    """A score in per cent and its 95 % confidence interval.

    Attributes:
        mean: The score.
        low: Lower end; NaN where a single score has no predictions to go by.
        high: Upper end.
        error: Standard error.
        df: Degrees of freedom of the standard error; infinite if it was not estimated.
    """

    mean: float
    low: float
    high: float
    error: float
    df: float


@dataclass(frozen=True)
class Comparison(Interval):
    """How much better one encoder is than another: the first one's score minus the second's.

    Attributes:
        p: Two-sided p-value of there being no difference.
        test: Where it comes from.
    """

    p: float
    test: Test


def interval(cell: Cell, rng: np.random.Generator | None = None) -> Interval:
    """Return the mean score of a cell, with its interval.

    Several scores are of folds or repetitions; a single one is of a fixed test set.

    Args:
        cell: The scores.
        rng: Draws the rows again where the score is macro-F1; if None, one with a fixed seed, so
            that a table stays what it was.
    """
    values = np.array(cell.values)
    if len(cell) > 1 and (np.ptp(values) > 0 or cell.measure != "accuracy"):
        return _interval(values.mean(), _corrected_error(values, cell), len(values) - 1)
    # One test set; or scores that are all alike, whose spread would promise certainty.
    value, n_test = cell.values[0], cell.n_test[0]
    if cell.measure == "accuracy":
        return _wilson(value / 100, n_test)
    if cell.measure == "spearman":
        low, high = fisher(value / 100, n_test, SPEARMAN)
        error = (high - low) / (2 * _z()) if n_test > 3 else math.nan
        return Interval(value, low, high, error, math.inf)
    if cell.gold is None or cell.predicted is None:
        return Interval(value, math.nan, math.nan, math.nan, math.inf)
    rows = np.stack([decode_classes(cell.gold[0]), decode_classes(cell.predicted[0])])
    drawn = _resampled(rows, cell.measure, rng)[0]
    low, high = _middle(drawn)
    return Interval(value, low, high, float(drawn.std()), math.inf)


def compare(
    a: Cell,
    b: Cell,
    *,
    test: Literal["auto", "corrected t-test", "paired bootstrap"] = "auto",
    rng: np.random.Generator | None = None,
) -> Comparison:
    """Compare two encoders on the same splits of one task.

    Args:
        a: Scores of the first encoder.
        b: Scores of the second, on the same splits with the same seeds.
        test: ``auto`` is the corrected t-test for folds and repetitions and the paired bootstrap
            for a fixed test set. The bootstrap may be asked for wherever predictions were kept;
            the rows of all folds are then one test set.
        rng: Draws the rows; if None, one with a fixed seed.
    """
    _check_comparable(a, b)
    if test == "auto":
        test = "corrected t-test" if len(a) > 1 else "paired bootstrap"
    if test == "paired bootstrap":
        return _compare_predictions(a, b, rng)
    if len(a) == 1:
        raise InputError(
            f"a t-test needs more than one split, and {a.task} has one: use the bootstrap."
        )
    differences = np.array(a.values) - np.array(b.values)
    error, df = _corrected_error(differences, a), len(differences) - 1
    of = _interval(differences.mean(), error, df)
    # Differences that are all alike leave a t-test nothing to divide by: their signs still speak.
    p = _p(of.mean, error, df) if error > 0 or of.mean == 0 else 0.5**df
    return Comparison(**vars(of), p=p, test=test)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that the chance of any false alarm among them stays at its level."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(np.argsort(p_values, kind="stable")):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def average(intervals: Sequence[Interval], *, independent: bool) -> Interval:
    """Return the mean of several scores, with its interval.

    Args:
        intervals: The scores.
        independent: True for tasks: they share no rows, so their errors partly cancel, and the
            degrees of freedom are Welch's. False for the languages of one task: they share
            classifiers and the meaning of the rows, so the mean of their errors is taken, which
            is the most it can be whatever their correlation.
    """
    if len(intervals) == 1:
        return intervals[0]
    return _combined(intervals, independent)


def average_comparison(comparisons: Sequence[Comparison], *, independent: bool) -> Comparison:
    """Return the mean of several differences, as `average` does for scores."""
    if len(comparisons) == 1:
        return comparisons[0]
    of = _combined(comparisons, independent)
    # Without any spread there is no t-test; the weakest of its parts speaks for the mean.
    p = _p(of.mean, of.error, of.df) if of.error > 0 else max(each.p for each in comparisons)
    return Comparison(**vars(of), p=p, test="combined")


def _combined(parts: Sequence[Interval], independent: bool) -> Interval:
    means, errors, dfs = np.array([[part.mean, part.error, part.df] for part in parts]).T
    if not independent:
        return _interval(np.mean(means), float(errors.mean()), float(dfs.min()))
    variance, spent = (errors**2).sum(), (errors**4 / dfs).sum()
    df = variance**2 / spent if spent > 0 else math.inf
    return _interval(np.mean(means), float(np.sqrt(variance)) / len(parts), float(df))


def _corrected_error(values: Array, cell: Cell) -> float:
    """Return Nadeau and Bengio's standard error of the mean."""
    rho = sum(cell.n_test) / sum(cell.n_train)
    return float(np.sqrt((1 / len(values) + rho) * values.var(ddof=1)))


def _interval(mean: Any, error: float, df: float) -> Interval:
    half = float(_stats().t.ppf((1 + CONFIDENCE) / 2, df)) * error
    return Interval(float(mean), float(mean) - half, float(mean) + half, error, df)


def _p(difference: float, error: float, df: float) -> float:
    return float(2 * _stats().t.sf(abs(difference) / error, df)) if difference else 1.0


def _wilson(share: float, n: int) -> Interval:
    z = _z()
    centre, half = wilson(share, n, z)
    low, high = 100 * max(0.0, centre - half), 100 * min(1.0, centre + half)
    return Interval(100 * share, low, high, 100 * half / z, math.inf)


def fisher(r: float, n: int, variance: float = 1.0) -> tuple[float, float]:
    """Return the interval of a correlation of n points in per cent; NaN for fewer than four.

    The variance is of Fisher's transformation, times n - 3; `SPEARMAN` for a rank correlation.
    """
    if n < 4:
        return math.nan, math.nan
    half = _z() * math.sqrt(variance / (n - 3))
    centre = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r)))  # a perfect one would be infinite
    return 100 * math.tanh(centre - half), 100 * math.tanh(centre + half)


def correlation(kind: str, x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return a correlation, ``spearman`` or ``pearson``, and its two-sided p-value."""
    got = _stats().spearmanr(x, y) if kind == "spearman" else _stats().pearsonr(x, y)
    return float(got.statistic), float(got.pvalue)


def _compare_predictions(a: Cell, b: Cell, rng: np.random.Generator | None) -> Comparison:
    rows = _predictions(a, b)
    [first], [second] = _scores(rows, np.ones((1, rows.shape[1]), dtype=int), a.measure)
    drawn = np.subtract(*_resampled(rows, a.measure, rng))
    low, high = _middle(drawn)
    # One is added for the sample itself: no p-value of a finite number of draws is zero.
    beyond = 1 + min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    p = min(1.0, 2 * beyond / (1 + len(drawn)))
    error, difference = float(drawn.std()), float(first - second)
    return Comparison(difference, low, high, error, math.inf, p, "paired bootstrap")


def _predictions(a: Cell, b: Cell) -> Ints:
    """Return the true classes and both predictions of all test rows, (3, n)."""
    if a.gold is None or b.gold is None or a.predicted is None or b.predicted is None:
        raise InputError(
            f"the results on {a.task} hold no predictions to draw from: they are kept only where "
            "each row is tested once."
        )
    all_rows = ["".join(each) for each in (a.gold, a.predicted, b.predicted)]
    if a.gold != b.gold or len({len(each) for each in all_rows}) > 1:
        raise InputError(
            f"the predictions on {a.task} are of different rows: run both on the same data."
        )
    return np.stack([decode_classes(each) for each in all_rows])


def _middle(drawn: Array) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _check_comparable(a: Cell, b: Cell) -> None:
    """Raise unless two cells are of the same task, protocol, languages and splits."""
    asked = [
        (cell.task, cell.protocol, cell.measure, cell.train_lang, cell.test_lang) for cell in (a, b)
    ]
    if asked[0] != asked[1]:
        raise InputError(f"{' '.join(asked[0])!r} and {' '.join(asked[1])!r} cannot be compared.")
    if (a.seeds, a.n_train, a.n_test) != (b.seeds, b.n_train, b.n_test):
        raise InputError(
            f"both were run on different splits of {a.task} ({len(a)} and {len(b)}): run both "
            "with the same protocol on the same data."
        )


def _z() -> float:
    return float(_stats().norm.ppf((1 + CONFIDENCE) / 2))


def _stats() -> Any:
    """Return ``scipy.stats``, which takes its time to load."""
    from scipy import stats

    return stats


def _resampled(rows: Ints, measure: str, rng: np.random.Generator | None) -> Array:
    """Score `RESAMPLES` samples drawn from rows, (1 + n_encoders, n_rows), as `_scores` does."""
    rng = rng or np.random.default_rng(0)
    kinds, counts = np.unique(rows, axis=1, return_counts=True)
    n = counts.sum()
    samples = (rng.multinomial(n, counts / n, _CHUNK) for _ in range(RESAMPLES // _CHUNK))
    return np.concatenate([_scores(kinds, drawn, measure) for drawn in samples], axis=1)


def _scores(kinds: Ints, drawn: Ints, measure: str) -> Array:
    """Score samples that consist of so many rows of each kind, (n_samples, n_kinds), in per cent.

    A kind is a true class and the prediction of each encoder, (1 + n_encoders, n_kinds). Macro-F1
    is over the classes that occur in a sample. Returns (n_encoders, n_samples).
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
