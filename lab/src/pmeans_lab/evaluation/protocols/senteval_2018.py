"""``senteval-2018``: what SentEval of January 2018 did to MR, CR, SUBJ, MPQA, TREC and SST.

One linear layer, trained by Adam on the *summed* cross-entropy; the L2 penalty is chosen by
cross-validation, or on the development part where there is one. Two habits of that program decide
digits: the early-stopping count is never set back, and the inner test fold is also what the inner
training stops on. `tests/oracle.py` is the same, one classifier at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pmeans.kernels.softmax import FitGroup, FitRule, Fitted
from pmeans.types import Floats, Ids, Ints
from pmeans_lab.evaluation import random_splits
from pmeans_lab.evaluation.dataset import Dataset, Score
from pmeans_lab.evaluation.protocol import (
    Job,
    Protocol,
    check_classes,
    of_classes,
    predict,
    score,
    training_rows,
)
from pmeans_lab.evaluation.random_splits import held_out, stratified_folds

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


@dataclass(frozen=True)
class _Problem:
    """Rows to be learned from: ``rows`` of x, (n_rows,), and of labels."""

    x: Floats
    labels: Ids
    rows: Ids
    n_classes: int

    def group(self, train: Ids, dev: Ids, drawn: int, penalties: tuple[float, ...]) -> FitGroup:
        weights, bias = random_splits.linear(SEED, self.n_classes, self.x.shape[1])
        rates = (RATE,) * len(penalties)
        return FitGroup(
            self.x, self.labels, train, dev, SEED, drawn, weights, bias, rates, penalties
        )


@dataclass(frozen=True)
class _Answer:
    """A trained classifier, its chosen penalty, and the score that chose it in per cent."""

    fitted: Fitted
    penalty: float
    dev: float


def _run(job: Job) -> list[Score]:
    """Return a score for each fold and test language, or for each test language."""
    return _nested(job) if "all" in job.dataset.rows[job.train_lang] else _fixed(job)


def _nested(job: Job) -> list[Score]:
    """Ten outer folds; for each, ten inner folds choose the penalty."""
    dataset, features, train_lang, trainer = job.dataset, job.features, job.train_lang, job.trainer
    folds = {
        lang: stratified_folds(dataset.rows[lang]["all"].labels, FOLDS, SEED) for lang in job.langs
    }
    labels = dataset.rows[train_lang]["all"].labels.astype(np.int32)
    scores = []
    for some in trainer.portions(FOLDS, FOLDS if features.lasting else 1, groups_each=FOLDS):
        job.progress(some[0] / FOLDS, f"fold {some[0] + 1} of {FOLDS}")
        seen = [{lang: folds[lang][k][0] for lang in job.langs} for k in some]
        views = [features.view(train_lang, "all", rows) for rows in seen]
        problems = [
            _Problem(view.matrix(train_lang, "all"), labels, rows[train_lang], len(dataset.classes))
            for view, rows in zip(views, seen, strict=True)
        ]
        answers = _choose_and_refit(problems, job)
        for k, view, answer in zip(some, views, answers, strict=True):
            for lang in job.test_langs:
                train, test = folds[lang][k]
                x, gold = view.matrix(lang, "all")[test], dataset.rows[lang]["all"].labels[test]
                scores.append(_score(dataset, lang, k, answer, len(train), x, gold))
    return scores


def _fixed(job: Job) -> list[Score]:
    """A published test part; the penalty is chosen on ``dev``, or by folds of ``train``."""
    dataset, train_lang = job.dataset, job.train_lang
    parts = dataset.rows[train_lang]
    seen = {lang: training_rows(dataset, lang) for lang in job.langs}
    view = job.features.view(train_lang, "train", seen)
    n_train = len(parts["train"])
    rows = np.arange(n_train, dtype=np.int32)
    x, labels = view.matrix(train_lang, "train"), parts["train"].labels
    job.progress(0, "training")
    if "dev" in parts:
        x = np.concatenate([x, view.matrix(train_lang, "dev")])
        labels = np.concatenate([labels, parts["dev"].labels])
    problem = _Problem(x, labels.astype(np.int32), rows, len(dataset.classes))
    if "dev" in parts:
        dev_rows = np.arange(n_train, len(labels), dtype=np.int32)
        group = problem.group(rows, dev_rows, 0, PENALTIES)
        [fits] = job.trainer.train([group], _rule(dataset))
        penalty, dev = _best([fits])
        # Training again with the chosen penalty, as SentEval did, would repeat the same steps.
        answer = _Answer(fits[PENALTIES.index(penalty)], penalty, dev)
    else:
        [answer] = _choose_and_refit([problem], job)
    scores = []
    for lang in job.test_langs:
        x, gold = view.matrix(lang, "test"), dataset.rows[lang]["test"].labels
        scores.append(_score(dataset, lang, 0, answer, n_train, x, gold))
    return scores


def _choose_and_refit(problems: Sequence[_Problem], job: Job) -> Iterator[_Answer]:
    """Choose each problem's penalty by ten folds of its rows, and fit it again on all of them.

    The second fit holds a random twentieth of the rows out, which says when to stop.
    """
    groups = []
    for problem in problems:
        rows = problem.rows
        for a, b in stratified_folds(problem.labels[rows], FOLDS, SEED):
            groups.append(problem.group(rows[a], rows[b], 0, PENALTIES))
    rule = _rule(job.dataset)
    fits = job.trainer.train(groups, rule)
    chosen = [_best(fits[i : i + FOLDS]) for i in range(0, len(fits), FOLDS)]
    groups = []
    for problem, (penalty, _) in zip(problems, chosen, strict=True):
        rows = problem.rows
        kept, aside = held_out(len(rows), VALIDATION, SEED)
        groups.append(problem.group(rows[kept], rows[aside], len(rows), (penalty,)))
    for [fitted], (penalty, dev) in zip(job.trainer.train(groups, rule), chosen, strict=True):
        yield _Answer(fitted, penalty, dev)


def _best(fits: Sequence[Sequence[Fitted]]) -> tuple[float, float]:
    """Return the penalty with the best mean score over folds, and that score in per cent."""
    # Rounded to two decimals before they are compared, as SentEval did: near ties go to the
    # smaller penalty.
    scores = np.array([[fitted.score for fitted in same_rows] for same_rows in fits])
    means = [round(100 * float(mean), 2) for mean in scores.mean(axis=0)]
    best = int(np.argmax(means))
    return PENALTIES[best], means[best]


def _rule(dataset: Dataset) -> FitRule:
    return replace(RULE, measure=of_classes(dataset))


def _score(
    dataset: Dataset, lang: str, split: int, answer: _Answer, n_train: int, x: Floats, gold: Ints
) -> Score:
    predicted = predict(answer.fitted, x)
    value = score(dataset, gold, predicted)
    chosen = {"l2": answer.penalty}
    return Score(lang, split, SEED, value, answer.dev, chosen, n_train, len(gold), gold, predicted)


def _check(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    folds = 0 if "dev" in dataset.rows[train_lang] else FOLDS
    check_classes(dataset, train_lang, test_langs, folds)


def _fits(dataset: Dataset, train_lang: str) -> int:
    # Nested folds; one choice on the development part; folds of the training part.
    parts = dataset.rows[train_lang]
    return 410 if "all" in parts else 5 if "dev" in parts else 41


SENTEVAL_2018 = Protocol("senteval-2018", 1, _check, _run, _fits)
