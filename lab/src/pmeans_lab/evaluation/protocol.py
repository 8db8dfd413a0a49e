"""What a protocol is, and what all of them share: their job, who trains, what a score is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted, Measure, measured
from pmeans.types import Array, Floats, Ints, Progress
from pmeans_lab.evaluation.dataset import Dataset, Score, TaskPart
from pmeans_lab.evaluation.features import Features
from pmeans_lab.evaluation.random_splits import stratified_folds

Train = Callable[[Sequence[FitGroup], FitRule], list[list[Fitted]]]
"""Trains groups of classifiers: the native core, or torch on an accelerator."""
Split = tuple[TaskPart, Array, TaskPart, Array]
"""The part and rows to train on, and the part and rows to test on."""


@dataclass(frozen=True)
class Settings:
    """What may be chosen about a protocol that has the choice.

    Attributes:
        adapt: Match the test language to the training rows by unlabelled text: ``rows`` outside
            the test set, or the ``test`` rows themselves.
        class_weight: ``balanced`` lets all classes weigh the same.
    """

    adapt: Literal["rows", "test"] | None = None
    class_weight: Literal["balanced"] | None = None

    @property
    def chosen(self) -> dict[str, str]:
        """What is not left as it is."""
        return {name: value for name, value in asdict(self).items() if value is not None}


UNCHANGED = Settings()


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
        """Divide splits, of so many groups each, into portions that are trained in one call.

        No portion has more than ``most`` splits: each may have matrices of its own.
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
        settings: What the experiment chose about the protocol.
    """

    dataset: Dataset
    features: Features
    train_lang: str
    test_langs: Sequence[str]
    trainer: Trainer
    progress: Progress
    settings: Settings = Settings()

    @property
    def langs(self) -> tuple[str, ...]:
        """All languages, the training language first."""
        return tuple(dict.fromkeys((self.train_lang, *self.test_langs)))


@dataclass(frozen=True)
class Protocol:
    """A way from a dataset and an encoder to scores.

    Attributes:
        name: What experiments and results call it.
        version: Rises whenever its scores change.
        check: Raises what would stop it later, given the dataset, the training language and the
            test languages.
        run: Returns a score for each test language and split.
        fits: About how many classifiers it fits on a dataset in the training language, for the
            time that is left.
        settings: The names of the settings that it has.
    """

    name: str
    version: int
    check: Callable[[Dataset, str, Sequence[str]], None]
    run: Callable[[Job], list[Score]]
    fits: Callable[[Dataset, str], int]
    settings: tuple[str, ...] = ()

    def check_settings(self, settings: Settings) -> None:
        """Raise unless the protocol has all that is chosen."""
        for name in settings.chosen:
            if name not in self.settings:
                has = ", ".join(self.settings) or "none"
                raise InputError(
                    f"the protocol {self.name!r} has no setting {name!r}. It has: {has}."
                )


def check_classes(
    dataset: Dataset, train_lang: str, test_langs: Sequence[str], folds: int = 0
) -> None:
    """Raise unless all rows have classes that training rows show, in every fold if there are."""
    for lang in dict.fromkeys((train_lang, *test_langs)):
        _check_rows(dataset, lang, train_lang)
    if folds:
        _check_folds(dataset, train_lang, folds)


def _check_rows(dataset: Dataset, lang: str, train_lang: str) -> None:
    where = f"task {dataset.task!r} in {lang!r}"
    parts, model = dataset.rows[lang], dataset.rows[train_lang]
    if not set(model) >= set(parts) >= set(model) & {"all", "test"}:
        raise InputError(
            f"{where} has the parts {', '.join(parts)}, but {train_lang!r} has {', '.join(model)}."
        )
    known = np.unique(np.concatenate([r.labels for p, r in model.items() if p in ("all", "train")]))
    if len(known) < 2:
        raise InputError(f"{where}: the training rows are of one class only; two are needed.")
    for part, rows in parts.items():
        if len(rows.labels) != len(rows.sentences):
            raise InputError(
                f"{where}, {part}: {len(rows.sentences)} sentences, but {len(rows.labels)} labels."
            )
        strange = np.setdiff1d(rows.labels, known)
        if len(strange):
            names = [dataset.class_name(label) for label in strange]
            raise InputError(
                f"{where}, {part}: the class {names[0]} does not occur in the training rows "
                f"of {train_lang!r}."
            )
        if dataset.parallel and not np.array_equal(rows.labels, model[part].labels):
            raise InputError(
                f"{where}, {part}: a parallel task, but its {len(rows)} labels are not the "
                f"{len(model[part])} of {train_lang!r}, row by row."
            )


def _check_folds(dataset: Dataset, lang: str, folds: int) -> None:
    """Raise unless every class is in every fold, and in every fold of what trains."""
    rows = dataset.rows[lang]
    nested = "all" in rows
    counts = np.bincount(rows["all" if nested else "train"].labels, minlength=len(dataset.classes))
    left = counts - -(-counts // folds) if nested else counts
    for label in np.flatnonzero((counts > 0) & (left < folds)):
        raise InputError(
            f"task {dataset.task!r} in {lang!r}: the class {dataset.class_name(int(label))} has "
            f"{counts[label]} rows, too few to be in each of {folds} folds"
            f"{' and in each of their inner folds' if nested else ''}."
        )


def training_rows(dataset: Dataset, lang: str) -> Array:
    """Return the places of the part ``train``; a test language need not have one, (n,)."""
    parts = dataset.rows[lang]
    return np.arange(len(parts["train"]) if "train" in parts else 0)


def outer_splits(dataset: Dataset, lang: str, folds: int, seed: int) -> list[Split]:
    """Return folds of ``all``, or the published parts ``train`` and ``test``."""
    parts = dataset.rows[lang]
    if "all" in parts:
        found = stratified_folds(parts["all"].labels, folds, seed)
        return [("all", train, "all", test) for train, test in found]
    return [("train", training_rows(dataset, lang), "test", np.arange(len(parts["test"])))]


def predict(fitted: Fitted, x: Floats) -> Ints:
    """Return the class of each row, (n,); of equal logits the first."""
    return (x @ fitted.weights.T + fitted.bias).argmax(axis=1)


def score(dataset: Dataset, gold: Array, predicted: Array) -> float:
    """Return the dataset's measure in per cent."""
    return 100 * measured(of_classes(dataset), gold, predicted, len(dataset.classes))


def of_classes(dataset: Dataset) -> Measure:
    """Return the dataset's measure, which must be one of predicted classes."""
    if dataset.measure == "spearman":
        raise InputError(f"task {dataset.task!r} has graded pairs, and no classes to predict.")
    return dataset.measure
