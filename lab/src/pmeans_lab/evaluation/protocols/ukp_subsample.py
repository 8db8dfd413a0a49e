"""``ukp-subsample``: what the paper's own program did to AM, AC and CLS.

Fifty random divisions into 60, 20 and 20 per cent; a softmax without penalty, trained by Adam
until the development macro-F1 has not risen for five epochs. Of five learning rates, the one with
the best mean development score over all repetitions is reported. Training and development rows are
in the training language, test rows in each test language.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pmeans.errors import InputError
from pmeans.kernels.softmax import FitGroup, FitRule
from pmeans.types import Floats, Ids
from pmeans_lab.evaluation import random_splits
from pmeans_lab.evaluation.dataset import Dataset, Score
from pmeans_lab.evaluation.features import View
from pmeans_lab.evaluation.protocol import Job, Protocol, check_classes, of_classes, predict, score
from pmeans_lab.evaluation.random_splits import subsample

REPETITIONS = 50
RATES = (0.05, 0.01, 0.005, 0.001, 0.0005)
BIAS = 0.1
RULE = FitRule(
    batch=32,
    epochs_a_round=1,
    max_epochs=1000,
    patience=5,
    patience_resets=True,
    loss="mean",
    measure="macro-f1",
)
_MATRICES = 8
"""Repetitions whose matrices, where each has its own, are kept at a time."""


def _run(job: Job) -> list[Score]:
    """Return a score for each repetition and test language."""
    dataset, features, trainer = job.dataset, job.features, job.trainer
    train_lang, test_langs = job.train_lang, job.test_langs
    rule = replace(RULE, measure=of_classes(dataset))
    labels = dataset.rows[train_lang]["all"].labels.astype(np.int32)
    dev = np.empty((REPETITIONS, len(RATES)))
    values = np.empty((REPETITIONS, len(RATES), len(test_langs)))
    for seeds in trainer.portions(REPETITIONS, REPETITIONS if features.lasting else _MATRICES):
        job.progress(seeds[0] / REPETITIONS, f"repetition {seeds[0] + 1} of {REPETITIONS}")
        views = [_view(job, seed) for seed in seeds]
        groups = [
            _group(view.matrix(train_lang, "all"), labels, len(dataset.classes), seed)
            for view, seed in zip(views, seeds, strict=True)
        ]
        for seed, view, fits in zip(seeds, views, trainer.train(groups, rule), strict=True):
            dev[seed] = [fitted.score for fitted in fits]
            for column, lang in enumerate(test_langs):
                rows = dataset.rows[lang]["all"]
                test = subsample(len(rows), seed)[2]
                x, gold = view.matrix(lang, "all")[test], rows.labels[test]
                for r, fitted in enumerate(fits):
                    values[seed, r, column] = score(dataset, gold, predict(fitted, x))
    best = int(np.argmax(dev.mean(axis=0)))
    sizes = {lang: len(dataset.rows[lang]["all"]) for lang in job.langs}
    n_train = len(subsample(sizes[train_lang], 0)[0])
    chosen, devs = {"rate": RATES[best]}, (100 * dev[:, best]).tolist()
    return [
        Score(lang, seed, seed, value, devs[seed], chosen, n_train, int(0.2 * sizes[lang]))
        for column, lang in enumerate(test_langs)
        for seed, value in enumerate(values[:, best, column].tolist())
    ]


def _view(job: Job, seed: int) -> View:
    # Parallel languages have equally many rows, and so the same permutation.
    sizes = {lang: len(job.dataset.rows[lang]["all"]) for lang in job.langs}
    seen = {lang: subsample(size, seed)[0] for lang, size in sizes.items()}
    return job.features.view(job.train_lang, "all", seen)


def _group(x: Floats, labels: Ids, n_classes: int, seed: int) -> FitGroup:
    train, dev, _ = subsample(len(labels), seed)
    weights = random_splits.glorot(seed, n_classes, x.shape[1])
    bias = np.full(n_classes, BIAS, dtype=np.float32)
    l2 = (0.0,) * len(RATES)
    return FitGroup(x, labels, train, dev, seed, len(labels), weights, bias, RATES, l2)


def _check(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    check_classes(dataset, train_lang, test_langs)
    for lang in dict.fromkeys((train_lang, *test_langs)):
        _check_subsamples(dataset, lang)


def _check_subsamples(dataset: Dataset, lang: str) -> None:
    """Raise unless every class is in the training rows of every repetition."""
    if "all" not in dataset.rows[lang]:
        raise InputError(
            f"task {dataset.task!r} has a test part of its own, but 'ukp-subsample' draws its "
            "own: take 'senteval-2018' or 'modern'."
        )
    labels = dataset.rows[lang]["all"].labels
    present = np.unique(labels)
    for seed in range(REPETITIONS):
        train, dev, _ = subsample(len(labels), seed)
        missing = np.setdiff1d(present, labels[train])
        if len(missing) or not len(dev):
            what = dataset.class_name(int(missing[0])) if len(missing) else "of any row"
            raise InputError(
                f"task {dataset.task!r} in {lang!r}: {len(labels)} rows are too few for "
                f"'ukp-subsample': repetition {seed} would train without the class {what}."
            )


UKP_SUBSAMPLE = Protocol(
    "ukp-subsample", 1, _check, _run, lambda dataset, train_lang: REPETITIONS * len(RATES)
)
