"""Linear classifiers: logistic regression for some classes, ridge regression for thousands.

=============  ==============================================================================
``logistic``   softmax over the classes, or a sigmoid for each label; scikit-learn's L-BFGS
``ridge``      least squares on one-hot targets, in closed form: one factorisation serves all
               classes, so that 10,000 of them cost little more than 100
=============  ==============================================================================

A penalty is relative: that fraction of the mean squared length of the centred rows, a row. So it
means the same for any number of rows and columns and any scale of them, and one that was chosen
on a sample serves for all rows.

Probabilities mean what they say by decisions on rows that were not trained on. One label a row: all
decisions are divided by one temperature. Several labels: each label's decision gets a slope and an
offset (Platt, 1999). Either is folded into weights and bias, so a calibrated classifier is a linear
classifier like any other.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.types import Array, Floats

Method = Literal["logistic", "ridge"]
ITERATIONS = 200
TOLERANCE = 1e-4
_BLOCK = 8192
_CLASSES = 1024
_STEPS = 40


@dataclass(frozen=True)
class Linear:
    """A linear classifier: ``x @ weights.T + bias``.

    Attributes:
        weights: (n_classes, dim) float32.
        bias: (n_classes,) float32.
    """

    weights: Floats
    bias: Floats

    def decide(self, x: Floats) -> Floats:
        """Return a score for each row and class, (n, n_classes)."""
        return x @ self.weights.T + self.bias


@dataclass(frozen=True)
class Calibration:
    """What makes log odds of decisions: ``decisions * slope + offset``, (n_classes,) float32 each.

    With one label a row all slopes are the same, and offsets are 0.
    """

    slope: Floats
    offset: Floats

    def apply(self, linear: Linear) -> Linear:
        """Return a classifier with calibrated decisions."""
        slope = self.slope
        return Linear(linear.weights * slope[:, None], linear.bias * slope + self.offset)


def fit(
    method: Method,
    x: Floats,
    y: Array,
    n_classes: int,
    penalty: float,
    balanced: bool = False,
    start: Linear | None = None,
) -> Linear:
    """Fit a classifier of rows, (n, dim), with a penalty that is relative to them, see above.

    ``y`` is the class of each row, (n,), with all classes, or its labels, (n, n_classes) bool.
    Balanced classes weigh the same, however many rows they have. From a ``start``, logistic
    regression ends at the same place, but sooner.
    """
    if method == "ridge":
        return ridge_path(x, y, n_classes, [penalty], balanced)[0]
    absolute = penalty * _spread(x)
    if y.ndim == 1:
        return _logistic(x, y, absolute, balanced, start)
    return _one_against_rest(x, y, absolute, balanced, start)


def _spread(x: Floats) -> float:
    """Return the mean squared length of the centred rows."""
    mean = x.mean(axis=0, dtype=np.float64)
    squares = float(np.einsum("ij,ij->", x, x, dtype=np.float64)) / len(x)
    return max(squares - float(mean @ mean), 1e-12)


def _logistic(x: Floats, y: Array, penalty: float, balanced: bool, start: Linear | None) -> Linear:
    solution = _scikit(x, y, penalty, balanced, start)
    if len(solution.coef_) > 1:
        return Linear(solution.coef_.astype(np.float32), solution.intercept_.astype(np.float32))
    # Two classes are one row of weights; halves of either sign give the same softmax.
    weights, bias = solution.coef_ / 2, solution.intercept_ / 2
    return Linear(
        np.concatenate([-weights, weights]).astype(np.float32),
        np.concatenate([-bias, bias]).astype(np.float32),
    )


def _scikit(x: Floats, y: Array, penalty: float, balanced: bool, start: Linear | None) -> Any:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    classifier = LogisticRegression(
        C=1 / (penalty * len(x)),
        class_weight="balanced" if balanced else None,
        max_iter=ITERATIONS,
        tol=TOLERANCE,
        warm_start=True,
    )
    if start is not None:
        two = len(start.weights) == 2
        classifier.coef_ = start.weights[1:] * 2 if two else start.weights
        classifier.intercept_ = start.bias[1:] * 2 if two else start.bias
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return classifier.fit(x, y)


def _one_against_rest(
    x: Floats, y: Array, penalty: float, balanced: bool, start: Linear | None
) -> Linear:
    weights = np.zeros((y.shape[1], x.shape[1]), dtype=np.float32)
    bias = np.zeros(y.shape[1], dtype=np.float32)
    for k, has in enumerate(y.T):
        if has.any() and not has.all():
            begin = None
            if start is not None:
                # As two classes are kept: halves, of which the second is looked at.
                half = np.float32(0.5)
                begin = Linear(start.weights[[k, k]] * half, start.bias[[k, k]] * half)
            solution = _scikit(x, has, penalty, balanced, begin)
            weights[k], bias[k] = solution.coef_[0], solution.intercept_[0]
        else:
            bias[k] = log_odds((has.sum() + 1) / (len(has) + 2))
    return Linear(weights, bias)


def log_odds(p: Any) -> Any:
    """Return what a sigmoid turns into p."""
    return np.log(p) - np.log1p(-p)


def ridge_path(
    x: Floats, y: Array, n_classes: int, penalties: Sequence[float], balanced: bool = False
) -> list[Linear]:
    """Fit ridge regressions that differ in their penalty; the products are summed once."""
    from scipy.linalg import cho_factor, cho_solve

    n, dim = x.shape
    weight = row_weights(y, n_classes) if balanced else np.ones(n, dtype=np.float32)
    total = float(weight.sum())
    mean = (weight @ x) / np.float32(total)
    sums, counts = _class_sums(x, y, n_classes, weight)
    mean_y = counts / total
    # Products of centred rows, so that the bias is free of the penalty. With fewer rows than
    # columns, of rows with rows: W = X'(XX' + penalty)^-1 Y is (X'X + penalty)^-1 X'Y.
    root = np.sqrt(weight[:, None])
    rows = (x - mean) * root if n < dim else None
    if rows is not None:
        gram = (rows @ rows.T).astype(np.float64)
    else:
        gram = np.zeros((dim, dim))
        for start in range(0, n, _BLOCK):
            block = (x[start : start + _BLOCK] - mean) * root[start : start + _BLOCK]
            gram += block.T @ block
    scale = max(float(np.trace(gram)), 1e-12)  # of all rows together, as the loss is here
    fitted = []
    for penalty in penalties:
        factors = cho_factor(gram + penalty * scale * np.eye(len(gram)))
        weights = np.empty((n_classes, dim), dtype=np.float32)
        # Some classes at a time: the float64 targets of all are four times the weights.
        for start in range(0, n_classes, _CLASSES):
            some = slice(start, min(start + _CLASSES, n_classes))
            if rows is not None:
                target: Array = (_one_hot(y, some) - mean_y[some]) * root
                weights[some] = cho_solve(factors, target).astype(np.float32).T @ rows
            else:
                target = sums[some].T - np.outer(mean, counts[some])
                weights[some] = cho_solve(factors, target).T
        fitted.append(Linear(weights, (mean_y - weights @ mean).astype(np.float32)))
    return fitted


def _one_hot(y: Array, classes: slice) -> Array:
    """Return which of some classes each row has, (n, n_some)."""
    return y[:, classes] if y.ndim == 2 else y[:, None] == np.arange(classes.start, classes.stop)


def row_weights(y: Array, n_classes: int) -> Floats:
    """Return weights of rows, (n,), by which all classes weigh the same."""
    if y.ndim == 2:
        raise InputError(
            "class_weight='balanced' is for one label a row, or for few labels: with "
            f"{n_classes:,} labels leave it out."
        )
    counts = np.bincount(y, minlength=n_classes)
    present = np.count_nonzero(counts)
    return (len(y) / present / np.maximum(counts, 1)).astype(np.float32)[y]


def _class_sums(x: Floats, y: Array, n_classes: int, weight: Floats) -> tuple[Floats, Array]:
    """Return the weighted sum of the rows of each class, (n_classes, dim), and its weight."""
    sums = np.zeros((n_classes, x.shape[1]), dtype=np.float32)
    if y.ndim == 2:
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            sums += y[block].T.astype(np.float32) @ x[block]
        return sums, y.sum(axis=0).astype(np.float64)
    order = np.argsort(y, kind="stable")
    borders = np.searchsorted(y[order], np.arange(n_classes + 1))
    for k in range(n_classes):
        rows = order[borders[k] : borders[k + 1]]
        sums[k] = weight[rows] @ x[rows]
    return sums, np.bincount(y, weights=weight, minlength=n_classes)


def calibration(decisions: Floats, y: Array) -> Calibration:
    """Calibrate decisions of classifiers on rows they had not seen, (n, n_classes).

    ``y`` has the classes of the rows, (n,), or their labels, (n, n_classes) bool.
    """
    if y.ndim == 2:
        return Calibration(*platt(decisions, y))
    slope = np.full(decisions.shape[1], 1 / temperature(decisions, y), dtype=np.float32)
    return Calibration(slope, np.zeros_like(slope))


def probabilities(decisions: Floats, multi_label: bool) -> Floats:
    """Turn calibrated decisions into probabilities, (n, n_classes)."""
    if multi_label:
        # The sigmoid in a form that cannot overflow.
        return np.float32(0.5) * (1 + np.tanh(decisions * np.float32(0.5)))
    powers = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def temperature(decisions: Floats, y: Array) -> float:
    """Return the temperature at which the right classes are likeliest."""
    from scipy.optimize import minimize_scalar

    scores = decisions - decisions.max(axis=1, keepdims=True)
    # A trace of all classes is in the target (Platt's idea): decisions that happen to be right on
    # every row keep a finite slope.
    trace = np.float32(1 / (len(y) + 2))
    right = (1 - trace) * scores[np.arange(len(y)), y] + trace * scores.mean(axis=1)

    def loss(log_temperature: float) -> float:
        slope = np.float32(np.exp(-log_temperature))
        return float(np.mean(np.log(np.exp(scores * slope).sum(axis=1)) - right * slope))

    # Ridge decisions lie between 0 and 1, and want about 0.05; nothing wants these bounds.
    return float(np.exp(minimize_scalar(loss, bounds=(-6, 6), method="bounded").x))


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return centre and half the length of Wilson's interval of a share of n; 95 % by default."""
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    return centre, z / scale * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)


