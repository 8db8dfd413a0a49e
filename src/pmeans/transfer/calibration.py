"""Probabilities that mean what they say, from decisions on rows that were not trained on.

One label a row: all decisions are divided by one temperature. Several labels: each label's
decision gets a slope and an offset (Platt, 1999). Either is folded into weights and bias, so a
calibrated classifier is a linear classifier like any other.
"""

from __future__ import annotations

import numpy as np

from pmeans.transfer.linear import Linear, log_odds
from pmeans.types import Array, Floats

_STEPS = 40


def calibrated(linear: Linear, decisions: Floats, y: Array) -> Linear:
    """Return the classifier with calibrated decisions.

    Args:
        linear: The classifier.
        decisions: Of classifiers like it, on rows they had not seen, (n, n_classes).
        y: The class of each of these rows, (n,), or its labels, (n, n_classes) bool.
    """
    if y.ndim == 1:
        slope = np.float32(1 / temperature(decisions, y))
        return Linear(linear.weights * slope, linear.bias * slope)
    slopes, offsets = platt(decisions, y)
    return Linear(linear.weights * slopes[:, None], linear.bias * slopes + offsets)


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
