"""``transfer``: the product, `TransferClassifier`, measured by the tables of the other protocols.

It is fitted on the training rows in the training language, as a user fits it, and predicts the test
rows of every test language. The splits are those of ``modern``: five folds, or the published test
part. All that the classifier chooses it chooses on its training rows. Its settings:

=================  ==============================================================================
``adapt``          ``rows``: match each test language to the training rows by unlabelled rows of
                   that language outside the test set; ``test``: by the test rows themselves, as
                   an application may and a fair comparison may not
``class_weight``   ``balanced``: let all classes weigh the same
=================  ==============================================================================

Probabilities are calibrated on training rows; ``ece`` notes how far they are off on the test rows:
the mean distance, in per cent, of confidence and accuracy over ten bins of confidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from pmeans.evaluation.dataset import Dataset, Score
from pmeans.evaluation.protocol import (
    Job,
    Protocol,
    check_classes,
    check_folds,
    outer_splits,
    score,
)
from pmeans.evaluation.protocols.modern import FOLDS, SEED
from pmeans.types import Array

BINS = 10


def _run(job: Job) -> list[Score]:
    """Return a score for each fold and test language, or for each test language."""
    from pmeans.transfer import TransferClassifier
    from pmeans.transfer.words import UnknownWordsWarning

    dataset, train_lang = job.dataset, job.train_lang
    splits = {lang: outer_splits(dataset, lang, FOLDS, SEED) for lang in job.langs}
    scores = []
    for k, (train_part, rows, _, _) in enumerate(splits[train_lang]):
        job.progress(k / len(splits[train_lang]), f"fold {k + 1} of {len(splits[train_lang])}")
        seen = {lang: splits[lang][k][1] for lang in job.langs}
        view = job.features.view(train_lang, train_part, seen)
        train = dataset.rows[train_lang][train_part]
        weight = job.settings.class_weight
        classifier = TransferClassifier(view.encoder, class_weight=weight, seed=SEED)
        with warnings.catch_warnings():
            # Coverage is part of every result.
            warnings.simplefilter("ignore", UnknownWordsWarning)
            labels = [dataset.classes[label] for label in train.labels[rows]]
            classifier.fit([train.sentences[i] for i in rows], labels, lang=train_lang)
        dev = 100 * (classifier.chosen.score or 0.0)
        numbers = np.array([dataset.classes.index(name) for name in classifier.classes])
        for lang in job.test_langs:
            _, others, part, test = splits[lang][k]
            examples = dataset.rows[lang][part]
            texts = [examples.sentences[i] for i in test]
            if lang != train_lang and job.settings.adapt:
                unlabelled = dataset.rows[lang][train_part].sentences
                on_test = job.settings.adapt == "test"
                classifier.adapt(texts if on_test else [unlabelled[i] for i in others], lang=lang)
            probabilities = classifier.predict_proba(texts, lang=lang)
            gold, predicted = examples.labels[test], numbers[probabilities.argmax(axis=1)]
            chosen = {"penalty": classifier.chosen.penalty, "columns": classifier.chosen.columns}
            chosen |= {"ece": calibration_error(probabilities.max(axis=1), predicted == gold)}
            value = score(dataset, gold, predicted)
            scores.append(
                Score(lang, k, SEED, value, dev, chosen, len(rows), len(gold), gold, predicted)
            )
    return scores


def calibration_error(confidence: Array, right: Array) -> float:
    """Return the expected calibration error in per cent.

    Args:
        confidence: Probability of the predicted class, (n,).
        right: Whether the prediction was right, (n,).
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, confidence.astype(np.float64) - right, minlength=BINS)
    return 100 * float(np.abs(gaps).sum() / max(1, len(right)))


def _check(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    check_classes(dataset, train_lang, test_langs)
    check_folds(dataset, train_lang, FOLDS)


def _fits(dataset: Dataset, train_lang: str) -> int:
    return 200 if "all" in dataset.rows[train_lang] else 40


TRANSFER = Protocol("transfer", 1, _check, _run, _fits, ("adapt", "class_weight"))