def platt(decisions: Floats, y: Array) -> tuple[Floats, Floats]:
    """Return a slope, never below 0, and an offset for each label, (n_labels,) each."""
    z = decisions.astype(np.float64)
    centre, spread = z.mean(axis=0), np.maximum(z.std(axis=0), 1e-9)
    z = (z - centre) / spread
    positive = y.sum(axis=0)
    # Platt's targets: a label that happens to be told apart perfectly keeps a finite slope.
    high, low = (positive + 1) / (positive + 2), 1 / (len(y) - positive + 2)
    target = np.where(y, high, low)
    slope, offset = np.ones(z.shape[1]), np.zeros(z.shape[1])
    for _ in range(_STEPS):  # Newton's method on two numbers a label, all labels at once
        p = 0.5 * (1 + np.tanh((z * slope + offset) / 2))
        curve = p * (1 - p) + 1e-9
        error = p - target
        g_slope, g_offset = (error * z).mean(axis=0), error.mean(axis=0)
        a, b, c = (curve * z * z).mean(axis=0), (curve * z).mean(axis=0), curve.mean(axis=0)
        determinant = a * c - b * b + 1e-12
        slope = slope - np.clip((c * g_slope - b * g_offset) / determinant, -1, 1)
        offset = offset - np.clip((a * g_offset - b * g_slope) / determinant, -1, 1)
    # A slope below 0 is chance, on few rows: such a label keeps its share of them.
    offset = np.where(slope > 0, offset, log_odds(target.mean(axis=0)))
    slope = np.maximum(slope, 0) / spread
    return slope.astype(np.float32), (offset - slope * centre).astype(np.float32)
