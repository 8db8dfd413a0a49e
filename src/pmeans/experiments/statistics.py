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
of other training rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.experiments.bootstrap import observed, resampled
from pmeans.experiments.results import Result, decode_classes
from pmeans.types import Array, Ints

CONFIDENCE = 0.95
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
class Comparison:
    """How much better one encoder is than another, in points.

    Attributes:
        difference: Score of the first minus score of the second.
        low: Lower end of its 95 % confidence interval.
        high: Upper end.
        p: Two-sided p-value of there being no difference.
        test: Where it comes from.
        error: Standard error of the difference.
        df: Degrees of freedom of the standard error.
    """

    difference: float
    low: float
    high: float
    p: float
    test: Test
    error: float
    df: float


def interval(results: Sequence[Result], rng: np.random.Generator | None = None) -> Interval:
    """Return the mean score of one encoder on one task, with its interval.

    Several results are folds or repetitions; a single one is of a fixed test set.

    Args:
        results: One encoder, task, training and test language.
        rng: Draws the rows again where the score is no accuracy; if None, one with a fixed seed,
            so that a table stays what it was.
    """
    _check_one_kind(results)
    values = np.array([result.value for result in results])
    if len(results) > 1 and (np.ptp(values) > 0 or results[0].measure != "accuracy"):
        return _interval(values.mean(), _corrected_error(values, results), len(values) - 1)
    # One test set; or scores that are all alike, whose spread would promise certainty.
    only = results[0]
    if only.measure == "accuracy":
        return _wilson(only.value / 100, only.n_test)
    if only.gold is None or only.predicted is None:
        return Interval(only.value, math.nan, math.nan, math.nan, math.inf)
    rows = np.stack([decode_classes(only.gold), decode_classes(only.predicted)])
    drawn = resampled(rows, only.measure, rng or np.random.default_rng(0))[0]
    low, high = _middle(drawn)
    return Interval(only.value, low, high, float(drawn.std()), math.inf)


def compare(
    a: Sequence[Result],
    b: Sequence[Result],
    *,
    test: Literal["auto", "corrected t-test", "paired bootstrap"] = "auto",
    rng: np.random.Generator | None = None,
) -> Comparison:
    """Compare two encoders on the same splits of one task.

    Args:
        a: Results of the first encoder.
        b: Results of the second, on the same splits with the same seeds.
        test: ``auto`` is the corrected t-test for folds and repetitions and the paired bootstrap
            for a fixed test set. The bootstrap may be asked for wherever predictions were kept;
            the rows of all folds are then one test set.
        rng: Draws the rows; if None, one with a fixed seed.
    """
    pairs = _pairs(a, b)
    if test == "auto":
        test = "corrected t-test" if len(pairs) > 1 else "paired bootstrap"
    if test == "paired bootstrap":
        return _compare_predictions(pairs, rng)
    if len(pairs) == 1:
        raise InputError(
            f"a t-test needs more than one split, and {a[0].task} has one: use the bootstrap."
        )
    differences = np.array([one.value - other.value for one, other in pairs])
    error, df = _corrected_error(differences, a), len(differences) - 1
    of = _interval(differences.mean(), error, df)
    # Differences that are all alike leave a t-test nothing to divide by: their signs still speak.
    p = _p(of.mean, error, df) if error > 0 or of.mean == 0 else 0.5**df
    return Comparison(of.mean, of.low, of.high, p, test, error, df)


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
    error, df = _combined(intervals, independent)
    return _interval(float(np.mean([each.mean for each in intervals])), error, df)


def average_comparison(comparisons: Sequence[Comparison], *, independent: bool) -> Comparison:
    """Return the mean of several differences, as `average` does for scores."""
    if len(comparisons) == 1:
        return comparisons[0]
    error, df = _combined(comparisons, independent)
    of = _interval(float(np.mean([each.difference for each in comparisons])), error, df)
    # Without any spread there is no t-test; the weakest of its parts speaks for the mean.
    p = _p(of.mean, error, df) if error > 0 else max(each.p for each in comparisons)
    return Comparison(of.mean, of.low, of.high, p, "combined", error, df)


def _combined(parts: Sequence[Interval | Comparison], independent: bool) -> tuple[float, float]:
    errors, dfs = np.array([[part.error, part.df] for part in parts]).T
    if not independent:
        return float(errors.mean()), float(dfs.min())
    variance, spent = (errors**2).sum(), (errors**4 / dfs).sum()
    df = variance**2 / spent if spent > 0 else math.inf
    return float(np.sqrt(variance)) / len(parts), float(df)


