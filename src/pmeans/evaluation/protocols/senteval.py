"""``senteval-2018``: what SentEval of January 2018 did to MR, CR, SUBJ, MPQA, TREC and SST.

One linear layer, trained by Adam on the *summed* cross-entropy; the L2 penalty is chosen by
cross-validation, or on the development part where there is one. Two habits of that program decide
digits: the early-stopping count is never set back, and the inner test fold is also what the inner
training stops on. `pmeans.evaluation.reference` is the same, one classifier at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pmeans.evaluation import initial
from pmeans.evaluation.features import Features
from pmeans.evaluation.protocols.training import Train, predict, score, training_rows
from pmeans.evaluation.splits import held_out, stratified_folds
from pmeans.evaluation.types import Dataset, Part, Progress, Score
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted
from pmeans.types import Array, Floats, Ids

VERSION = 1
SEED = 1111
FOLDS = 10
RATE = 1e-3
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
VALIDATION = 0.05
RULE = FitRule(
    batch=64,
    epochs_a_round=4,
    max_epochs=200,
    patience=6,
    patience_resets=False,
    loss="sum",
    measure="accuracy",
)


def run(
    dataset: Dataset,
    features: Features,
    train_lang: str,
    test_langs: Sequence[str],
    train: Train,
    progress: Progress,
) -> list[Score]:
    """Return a score for each fold and test language, or for each test language."""
    run_form = _nested if "all" in dataset.rows[train_lang] else _fixed
    return run_form(dataset, features, train_lang, test_langs, train, progress)


def _nested(
    dataset: Dataset,
    features: Features,
    train_lang: str,
    test_langs: Sequence[str],
    train: Train,
    progress: Progress,
) -> list[Score]:
    """Ten outer folds; for each, ten inner folds choose the penalty."""
    langs = dict.fromkeys((train_lang, *test_langs))
    folds = {
        lang: stratified_folds(dataset.rows[lang]["all"].labels, FOLDS, SEED) for lang in langs
    }
    labels = dataset.rows[train_lang]["all"].labels.astype(np.int32)
    scores = []
    for k in range(FOLDS):
        progress(k / FOLDS, f"fold {k + 1} of {FOLDS}")
        seen = {lang: folds[lang][k][0] for lang in langs}
        view = features.view(train_lang, "all", seen)
        x, rows = view.matrix(train_lang, "all"), seen[train_lang]
        penalty, dev = _choose(dataset, x, labels, rows, train)
        fitted = _refit(dataset, x, labels, rows, penalty, train)
        for lang in test_langs:
            test = folds[lang][k][1]
            gold = dataset.rows[lang]["all"].labels[test]
            predicted = predict(fitted, view.matrix(lang, "all")[test])
            scores.append(_score(dataset, lang, k, penalty, dev, len(rows), gold, predicted))
    return scores


def _fixed(
    dataset: Dataset,
    features: Features,
    train_lang: str,
    test_langs: Sequence[str],
    train: Train,
    progress: Progress,
) -> list[Score]:
    """A published test part; the penalty is chosen on ``dev``, or by folds of ``train``."""
    parts = dataset.rows[train_lang]
    part: Part = "train"
    labels = parts["train"].labels.astype(np.int32)
    rows = np.arange(len(labels), dtype=np.int32)
    seen = {lang: training_rows(dataset, lang) for lang in (train_lang, *test_langs)}
    view = features.view(train_lang, part, seen)
    x = view.matrix(train_lang, "train")
    progress(0, "training")
    if "dev" in parts:
        x = np.concatenate([x, view.matrix(train_lang, "dev")])
        labels = np.concatenate([labels, parts["dev"].labels.astype(np.int32)])
        dev_rows = np.arange(len(rows), len(labels), dtype=np.int32)
        group = _group(dataset, x, labels, rows, dev_rows, 0, PENALTIES)
        [fits] = train([group], _rule(dataset))
        penalty, dev = _best([fits])
        # Training again with the chosen penalty, as SentEval did, would repeat the same steps.
        fitted = fits[PENALTIES.index(penalty)]
    else:
        penalty, dev = _choose(dataset, x, labels, rows, train)
        fitted = _refit(dataset, x, labels, rows, penalty, train)
    scores = []
    for lang in test_langs:
        gold = dataset.rows[lang]["test"].labels
        predicted = predict(fitted, view.matrix(lang, "test"))
        scores.append(_score(dataset, lang, 0, penalty, dev, len(rows), gold, predicted))
    return scores


def _choose(
    dataset: Dataset, x: Floats, labels: Ids, rows: Ids, train: Train
) -> tuple[float, float]:
    """Return the penalty with the best mean score over ten folds of the rows, and that score."""
    folds = stratified_folds(labels[rows], FOLDS, SEED)
    groups = [_group(dataset, x, labels, rows[a], rows[b], 0, PENALTIES) for a, b in folds]
    return _best(train(groups, _rule(dataset)))


def _best(fits: Sequence[Sequence[Fitted]]) -> tuple[float, float]:
    # Rounded to two decimals before they are compared, as SentEval did: near ties go to the
    # smaller penalty.
    scores = np.array([[fitted.score for fitted in same_rows] for same_rows in fits])
    means = [round(100 * float(mean), 2) for mean in scores.mean(axis=0)]
    best = int(np.argmax(means))
    return PENALTIES[best], means[best]


def _refit(
    dataset: Dataset, x: Floats, labels: Ids, rows: Ids, penalty: float, train: Train
) -> Fitted:
    """Train on the rows, but for a random twentieth that says when to stop."""
    kept, aside = held_out(len(rows), VALIDATION, SEED)
    group = _group(dataset, x, labels, rows[kept], rows[aside], len(rows), (penalty,))
    [[fitted]] = train([group], _rule(dataset))
    return fitted


def _group(
    dataset: Dataset,
    x: Floats,
    labels: Ids,
    rows: Ids,
    dev: Ids,
    drawn: int,
    penalties: tuple[float, ...],
) -> FitGroup:
    weights, bias = initial.linear(SEED, len(dataset.classes), x.shape[1])
    rates = (RATE,) * len(penalties)
    return FitGroup(x, labels, rows, dev, SEED, drawn, weights, bias, rates, penalties)


def _rule(dataset: Dataset) -> FitRule:
    return replace(RULE, measure=dataset.measure)


def _score(
    dataset: Dataset,
    lang: str,
    split: int,
    penalty: float,
    dev: float,
    n_train: int,
    gold: Array,
    predicted: Array,
) -> Score:
    value = score(dataset, gold, predicted)
    chosen = {"l2": penalty}
    return Score(lang, split, SEED, value, dev, chosen, n_train, len(gold), gold, predicted)
