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

from pmeans.errors import InputError, counted
from pmeans.sentence_encoder import check_sentences
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


def read_targets(given: Sequence[Name | tuple[str, ...]]) -> Targets:
    """Turn checked labels into numbers, or say why they cannot be learned."""
    multi_label = isinstance(given[0], tuple)
    rows = [label if isinstance(label, tuple) else (label,) for label in given]
    classes = tuple(sorted({label for row in rows for label in row}))
    if len(classes) < 2 and not (multi_label and classes and not all(rows)):
        found = f"only one class, {classes[0]!r}" if classes else "no label at all"
        raise InputError(
            f"{counted(len(given), 'training row')} with {found}: a classifier needs at least two. "
            "Is this the right column?"
        )
    _warn_alike([name for name in classes if isinstance(name, str)])
    number = {name: i for i, name in enumerate(classes)}
    if not multi_label:
        return Targets(classes, np.array([number[row[0]] for row in rows], dtype=np.int64))
    y = np.zeros((len(given), len(classes)), dtype=bool)
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
        reasons.append(f"{counted(n_texts, 'different training text')} in all")
    if rare:
        shown = ", ".join(map(repr, rare[:8])) + (" …" if len(rare) > 8 else "")
        reasons.append(
            f"{len(rare):,} of {len(counts):,} classes have one or two different texts: {shown}"
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
                f"the labels {other!r} and {name!r} are two classes, although they differ in upper "
                "case or white space alone. Was one of them meant?",
                AlikeLabelsWarning,
                stacklevel=4,
            )


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
    given: list[Any] = [x.item() if isinstance(x, np.generic) else x for x in labels]
    if len(given) != n_rows:
        raise InputError(
            f"{counted(n_rows, 'text')} and {counted(len(given), 'label')}: "
            "each text needs its label."
        )
    if not given:
        raise InputError("no rows: give at least one text for each class.")
    kind = _kind(given[0], 0)
    for i, label in enumerate(given):
        if _kind(label, i) is not kind:
            raise InputError(
                f"row {i} has the label {label!r}, row 0 has {given[0]!r}: give every row one "
                "str, or int, or bool, or every row a list of str."
            )
    if kind is tuple:
        return [tuple(sorted(set(label))) for label in given]
    return list(map(kind, given))


def _kind(label: object, row: int) -> type:
    """Return what a label is: str, bool, int, float, or tuple for several of them."""
    for kind in (str, bool, int):  # True is an int to Python, but not to us
        if isinstance(label, kind):
            return kind
    if isinstance(label, float) and label.is_integer():
        return float
    if not isinstance(label, Collection) or not all(isinstance(each, str) for each in label):
        raise InputError(
            f"Unknown label type: row {row} has {label!r}, which is no str, int or bool, no whole "
            "number, and no collection of str."
        )
    return tuple


def read_texts(texts: Iterable[object]) -> list[str]:
    """Return texts as strings; what tables have in empty cells (None, NaN, NA) is empty."""
    check_sentences(texts)
    if getattr(texts, "ndim", 1) != 1:
        raise InputError("expected a text for each row, got a table: pass its column of texts.")
    given: list[Any] = texts.tolist() if isinstance(texts, np.ndarray) else list(texts)
    if set(map(type, given)) <= {str}:
        return given
    found = []
    for i, text in enumerate(given):
        if isinstance(text, str):
            found.append(str(text))
        elif text is None or type(text).__name__ == "NAType" or _is_nan(text):  # pandas has both
            found.append("")
        else:
            raise InputError(f"text {i} is {type(text).__name__}, not a str: {text!r:.40}.")
    return found


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def read_languages(lang: str | Iterable[str] | None, n_rows: int) -> str | list[str] | None:
    """Return one language for all rows, or a checked list with one for each."""
    if lang is None or isinstance(lang, str):
        return lang
    codes = list(lang)
    if len(codes) != n_rows:
        raise InputError(
            f"{counted(n_rows, 'text')} and {counted(len(codes), 'language')}: "
            "give one for each text."
        )
    return codes
