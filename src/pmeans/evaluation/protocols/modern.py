"""``modern``: scikit-learn's logistic regression with nested selection, for daily use.

Five outer folds, or the task's published test part. The inverse penalty C is chosen by five inner
folds of the training rows on the task's own measure, and the classifier is then fitted on all of
them: no row is trained on, stopped on or chosen on before it is tested.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pmeans.evaluation.dataset import Dataset, Score
from pmeans.evaluation.draws import stratified_folds
from pmeans.evaluation.protocol import (
    Job,
    Protocol,
    check_classes,
    check_folds,
    outer_splits,
    score,
)
from pmeans.types import Array

SEED = 0
FOLDS = 5
INVERSE_PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
ITERATIONS = 200


def _run(job: Job) -> list[Score]:
    """Return a score for each fold and test language, or for each test language."""
    dataset, train_lang = job.dataset, job.train_lang
    scores = []
    splits = {lang: outer_splits(dataset, lang, FOLDS, SEED) for lang in job.langs}
    for k, (train_part, rows, _, _) in enumerate(splits[train_lang]):
        job.progress(k / len(splits[train_lang]), f"fold {k + 1} of {len(splits[train_lang])}")
        seen = {lang: splits[lang][k][1] for lang in job.langs}
        view = job.features.view(train_lang, train_part, seen)
        labels = dataset.rows[train_lang][train_part].labels[rows]
        x = view.matrix(train_lang, train_part)[rows]
        classifier, c, dev = _fit(x, labels, dataset, job.trainer.threads)
        for lang in job.test_langs:
            _, _, test_part, test = splits[lang][k]
            gold = dataset.rows[lang][test_part].labels[test]
            predicted = classifier.predict(view.matrix(lang, test_part)[test])
            value = score(dataset, gold, predicted)
            chosen = {"c": c}
            scores.append(
                Score(lang, k, SEED, value, dev, chosen, len(rows), len(gold), gold, predicted)
            )
    return scores


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


def _check(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    check_classes(dataset, train_lang, test_langs)
    check_folds(dataset, train_lang, FOLDS)


def _fits(dataset: Dataset, train_lang: str) -> int:
    per_split = FOLDS * len(INVERSE_PENALTIES) + 1
    return per_split * (FOLDS if "all" in dataset.rows[train_lang] else 1)


MODERN = Protocol("modern", 1, _check, _run, _fits)
