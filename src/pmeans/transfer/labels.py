"""Labels, texts and languages as people have them, and labels as numbers.

A row has one label (a `str`) or any number of them (a collection of `str`). Classes are sorted,
so the same labels in another order make the same classifier.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.errors import InputError
from pmeans.sentence_encoder import check_sentences
from pmeans.types import Array

Label = str | Collection[str]


@dataclass(frozen=True)
class Targets:
    """The labels of some rows, as numbers.

    Attributes:
        classes: All labels, sorted.
        y: The class of each row, (n,) int64; or which labels it has, (n, n_classes) bool.
    """

    classes: tuple[str, ...]
    y: Array

    @property
    def multi_label(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.y.ndim == 2


def read_targets(given: Sequence[str | tuple[str, ...]]) -> Targets:
    """Turn checked labels into numbers, or say why they cannot be learned."""
    multi_label = not isinstance(given[0], str)
    rows = [(label,) if isinstance(label, str) else label for label in given]
    classes = tuple(sorted({label for row in rows for label in row}))
    if len(classes) < 2 and not (multi_label and classes and not all(rows)):
        found = f"only the label {classes[0]!r}" if classes else "no label at all"
        raise InputError(
            f"{len(given):,} training rows have {found}: a classifier needs at least two classes. "
            "Is this the right column?"
        )
    _warn_alike(classes)
    number = {name: i for i, name in enumerate(classes)}
    if not multi_label:
        return Targets(classes, np.array([number[row[0]] for row in rows], dtype=np.int64))
    y = np.zeros((len(given), len(classes)), dtype=bool)
    for i, row in enumerate(rows):
        y[i, [number[label] for label in row]] = True
    return Targets(classes, y)


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


def read_labels(labels: Iterable[Label], n_rows: int) -> list[str] | list[tuple[str, ...]]:
    """Check labels against the number of texts; those of a row come sorted, each once."""
    if isinstance(labels, str):
        raise InputError("expected a label for each text, got one str: put it into a list.")
    given = list(labels)
    if len(given) != n_rows:
        raise InputError(f"{n_rows:,} texts and {len(given):,} labels: each text needs its label.")
    if not given:
        raise InputError("no rows: give at least one text for each class.")
    single = isinstance(given[0], str)
    for i, label in enumerate(given):
        if isinstance(label, str) != single:
            raise InputError(
                f"row {i} has the label {label!r}, row 0 has {given[0]!r}: give every row one "
                "str, or every row a list of them."
            )
        if not single and not _are_strings(label):
            raise InputError(f"row {i}: the label {label!r} is no str and no collection of str.")
    return [str(label) if single else tuple(sorted(set(label))) for label in given]  # type: ignore[return-value]


def _are_strings(label: object) -> bool:
    return isinstance(label, Collection) and all(isinstance(each, str) for each in label)


def read_texts(texts: Iterable[object]) -> list[str]:
    """Return texts as strings; None and NaN, as tables have them in empty cells, are empty."""
    check_sentences(texts)
    given = list(texts)
    if set(map(type, given)) <= {str}:
        return given  # type: ignore[return-value]
    found = []
    for i, text in enumerate(given):
        if text is None or (isinstance(text, float) and math.isnan(text)):
            found.append("")
        elif isinstance(text, str):
            found.append(text)
        else:
            raise InputError(f"text {i} is {type(text).__name__}, not a str: {text!r:.40}.")
    return found


def read_languages(lang: str | Iterable[str] | None, n_rows: int) -> str | list[str] | None:
    """Return one language for all rows, or a checked list with one for each."""
    if lang is None or isinstance(lang, str):
        return lang
    codes = list(lang)
    if len(codes) != n_rows:
        raise InputError(f"{n_rows:,} texts and {len(codes):,} languages: give one for each text.")
    return codes
