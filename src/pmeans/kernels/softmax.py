"""Many small softmax classifiers, trained by Adam until a development score stops rising.

An evaluation fits hundreds of linear classifiers on the rows of one matrix. Those of a `FitGroup`
see the same minibatches in the same order and differ in learning rate and L2 alone, so a row that
was fetched from memory serves all of them. `train_group` is the whole procedure in plain NumPy:
the specification of the native core, and its stand-in where none could be compiled.
`tests/property/test_softmax_cores.py` holds the two equal, `tests/unit/kernels/test_softmax.py`
both to torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from pmeans.errors import InputError, shown
from pmeans.types import Array, Floats, Ids

Measure = Literal["accuracy", "macro-f1"]
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
"""Adam's usual constants."""


@dataclass(frozen=True)
class FitRule:
    """How every classifier of a protocol is trained.

    Attributes:
        batch: Rows a step.
        epochs_a_round: Passes over the training rows between two looks at the development score.
        max_epochs: Passes after which training ends in any case.
        patience: Training ends at this many rounds without a new best score.
        patience_resets: Whether a new best score sets that count back to zero.
        loss: The sum or the mean of the cross-entropy over a minibatch.
        measure: The development score.
    """

    batch: int
    epochs_a_round: int
    max_epochs: int
    patience: int
    patience_resets: bool
    loss: Literal["sum", "mean"]
    measure: Measure


@dataclass(frozen=True)
class FitGroup:
    """Classifiers that see the same rows in the same order.

    Attributes:
        x: Features, (n, dim) float32, C-contiguous.
        labels: Classes, (n,) int32, from 0 on.
        train: Training rows, (n_train,) int32, in the order that the shuffles refer to.
        dev: Development rows, (n_dev,) int32.
        seed: Seeds NumPy's legacy generator, `numpy.random.RandomState`, which shuffles.
        drawn: If not 0, one permutation of this many is drawn before the first epoch's, because
            the caller drew it from the same generator.
        weights: First weights of all, (n_classes, dim) float32.
        bias: First bias of all, (n_classes,) float32.
        rates: Adam's learning rate of each classifier, (n_fits,).
        l2: L2 penalty of each classifier, as coupled weight decay: l2 * weights is added to the
            gradient of weights and of bias, (n_fits,).
    """

    x: Floats
    labels: Ids
    train: Ids
    dev: Ids
    seed: int
    drawn: int
    weights: Floats
    bias: Floats
    rates: tuple[float, ...]
    l2: tuple[float, ...]


@dataclass(frozen=True)
class Fitted:
    """One trained classifier: the weights of its best round.

    Attributes:
        weights: (n_classes, dim) float32.
        bias: (n_classes,) float32.
        score: Best development score, between 0 and 1.
        epochs: Passes over the training rows until it stopped.
    """

    weights: Floats
    bias: Floats
    score: float
    epochs: int


_SHAPES = {
    "x": ("float32", 2), "weights": ("float32", 2), "bias": ("float32", 1),
    "labels": ("int32", 1), "train": ("int32", 1), "dev": ("int32", 1),
}  # fmt: skip
_LARGEST = 2**32 - 1


def check_rule(rule: FitRule) -> None:
    """Refuse a rule that no training can follow."""
    for name in ("batch", "epochs_a_round", "max_epochs", "patience"):
        value = getattr(rule, name)
        if not isinstance(value, int) or not 1 <= value <= _LARGEST:
            raise InputError(f"{name} must be a whole number from 1 on, not {shown(value, 40)}.")
    if rule.loss not in ("sum", "mean"):
        raise InputError(f"loss {rule.loss!r} is neither 'sum' nor 'mean'.")
    if rule.measure not in ("accuracy", "macro-f1"):
        raise InputError(f"measure {rule.measure!r} is neither 'accuracy' nor 'macro-f1'.")


def check_groups(
    groups: Sequence[FitGroup], first_not_finite: Callable[[Array], int | None]
) -> None:
    """Refuse groups with an array, an index, a label or a number that cannot be meant.

    Every complaint names the group by its place. A matrix that many share is looked through once.
    """
    for i, group in enumerate(groups):
        for wrong in chain(_wrong_arrays(group), _wrong_numbers(group)):
            raise InputError(f"group {i}: {wrong}.")
    seen: set[int] = set()
    for i, group in enumerate(groups):
        if id(group.x) not in seen and (row := first_not_finite(group.x)) is not None:
            raise InputError(
                f"group {i}: row {row} of x has NaN or infinity, on which nothing can be trained."
            )
        seen.add(id(group.x))


