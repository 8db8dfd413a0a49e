"""What an evaluation is made of: a dataset goes into a protocol, scores come out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pmeans.types import Array, Ints

TaskPart = Literal["all", "train", "dev", "test", "first", "second"]
"""Rows to be split, published parts, or the two sides of graded pairs."""
Scoring = Literal["accuracy", "macro-f1", "spearman"]
"""What a score measures."""


@dataclass(frozen=True)
class Examples:
    """Labelled sentences of one language.

    Attributes:
        sentences: Tokens with spaces between, (n,).
        labels: Index into the dataset's classes, (n,) int64; of graded pairs their grades, (n,)
            float64; zeros where sentences are all there is.
    """

    sentences: tuple[str, ...]
    labels: Array

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True)
class Dataset:
    """A task's sentences.

    Attributes:
        task: The task's name.
        classes: Names of the classes.
        measure: The score that is reported.
        parallel: Whether row i of a part means the same in every language.
        rows: For each language its parts: ``all``, to be split by the protocol, or ``train`` and
            ``test``, with ``dev`` or without; ``test`` alone for retrieval; ``first`` and
            ``second`` for graded pairs.
    """

    task: str
    classes: tuple[str, ...]
    measure: Scoring
    parallel: bool
    rows: Mapping[str, Mapping[TaskPart, Examples]]

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages that there are rows of."""
        return tuple(self.rows)

    def fingerprint(self, *languages: str) -> str:
        """Return twelve hexadecimal digits over the rows of some languages."""
        digest = hashlib.sha256(repr(self.classes).encode())
        for lang in languages:
            for part, rows in self.rows[lang].items():
                digest.update(f"\0{lang}\0{part}\0".encode())
                digest.update("\n".join(rows.sentences).encode("utf-8", "surrogatepass"))
                kind = "<f8" if rows.labels.dtype.kind == "f" else "<i8"
                digest.update(rows.labels.astype(kind).tobytes())
        return digest.hexdigest()[:12]

    def class_name(self, label: int) -> str:
        """Return a class as it is shown in messages."""
        known = 0 <= label < len(self.classes)
        return repr(self.classes[label]) if known else f"number {label}"


@dataclass(frozen=True)
class Score:
    """One raw score: of one fold, one repetition, or one test set.

    Attributes:
        test_lang: Language of the test rows.
        split: Number of the fold or the repetition; 0 for a fixed test set.
        seed: What the split and its classifiers were seeded with.
        value: The score in per cent, not rounded.
        dev: Development score of the chosen setting in per cent; None if nothing was chosen.
        chosen: The L2 penalty or the learning rate that was chosen, as ``{"l2": 0.001}``, and
            other numbers that a protocol notes of a split.
        n_train: Examples that the reported classifier was fitted on.
        n_test: Examples of the score.
        gold: True classes of the test rows, (n_test,); kept where each row is tested once.
        predicted: Predicted classes of the same rows, (n_test,).
    """

    test_lang: str
    split: int
    seed: int
    value: float
    dev: float | None
    chosen: Mapping[str, float]
    n_train: int
    n_test: int
    gold: Ints | None = field(default=None, repr=False)
    predicted: Ints | None = field(default=None, repr=False)
