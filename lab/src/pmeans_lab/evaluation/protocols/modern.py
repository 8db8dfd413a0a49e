"""``modern`` and ``transfer``: for daily use, and the product as it is used.

Both have five outer folds, or the task's published test part, and choose on training rows alone:
no row is trained on, stopped on or chosen on before it is tested. ``modern`` is scikit-learn's
logistic regression; five inner folds choose its inverse penalty C by the task's own measure.
``transfer`` is `TransferClassifier`, fitted as a user fits it. Its settings:

=================  ==============================================================================
``adapt``          ``rows``: match each test language to the training rows by unlabelled rows of
                   that language outside the test set; ``test``: by the test rows themselves, as
                   an application may and a fair comparison may not
``class_weight``   ``balanced``: let all classes weigh the same
=================  ==============================================================================

Its probabilities are calibrated on training rows; ``ece`` notes how far they are off on the test
rows: the mean distance, in per cent, of confidence and accuracy over ten bins of confidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from pmeans.types import Array
from pmeans_lab.evaluation.dataset import Dataset, Score, TaskPart
from pmeans_lab.evaluation.features import View
from pmeans_lab.evaluation.protocol import Job, Protocol, Split, check_classes, outer_splits, score
from pmeans_lab.evaluation.random_splits import stratified_folds

SEED = 0
FOLDS = 5
INVERSE_PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
ITERATIONS = 200
BINS = 10
Predict = Callable[[str, Split], tuple[Array, dict[str, float]]]
"""Predicts the test rows of a language; what it notes of them comes with the classes, (n_test,)."""
Learn = Callable[[Job, View, TaskPart, Array], tuple[Predict, float]]
"""Learns from rows of a part; the development score in per cent comes with what predicts."""


def _run(learn: Learn, job: Job) -> list[Score]:
    """Return a score for each fold and test language, or for each test language."""
    dataset, scores = job.dataset, []
    splits = {lang: outer_splits(dataset, lang, FOLDS, SEED) for lang in job.langs}
    of_training = splits[job.train_lang]
    for k, (train_part, rows, _, _) in enumerate(of_training):
        job.progress(k / len(of_training), f"fold {k + 1} of {len(of_training)}")
        seen = {lang: splits[lang][k][1] for lang in job.langs}
        view = job.features.view(job.train_lang, train_part, seen)
        predict, dev = learn(job, view, train_part, rows)
        for lang in job.test_langs:
            _, _, part, test = splits[lang][k]
            gold = dataset.rows[lang][part].labels[test]
            predicted, chosen = predict(lang, splits[lang][k])
            value = score(dataset, gold, predicted)
            scores.append(
                Score(lang, k, SEED, value, dev, chosen, len(rows), len(gold), gold, predicted)
            )
    return scores


def _logistic(job: Job, view: View, part: TaskPart, rows: Array) -> tuple[Predict, float]:
    labels = job.dataset.rows[job.train_lang][part].labels[rows]
    x = view.matrix(job.train_lang, part)[rows]
    classifier, c, dev = _fit(x, labels, job.dataset, job.trainer.threads)

    def predict(lang: str, split: Split) -> tuple[Array, dict[str, float]]:
        _, _, test_part, test = split
        return classifier.predict(view.matrix(lang, test_part)[test]), {"c": c}

    return predict, dev


def _fit(x: Array, labels: Array, dataset: Dataset, threads: int) -> tuple[Any, float, float]:
    """Return a classifier fitted on all rows, its chosen C, and that C's mean score over folds."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    def scores(fold: tuple[Array, Array]) -> list[float]:
        rows, held = fold
        x_rows, x_held = x[rows], x[held]
        # From strong to weak, each starting where the one before ended.
        classifier = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        found = []
        for c in INVERSE_PENALTIES:
            classifier.set_params(C=c).fit(x_rows, labels[rows])
            found.append(score(dataset, labels[held], classifier.predict(x_held)))
        return found

    folds = stratified_folds(labels, FOLDS, SEED)
    # One thread a fold: the products are small, and threads within them cost ten times the work.
    with warnings.catch_warnings(), threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        # Weak penalties on correlated columns need more steps than the score does.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means = np.mean(list(pool.map(scores, folds)), axis=0)
        best = int(np.argmax(means))
        c = INVERSE_PENALTIES[best]
        classifier = LogisticRegression(C=c, max_iter=ITERATIONS).fit(x, labels)
    return classifier, c, float(means[best])


def _transfer(job: Job, view: View, part: TaskPart, rows: Array) -> tuple[Predict, float]:
    from pmeans.transfer import (
        FewRowsWarning,
        FewTextsWarning,
        TransferClassifier,
        UnknownWordsWarning,
    )

    dataset, adapt = job.dataset, job.settings.adapt
    train = dataset.rows[job.train_lang][part]
    weight = job.settings.class_weight
    classifier = TransferClassifier(view.encoder, class_weight=weight, seed=SEED)
    with warnings.catch_warnings():
        # Coverage and the number of rows are part of every result.
        warnings.simplefilter("ignore", UnknownWordsWarning)
        warnings.simplefilter("ignore", FewRowsWarning)
        labels = [dataset.classes[label] for label in train.labels[rows]]
        classifier.fit([train.sentences[i] for i in rows], labels, lang=job.train_lang)
    numbers = np.array([dataset.classes.index(name) for name in classifier.classes_])

    def predict(lang: str, split: Split) -> tuple[Array, dict[str, float]]:
        _, others, test_part, test = split
        examples = dataset.rows[lang][test_part]
        texts = [examples.sentences[i] for i in test]
        if lang != job.train_lang and adapt:
            unlabelled = dataset.rows[lang][part].sentences
            on_test = adapt == "test"
            given = texts if on_test else [unlabelled[i] for i in others]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FewTextsWarning)
                classifier.adapt(given, lang=lang)
        probabilities = classifier.predict_proba(texts, lang=lang)
        predicted = numbers[probabilities.argmax(axis=1)]
        right = predicted == examples.labels[test]
        chosen = {"penalty": classifier.chosen.penalty, "columns": classifier.chosen.columns}
        return predicted, chosen | {"ece": calibration_error(probabilities.max(axis=1), right)}

    return predict, 100 * (classifier.chosen.score or 0.0)


def calibration_error(confidence: Array, right: Array) -> float:
    """Return the expected calibration error in per cent.

    Args:
        confidence: Probability of the predicted class, (n,).
        right: Whether the prediction was right, (n,).
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence.astype(np.float64) - right, minlength=BINS)
    return 100 * float(np.abs(gaps).sum() / max(1, len(right)))


def _fits(per_split: int, dataset: Dataset, train_lang: str) -> int:
    return per_split * (FOLDS if "all" in dataset.rows[train_lang] else 1)


_check = partial(check_classes, folds=FOLDS)
_per_split = FOLDS * len(INVERSE_PENALTIES) + 1
MODERN = Protocol("modern", 1, _check, partial(_run, _logistic), partial(_fits, _per_split))
TRANSFER = Protocol(
    "transfer", 1, _check, partial(_run, _transfer), partial(_fits, 40), ("adapt", "class_weight")
)