def _corrected_error(values: Array, results: Sequence[Result]) -> float:
    """Return Nadeau and Bengio's standard error of the mean."""
    rho = sum(each.n_test for each in results) / sum(each.n_train for each in results)
    return float(np.sqrt((1 / len(values) + rho) * values.var(ddof=1)))


def _interval(mean: float, error: float, df: float) -> Interval:
    half = float(scipy_stats().t.ppf((1 + CONFIDENCE) / 2, df)) * error
    return Interval(float(mean), float(mean) - half, float(mean) + half, error, df)


def _p(difference: float, error: float, df: float) -> float:
    return float(2 * scipy_stats().t.sf(abs(difference) / error, df)) if difference else 1.0


def _wilson(share: float, n: int) -> Interval:
    z = float(scipy_stats().norm.ppf((1 + CONFIDENCE) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low, high = 100 * max(0.0, centre - half), 100 * min(1.0, centre + half)
    return Interval(100 * share, low, high, 100 * half / z, math.inf)


def _compare_predictions(
    pairs: Sequence[tuple[Result, Result]], rng: np.random.Generator | None
) -> Comparison:
    rows = np.concatenate([_predictions(*pair) for pair in pairs], axis=1)
    measure = pairs[0][0].measure
    first, second = observed(rows, measure)
    drawn = np.subtract(*resampled(rows, measure, rng or np.random.default_rng(0)))
    low, high = _middle(drawn)
    # One is added for the sample itself: no p-value of a finite number of draws is zero.
    beyond = 1 + min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    p = min(1.0, 2 * beyond / (1 + len(drawn)))
    error = float(drawn.std())
    return Comparison(float(first - second), low, high, p, "paired bootstrap", error, math.inf)


def _predictions(a: Result, b: Result) -> Ints:
    """Return the true classes and both predictions of one test set, (3, n_test)."""
    if a.gold is None or b.gold is None or a.predicted is None or b.predicted is None:
        raise InputError(
            f"the results of {a.encoder!r} and {b.encoder!r} on {a.task} hold no predictions to "
            "draw from: they are kept only where each row is tested once."
        )
    if a.gold != b.gold or len(a.gold) != len(a.predicted) or len(a.gold) != len(b.predicted):
        raise InputError(
            f"the predictions of {a.encoder!r} and {b.encoder!r} on {a.task} are of different "
            "rows: run both on the same data."
        )
    return np.stack([decode_classes(each) for each in (a.gold, a.predicted, b.predicted)])


def _middle(drawn: Array) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _check_one_kind(results: Sequence[Result]) -> None:
    if not results:
        raise InputError("no results: there is nothing to compute from.")
    kinds = {(r.encoder, *_setting(r)) for r in results}
    if len(kinds) > 1:
        shown = sorted(" ".join(kind) for kind in kinds)[:2]
        raise InputError(f"results of different kinds: {shown[0]!r} and {shown[1]!r}.")
    if len({r.split for r in results}) < len(results):
        raise InputError(f"{results[0].encoder!r} has two results of a split of {results[0].task}.")


def _setting(r: Result) -> tuple[str, ...]:
    return r.task, r.protocol, r.measure, r.train_lang, r.test_lang


def _pairs(a: Sequence[Result], b: Sequence[Result]) -> list[tuple[Result, Result]]:
    """Match the results of two encoders, split by split."""
    _check_one_kind(a)
    _check_one_kind(b)
    if _setting(a[0]) != _setting(b[0]):
        raise InputError(
            f"{' '.join(_setting(a[0]))!r} and {' '.join(_setting(b[0]))!r} cannot be compared."
        )
    others = {(each.split, each.seed, each.n_train, each.n_test): each for each in b}
    keys = [(each.split, each.seed, each.n_train, each.n_test) for each in a]
    if set(keys) != set(others):
        raise InputError(
            f"{a[0].encoder!r} and {b[0].encoder!r} were run on different splits of {a[0].task} "
            f"({len(a)} and {len(b)}): run both with the same protocol on the same data."
        )
    return [(one, others[key]) for one, key in zip(a, keys, strict=True)]


def scipy_stats() -> Any:
    """Return ``scipy.stats``, which only an evaluation needs."""
    try:
        from scipy import stats
    except ImportError as error:
        raise InputError(
            "intervals need scipy, which is not installed: pip install 'pmeans[eval]'"
        ) from error
    return stats
