"""Labels, texts and languages as people have them, and labels as numbers.

A row has one label (a `str`, an `int` or a `bool`, or a whole number that is a `float`, as tables
with empty cells have them), or any number of them (a collection of `str`).
Classes are sorted, so the same labels in another order make the same classifier.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmeans.encoder.sentence_encoder import check_sentences
from pmeans.errors import InputError, count, shown
from pmeans.types import Array, Ints

Name = str | int | bool | float
"""Of a class."""

Label = Name | Collection[str]

FEW, RARE = 8, 3
"""Different texts below which training, and a class, are warned of."""


@dataclass(frozen=True)
class Targets:
    """The labels of some rows, as numbers.

    Attributes:
        classes: All labels, sorted.
        y: The class of each row, (n,) int64; or which labels it has, (n, n_classes) bool.
    """

    classes: tuple[Name, ...]
    y: Array

    @property
    def multi_label(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.y.ndim == 2


def read_targets(labels: Sequence[Name | tuple[str, ...]]) -> Targets:
    """Turn checked labels into numbers, or say why they cannot be learned."""
    multi_label = isinstance(labels[0], tuple)
    rows = [label if isinstance(label, tuple) else (label,) for label in labels]
    classes = tuple(sorted({label for row in rows for label in row}))
    if len(classes) < 2 and not (multi_label and classes and not all(rows)):
        there = f"only one class, {shown(classes[0])}" if classes else "no label at all"
        raise InputError(
            f"{len(labels):,} training rows have {there}: a classifier needs at least two. Is this "
            "the right column?"
        )
    _warn_alike([name for name in classes if isinstance(name, str)])
    number = {name: i for i, name in enumerate(classes)}
    if not multi_label:
        return Targets(classes, np.array([number[row[0]] for row in rows], dtype=np.int64))
    y = np.zeros((len(labels), len(classes)), dtype=bool)
    for i, row in enumerate(rows):
        y[i, [number[label] for label in row]] = True
    return Targets(classes, y)


def text_groups(texts: Sequence[str]) -> Ints:
    """Number texts, (n,), the same for those that differ in case or white space alone."""
    numbers: dict[str, int] = {}
    keys = (" ".join(text.casefold().split()) for text in texts)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


class FewRowsWarning(UserWarning):
    """A classifier, or one of its classes, was learned from next to nothing."""


def warn_of_few(targets: Targets, groups: Ints) -> None:
    """Warn of few texts, and of classes that have one or two."""
    pairs = (
        np.argwhere(targets.y)
        if targets.multi_label
        else np.stack([np.arange(len(groups)), targets.y], axis=1)
    )
    of_class = np.unique(np.stack([groups[pairs[:, 0]], pairs[:, 1]]), axis=1)[1]
    counts = np.bincount(of_class, minlength=len(targets.classes))
    rare = [name for name, n in zip(targets.classes, counts.tolist(), strict=True) if n < RARE]
    n_texts = len(np.unique(groups))
    reasons = []
    if n_texts < FEW:
        reasons.append(f"there are {n_texts:,} different training texts in all")
    if rare:
        names = ", ".join(map(shown, rare[:8])) + (" …" if len(rare) > 8 else "")
        reasons.append(
            f"{len(rare):,} of {len(counts):,} classes have one or two different texts: {names}"
        )
    if reasons:
        warnings.warn(
            f"too little to learn from: {'; '.join(reasons)}. Give some dozen texts per class.",
            FewRowsWarning,
            stacklevel=4,
        )


class AlikeLabelsWarning(UserWarning):
    """Two labels differ in upper case or white space alone: probably one was meant."""


def _warn_alike(classes: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for name in classes:
        other = seen.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            warnings.warn(
                f"the labels {shown(other)} and {shown(name)} are two classes, although they "
                "differ in upper case or white space alone. Was one of them meant?",
                AlikeLabelsWarning,
                stacklevel=4,
            )


def gold_labels(
    labels: Iterable[Label], n_rows: int, classes: Sequence[Name], multi_label: bool
) -> list[Any]:
    """Check labels to compare predictions with, and turn strings into the labels they spell."""
    gold: list[Any] = read_labels(labels, n_rows)
    kind = tuple if multi_label else type(classes[0])
    if not isinstance(gold[0], (kind,) if multi_label else (kind, str)):
        trained = "a list of labels" if multi_label else f"one label, a {kind.__name__},"
        raise InputError(f"this classifier was trained with {trained} for each row; give the same.")
    if isinstance(gold[0], kind):
        return gold
    spelled = {str(name): name for name in classes}
    return [spelled.get(label, label) for label in gold]


def read_labels(labels: Iterable[Label] | None, n_rows: int) -> list[Name] | list[tuple[str, ...]]:
    """Check labels against the number of texts; those of a row come sorted, each once."""
    if isinstance(labels, str):
        raise InputError("expected a label for each text, got one str: put it into a list.")
    if labels is None:  # scikit-learn's wording: its pipelines pass None where y is left out
        raise InputError("a classifier requires y to be passed, but the target y is None.")
    if getattr(labels, "ndim", 1) != 1:
        raise InputError(
            f"expected a label for each text, got a table: {type(labels).__name__}. Give one "
            "column of it; or, if texts have several labels, a list of names for each text."
        )
    listed: list[Any] = [x.item() if isinstance(x, np.generic) else x for x in labels]
    if len(listed) != n_rows:
        raise InputError(
            f"{count(n_rows, 'text')}, but {count(len(listed), 'label')}: give one for each text."
        )
    if not listed:
        raise InputError("no rows: give at least one text for each class.")
    kind = _kind(listed[0], 0)
    for i, label in enumerate(listed):
        if _kind(label, i) is not kind:
            raise InputError(
                f"row {i} has the label {shown(label)}, row 0 has {shown(listed[0])}: give every "
                "row one str, or int, or bool, or every row a list of str."
            )
    if kind is tuple:
        return [tuple(sorted(set(label))) for label in listed]
    return list(map(kind, listed))


def _kind(label: object, row: int) -> type:
    """Return what a label is: str, bool, int, float, or tuple for several of them."""
    for kind in (str, bool, int):  # True is an int to Python, but not to us
        if isinstance(label, kind):
            return kind
    if isinstance(label, float) and label.is_integer():
        return float
    if not isinstance(label, Collection) or not all(isinstance(each, str) for each in label):
        raise InputError(
            f"Unknown label type: row {row} has {shown(label)}, which is no str, int or bool, no "
            "whole number, and no collection of str."
        )
    return tuple


def read_texts(texts: Iterable[object]) -> list[str]:
    """Return texts as strings; what tables have in empty cells (None, NaN, NA) is empty."""
    check_sentences(texts)
    if getattr(texts, "ndim", 1) != 1:
        raise InputError("expected a text for each row, got a table: pass its column of texts.")
    listed: list[Any] = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
    if set(map(type, listed)) <= {str}:
        return listed
    checked = []
    for i, text in enumerate(listed):
        if isinstance(text, str):
            checked.append(str(text))
        elif text is None or type(text).__name__ == "NAType" or _is_nan(text):  # pandas has both
            checked.append("")
        else:
            raise InputError(f"text {i} is {type(text).__name__}, not a str: {shown(text, 40)}.")
    return checked


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
