"""Training rows with their classes, a sample of them, and the folds they are held out in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pmeans.kernels.softmax import measured
from pmeans.transfer import linear
from pmeans.transfer.linear import Linear, Method
from pmeans.types import Array, Floats, Ints

Criterion = Literal["accuracy", "macro-f1", "average-precision"]

FOLDS = 3
SAMPLE = 2000
FEWEST = 10
"""Rows per class, on average, that a sample must have to say something; else classes go."""

_MANY_CLASSES, _MANY_LABELS = 100, 20


@dataclass(frozen=True)
class Examples:
    """What is learned from: rows (n, dim), and classes (n,) or labels (n, n_classes)."""

    x: Floats
    y: Array
    n_classes: int
    balanced: bool

    @property
    def method(self) -> Method:
        """How so many classes are learned."""
        few = self.n_classes <= (_MANY_CLASSES if self.y.ndim == 1 else _MANY_LABELS)
        return "logistic" if few else "ridge"

    @property
    def measure(self) -> Criterion:
        """What a choice is judged by."""
        if self.y.ndim == 2:
            return "average-precision"
        return "macro-f1" if self.balanced else "accuracy"

    def at(self, rows: Array) -> Examples:
        """Return some rows, with the classes as they are."""
        return Examples(self.x[rows], self.y[rows], self.n_classes, self.balanced)

    def with_columns(self, columns: Array, factor: Floats) -> Examples:
        """Return the same rows with fewer columns, each multiplied by a factor."""
        return Examples(self.x[:, columns] * factor[columns], self.y, self.n_classes, self.balanced)

    def fit(self, method: Method, penalty: float, start: Linear | None = None) -> Linear:
        """Fit a classifier on all of them."""
        return linear.fit(method, self.x, self.y, self.n_classes, penalty, self.balanced, start)

    def prior(self) -> Floats:
        """Return the logarithm of each class's share, or the log odds of each label's."""
        if self.y.ndim == 2:
            found = linear.log_odds((self.y.sum(axis=0) + 1) / (len(self.y) + 2))
        elif self.balanced:
            found = np.full(self.n_classes, -np.log(self.n_classes))
        else:
            found = np.log(np.bincount(self.y, minlength=self.n_classes) / len(self.y))
        return np.asarray(found, dtype=np.float32)

    def score(self, decisions: Floats, rows: Ints) -> float:
        """Score decisions on some of the rows, between 0 and 1."""
        y = self.y[rows]
        if self.measure != "average-precision":
            return measured(self.measure, y, decisions.argmax(axis=1), self.n_classes)
        from sklearn.metrics import average_precision_score

        labels = y.any(axis=0)  # of a label that no row has there is nothing to find
        return float(average_precision_score(y[:, labels], decisions[:, labels], average="macro"))


def sample(rows: Examples, rng: np.random.Generator) -> Examples:
    """Return at most `SAMPLE` rows; classes that are not among them lose their number."""
    y, n = rows.y, len(rows.y)
    if n <= SAMPLE:
        return rows
    if y.ndim == 2:
        return rows.at(np.sort(rng.permutation(n)[:SAMPLE]))
    pool = np.arange(n)
    if rows.n_classes * FEWEST > SAMPLE:
        # Few rows of each class would say little: all rows of fewer classes.
        order = rng.permutation(rows.n_classes)
        sizes = np.cumsum(np.bincount(y, minlength=rows.n_classes)[order])
        taken = order[: max(2, int(np.searchsorted(sizes, SAMPLE, side="right")))]
        pool = np.flatnonzero(np.isin(y, taken))
    # Sorted by class, in random order within each: every k-th row has all classes' shares.
    order = pool[np.lexsort((rng.random(len(pool)), y[pool]))]
    which = np.sort(order[np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(np.int64)])
    present, numbered = np.unique(y[which], return_inverse=True)
    return Examples(rows.x[which], numbered, len(present), rows.balanced)


def folds(y: Array, rng: np.random.Generator) -> Ints:
    """Deal rows to folds, class by class, (n,); -1 is never held out, as the one of its class."""
    dealt = np.full(len(y), -1)
    if y.ndim == 2:
        dealt[rng.permutation(len(y))] = np.arange(len(y)) % FOLDS
        return dealt
    order = np.lexsort((rng.random(len(y)), y))
    order = order[np.bincount(y)[y[order]] > 1]
    dealt[order] = np.arange(len(order)) % FOLDS
    return dealt


def splits(fold: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows to train on and those held out, for each fold that holds any."""
    for k in range(FOLDS):
        if (fold == k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