def _wrong_arrays(group: FitGroup) -> Iterator[str]:
    """Yield what is wrong with the arrays; what follows a complaint may rest on it."""
    for name, (dtype, ndim) in _SHAPES.items():
        array = getattr(group, name)
        is_array = isinstance(array, np.ndarray)
        if not is_array or array.dtype != dtype or array.ndim != ndim:
            kind = f"{array.shape} {array.dtype}" if is_array else type(array).__name__
            yield f"{name} must be {dtype} with {ndim} dimension(s), not {kind}"
        if not array.flags.c_contiguous:
            yield f"{name} must lie row by row in memory: np.ascontiguousarray it"
    (n, dim), n_classes = group.x.shape, len(group.weights)
    if dim < 1 or n_classes < 2:
        yield f"{dim} features and {n_classes} classes; a classifier needs at least 1 and 2"
    expected = {"labels": (n,), "weights": (n_classes, dim), "bias": (n_classes,)}
    for name, shape in expected.items():
        array = getattr(group, name)
        if array.shape != shape:
            of = f"x of {group.x.shape} and {n_classes} classes"
            yield f"{name} is {array.shape}, expected {shape} for {of}"
        if not np.isfinite(array).all():
            yield f"the first {name} have NaN or infinity"
    limits = {"labels": (n_classes, "classes"), "train": (n, "rows"), "dev": (n, "rows")}
    for name, (limit, what) in limits.items():
        array = getattr(group, name)
        if not len(array) and name != "labels":
            yield f"{name} has no row"
        for wrong in array[(array < 0) | (array >= limit)][:1]:
            yield f"{name} names {wrong}; there are {limit} {what}, from 0 on"


def _wrong_numbers(group: FitGroup) -> Iterator[str]:
    for name in ("seed", "drawn"):
        value = getattr(group, name)
        if not isinstance(value, int) or not 0 <= value <= _LARGEST:
            yield f"{name} must be a whole number from 0 to {_LARGEST}, not {shown(value, 40)}"
    for name in ("rates", "l2"):
        values = getattr(group, name)
        if not isinstance(values, tuple) or not all(isinstance(v, int | float) for v in values):
            yield f"{name} must be a tuple of numbers, not {shown(values, 60)}"
    rates, l2 = group.rates, group.l2
    if len(rates) != len(l2):
        yield f"{len(rates)} rates and {len(l2)} l2; each classifier has one of both"
    if not all(0 < rate < np.inf for rate in rates):
        yield f"rates must be positive and finite, not {rates}"
    if not all(0 <= each < np.inf for each in l2):
        yield f"l2 must be finite and not negative, not {l2}"


def train_group(group: FitGroup, rule: FitRule) -> list[Fitted]:
    """Train the classifiers of a group one after the other."""
    return [_train(group, rule, *each) for each in zip(group.rates, group.l2, strict=True)]


def _train(group: FitGroup, rule: FitRule, rate: float, l2: float) -> Fitted:
    generator = np.random.RandomState(group.seed)
    if group.drawn:
        generator.permutation(group.drawn)
    # Weights and bias are one (n_classes, dim + 1) array, as the penalty falls on both.
    w = np.concatenate([group.weights, group.bias[:, None]], axis=1)
    m, v = np.zeros_like(w), np.zeros_like(w)
    x_dev, y_dev = group.x[group.dev], group.labels[group.dev]
    best, best_w, step, epochs, stale = -1.0, w, 0, 0, 0
    while epochs < rule.max_epochs and stale < rule.patience:
        for _ in range(rule.epochs_a_round):
            order = group.train[generator.permutation(len(group.train))]
            for start in range(0, len(order), rule.batch):
                rows = order[start : start + rule.batch]
                step += 1
                gradient = _gradient(w, group.x[rows], group.labels[rows], rule)
                gradient += np.float32(l2) * w
                m += np.float32(1 - BETA1) * (gradient - m)
                v = np.float32(BETA2) * v + np.float32(1 - BETA2) * gradient * gradient
                size = np.float32(rate / (1 - BETA1**step))
                root = np.float32(np.sqrt(1 - BETA2**step))
                w = w - size * m / (np.sqrt(v) / root + np.float32(EPSILON))
        epochs += rule.epochs_a_round
        predicted = (x_dev @ w[:, :-1].T + w[:, -1]).argmax(axis=1)
        score = measured(rule.measure, y_dev, predicted, len(w))
        if score > best:
            best, best_w = score, w
            stale = 0 if rule.patience_resets else stale
        else:
            stale += 1
    return Fitted(best_w[:, :-1].copy(), best_w[:, -1].copy(), best, epochs)


def _gradient(w: Floats, x: Floats, y: Ids, rule: FitRule) -> Floats:
    """Return the gradient of the cross-entropy, (n_classes, dim + 1)."""
    logits = x @ w[:, :-1].T + w[:, -1]
    logits -= logits.max(axis=1, keepdims=True)
    error = np.exp(logits)
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(len(y)), y] -= 1
    if rule.loss == "mean":
        error /= np.float32(len(y))
    return np.concatenate([error.T @ x, error.sum(axis=0)[:, None]], axis=1)


def measured(measure: Measure, gold: Array, predicted: Array, n_classes: int) -> float:
    """Return accuracy or macro-F1, between 0 and 1.

    Macro-F1 is the plain mean of F1 over the classes that occur in ``gold`` or ``predicted``.
    """
    if measure == "accuracy":
        return float(np.mean(gold == predicted))
    counts = np.bincount(gold * n_classes + predicted, minlength=n_classes * n_classes)
    table = counts.reshape(n_classes, n_classes)
    hits = np.diagonal(table)
    sizes = table.sum(axis=0) + table.sum(axis=1)
    present = sizes > 0
    # In the order of the classes: another order may differ in the last bit, and the strict
    # comparison of two rounds would see it.
    return float(np.cumsum(2 * hits[present] / sizes[present])[-1] / np.count_nonzero(present))
