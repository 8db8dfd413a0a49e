"""Checks of what is to be trained, before any core reads through an index.

Every complaint names the group by its place in the list. A matrix that many groups share is
looked through once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pmeans.errors import InputError
from pmeans.kernels.softmax import FitGroup, FitRule
from pmeans.types import Array

_LARGEST = 2**32 - 1


def check_rule(rule: FitRule) -> None:
    """Refuse a rule that no training can follow."""
    for name in ("batch", "epochs_a_round", "max_epochs", "patience"):
        value = getattr(rule, name)
        if not isinstance(value, int) or not 1 <= value <= _LARGEST:
            raise InputError(f"{name} must be a whole number from 1 on, not {value!r:.40}.")
    if rule.loss not in ("sum", "mean"):
        raise InputError(f"loss {rule.loss!r} is neither 'sum' nor 'mean'.")
    if rule.measure not in ("accuracy", "macro-f1"):
        raise InputError(f"measure {rule.measure!r} is neither 'accuracy' nor 'macro-f1'.")


def check_groups(
    groups: Sequence[FitGroup], first_not_finite: Callable[[Array], int | None]
) -> None:
    """Refuse groups with an array, an index, a label or a number that cannot be meant."""
    for i, group in enumerate(groups):
        _check_arrays(i, group)
        _check_numbers(i, group)
    seen: set[int] = set()
    for i, group in enumerate(groups):
        if id(group.x) not in seen and (row := first_not_finite(group.x)) is not None:
            raise InputError(
                f"group {i}: row {row} of x has NaN or infinity, on which nothing can be trained."
            )
        seen.add(id(group.x))


def _check_arrays(i: int, group: FitGroup) -> None:
    _check_array(i, "x", group.x, np.float32, 2)
    _check_array(i, "weights", group.weights, np.float32, 2)
    _check_array(i, "bias", group.bias, np.float32, 1)
    for name in ("labels", "train", "dev"):
        _check_array(i, name, getattr(group, name), np.int32, 1)
    n, dim = group.x.shape
    n_classes = len(group.weights)
    if dim < 1 or n_classes < 2:
        raise InputError(
            f"group {i}: {dim} features and {n_classes} classes; "
            "a classifier needs at least 1 and 2."
        )
    expected = {"labels": (n,), "weights": (n_classes, dim), "bias": (n_classes,)}
    for name, shape in expected.items():
        if getattr(group, name).shape != shape:
            raise InputError(
                f"group {i}: {name} is {getattr(group, name).shape}, expected {shape} "
                f"for x of {group.x.shape} and {n_classes} classes."
            )
    for name in ("weights", "bias"):
        if not np.isfinite(getattr(group, name)).all():
            raise InputError(f"group {i}: the first {name} have NaN or infinity.")
    _check_range(i, "labels", group.labels, n_classes, "classes")
    for name in ("train", "dev"):
        if not len(getattr(group, name)):
            raise InputError(f"group {i}: {name} has no row.")
        _check_range(i, name, getattr(group, name), n, "rows")


def _check_array(i: int, name: str, array: Array, dtype: type, ndim: int) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != ndim:
        found = (
            f"{array.shape} {array.dtype}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        raise InputError(
            f"group {i}: {name} must be {np.dtype(dtype)} with {ndim} dimension(s), not {found}."
        )
    if not array.flags.c_contiguous:
        raise InputError(
            f"group {i}: {name} must lie row by row in memory: np.ascontiguousarray it."
        )


def _check_range(i: int, name: str, array: Array, limit: int, what: str) -> None:
    if len(array) and not 0 <= array.min() <= array.max() < limit:
        wrong = array[(array < 0) | (array >= limit)][0]
        raise InputError(f"group {i}: {name} names {wrong}; there are {limit} {what}, from 0 on.")


def _check_numbers(i: int, group: FitGroup) -> None:
    for name in ("seed", "drawn"):
        value = getattr(group, name)
        if not isinstance(value, int) or not 0 <= value <= _LARGEST:
            raise InputError(
                f"group {i}: {name} must be a whole number from 0 to {_LARGEST}, not {value!r:.40}."
            )
    for name in ("rates", "l2"):
        values = getattr(group, name)
        if not isinstance(values, tuple) or not all(isinstance(v, int | float) for v in values):
            raise InputError(f"group {i}: {name} must be a tuple of numbers, not {values!r:.60}.")
    if len(group.rates) != len(group.l2):
        raise InputError(
            f"group {i}: {len(group.rates)} rates and {len(group.l2)} l2; "
            "each classifier has one of both."
        )
    if not all(0 < rate < np.inf for rate in group.rates):
        raise InputError(f"group {i}: rates must be positive and finite, not {group.rates}.")
    if not all(0 <= l2 < np.inf for l2 in group.l2):
        raise InputError(f"group {i}: l2 must be finite and not negative, not {group.l2}.")
