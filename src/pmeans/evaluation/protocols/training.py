"""What the protocols share: their job, who trains, how a classifier predicts, what a score is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.evaluation.features import Features
from pmeans.evaluation.types import Dataset, Progress
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted, measured
from pmeans.types import Array, Floats, Ints

Train = Callable[[Sequence[FitGroup], FitRule], list[list[Fitted]]]
"""Trains groups of classifiers: the native core, or torch on an accelerator."""


@dataclass(frozen=True)
class Trainer:
    """Who trains, and how much is worth giving to it at once.

    Attributes:
        train: Trains groups of classifiers.
        groups: As many groups keep it busy.
        threads: Threads for what is not trained by it.
    """

    train: Train
    groups: int
    threads: int = 1

    def portions(self, splits: int, most: int, groups_each: int = 1) -> Iterator[range]:
        """Divide splits into portions that are trained in one call.

        Args:
            splits: Number of folds or repetitions.
            most: No more of them at once: each may have matrices of its own.
            groups_each: Groups of classifiers that each of them has.
        """
        size = max(1, min(most, -(-self.groups // groups_each)))
        for start in range(0, splits, size):
            yield range(start, min(start + size, splits))


@dataclass(frozen=True)
class Job:
    """What a protocol is to do.

    Attributes:
        dataset: The task.
        features: The encoder's view of it.
        train_lang: Language to train, choose and stop in.
        test_langs: Languages to score.
        trainer: Who trains.
        progress: Told how far it is.
    """

    dataset: Dataset
    features: Features
    train_lang: str
    test_langs: Sequence[str]
    trainer: Trainer
    progress: Progress

    @property
    def langs(self) -> tuple[str, ...]:
        """All languages, the training language first."""
        return tuple(dict.fromkeys((self.train_lang, *self.test_langs)))


def training_rows(dataset: Dataset, lang: str) -> Array:
    """Return the places of the part ``train``; a test language need not have one, (n,)."""
    parts = dataset.rows[lang]
    return np.arange(len(parts["train"]) if "train" in parts else 0)


def predict(fitted: Fitted, x: Floats) -> Ints:
    """Return the class of each row, (n,); of equal logits the first."""
    return (x @ fitted.weights.T + fitted.bias).argmax(axis=1)


def score(dataset: Dataset, gold: Array, predicted: Array) -> float:
    """Return the dataset's measure in per cent."""
    return 100 * measured(dataset.measure, gold, predicted, len(dataset.classes))
