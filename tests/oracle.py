"""The two exact protocols in plain torch, one classifier at a time: the oracle, never optimised.

Meant to be read beside a description of SentEval (January 2018) and of the paper's own
experiments. Nothing is shared between two fits and nothing is clever. What the package really
runs is held to this file, fit by fit, by the tests.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmeans.types import Array, Floats, Ints

L2 = (1e-5, 1e-4, 1e-3, 1e-2)
RATES = (0.05, 0.01, 0.005, 0.001, 0.0005)


@dataclass(frozen=True)
class Fit:
    """One trained classifier.

    Attributes:
        split: Outer fold or repetition.
        inner: Inner fold; None for a classifier whose test score may be reported.
        setting: Its L2 penalty or its learning rate.
        dev: Best development score, between 0 and 1.
        epochs: Passes over the training rows.
        test: Score of each language's test rows in per cent, where there are test rows.
    """

    split: int
    inner: int | None
    setting: float
    dev: float
    epochs: int
    test: Mapping[str, float]


@dataclass(frozen=True)
class Outcome:
    """A protocol's end.

    Attributes:
        fits: Every classifier, in the order of training.
        reported: Those whose test score counts: one a fold or a repetition.
    """

    fits: list[Fit]
    reported: list[Fit]


# --- SentEval ---------------------------------------------------------------------------------


def _torch():
    """Return torch on one thread: its products are small, and threads wait for each other."""
    import torch

    torch.set_num_threads(1)
    return torch


def senteval_nested(
    x: Floats,
    labels: Ints,
    *,
    folds: int = 10,
    seed: int = 1111,
    translations: Mapping[str, Floats] | None = None,
) -> Outcome:
    """MR, CR, SUBJ, MPQA: the L2 penalty by an inner k-fold, the score by an outer one.

    Args:
        x: Features of the training language, (n, dim), sorted as the task is.
        labels: Classes, (n,).
        folds: Outer and inner folds.
        seed: Of folds, weights and shuffles.
        translations: Features of the same rows in other languages, (n, dim) each; their test
            rows are scored by the classifiers of ``x``.

    Returns:
        The refits are reported; ``""`` names the language of ``x`` in their scores.
    """
    outcome = Outcome([], [])
    languages = {"": x, **(translations or {})}
    for fold, (train, test) in enumerate(stratified_folds(labels, folds, seed)):
        x_test = {lang: rows[test] for lang, rows in languages.items()}
        _select_and_refit(outcome, fold, x[train], labels[train], x_test, labels[test], folds, seed)
    return outcome


def senteval_train_test(
    x: Floats,
    labels: Ints,
    x_test: Mapping[str, Floats],
    test_labels: Ints,
    *,
    folds: int = 10,
    seed: int = 1111,
) -> Outcome:
    """TREC: the L2 penalty by a k-fold of the training set, the score of a separate test set."""
    outcome = Outcome([], [])
    _select_and_refit(outcome, 0, x, labels, x_test, test_labels, folds, seed)
    return outcome


def senteval_fixed(
    x: Floats,
    labels: Ints,
    x_dev: Floats,
    dev_labels: Ints,
    x_test: Mapping[str, Floats],
    test_labels: Ints,
    *,
    seed: int = 1111,
) -> Outcome:
    """SST: the L2 penalty and the end of training by a development set."""
    n_classes = int(labels.max()) + 1
    fits = []
    for l2 in L2:
        model, dev, epochs = fit_senteval(x, labels, n_classes, l2, seed, (x_dev, dev_labels))
        scores = {lang: 100 * _accuracy(model, rows, test_labels) for lang, rows in x_test.items()}
        fits.append(Fit(0, None, l2, dev, epochs, scores))
    # SentEval now fits once more with the best penalty: the same seed and rows, the same result.
    best = int(np.argmax([round(100 * fit.dev, 2) for fit in fits]))
    return Outcome(fits, [fits[best]])


def _select_and_refit(
    outcome: Outcome,
    split: int,
    x: Floats,
    labels: Ints,
    x_test: Mapping[str, Floats],
    test_labels: Ints,
    folds: int,
    seed: int,
) -> None:
    n_classes = int(labels.max()) + 1
    means = []
    for l2 in L2:
        devs = []
        for inner, (train, test) in enumerate(stratified_folds(labels, folds, seed)):
            # The inner test rows end the training too.
            _, dev, epochs = fit_senteval(
                x[train], labels[train], n_classes, l2, seed, (x[test], labels[test])
            )
            outcome.fits.append(Fit(split, inner, l2, dev, epochs, {}))
            devs.append(dev)
        means.append(round(100 * float(np.mean(devs)), 2))
    l2 = L2[int(np.argmax(means))]

    model, dev, epochs = fit_senteval(x, labels, n_classes, l2, seed)
    scores = {lang: 100 * _accuracy(model, rows, test_labels) for lang, rows in x_test.items()}
    outcome.fits.append(Fit(split, None, l2, dev, epochs, scores))
    outcome.reported.append(outcome.fits[-1])


def fit_senteval(
    x: Floats,
    labels: Ints,
    n_classes: int,
    l2: float,
    seed: int,
    dev: tuple[Floats, Ints] | None = None,
) -> tuple[Any, float, int]:
    """Train one classifier; without development rows, five per cent of x are drawn as such.

    Returns:
        The classifier, its best development score between 0 and 1, and its epochs.
    """
    torch = _torch()

    generator = np.random.RandomState(seed)
    torch.manual_seed(seed)
    model = torch.nn.Linear(x.shape[1], n_classes)
    if dev is None:
        held_out, kept = np.split(generator.permutation(len(x)), [int(0.05 * len(x))])
        dev = x[held_out], labels[held_out]
        x, labels = x[kept], labels[kept]

    rows, classes = torch.from_numpy(x), torch.from_numpy(labels)
    loss = torch.nn.CrossEntropyLoss(reduction="sum")
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=l2)
    best, best_state, epochs, stale = -1.0, {}, 0, 0
    while epochs < 200 and stale < 6:
        for _ in range(4):
            order = torch.from_numpy(generator.permutation(len(x)))
            for batch in torch.split(order, 64):
                optimiser.zero_grad()
                loss(model(rows[batch]), classes[batch]).backward()
                optimiser.step()
        epochs += 4
        accuracy = _accuracy(model, *dev)
        if accuracy > best:
            best, best_state = accuracy, copy.deepcopy(model.state_dict())
        else:
            stale += 1  # and it is never set back
    model.load_state_dict(best_state)
    return model, best, epochs


def stratified_folds(labels: Ints, k: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Return training and test rows of each fold, as scikit-learn 0.19 dealt them."""
    fold = np.empty(len(labels), np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        order = np.arange(max(len(rows), k))
        np.random.RandomState(seed).shuffle(order)  # the same start for every class
        for number, piece in enumerate(np.array_split(order, k)):
            fold[rows[piece[piece < len(rows)]]] = number
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(k)]


# --- The paper's own experiments --------------------------------------------------------------


def ukp(
    x: Mapping[str, Floats],
    labels: Ints,
    train_lang: str,
    *,
    repetitions: int = 50,
    rates: Sequence[float] = RATES,
) -> Outcome:
    """AM, AC, CLS: random splits, shared by the languages; the learning rate by the mean of dev.

    Args:
        x: Features of each language, (n, dim); row i means the same in all.
        labels: Classes, (n,).
        train_lang: Language of the training and the development rows.
        repetitions: Random splits.
        rates: Learning rates to choose from.
    """
    fits = [fit_ukp(i, x, labels, train_lang, rate) for rate in rates for i in range(repetitions)]
    by_rate = [[fit for fit in fits if fit.setting == rate] for rate in rates]
    best = int(np.argmax([np.mean([fit.dev for fit in some]) for some in by_rate]))
    return Outcome(fits, by_rate[best])


def fit_ukp(i: int, x: Mapping[str, Floats], labels: Ints, train_lang: str, rate: float) -> Fit:
    """Train the classifier of repetition i with one learning rate."""
    torch = _torch()

    generator = np.random.RandomState(i)
    permutation = generator.permutation(len(labels))
    fifth = int(0.2 * len(labels))
    dev, test, train = np.split(permutation, [fifth, 2 * fifth])

    model = torch.nn.Linear(x[train_lang].shape[1], int(labels.max()) + 1)
    torch.manual_seed(i)
    torch.nn.init.xavier_uniform_(model.weight)
    torch.nn.init.constant_(model.bias, 0.1)

    rows, classes = torch.from_numpy(x[train_lang][train]), torch.from_numpy(labels[train])
    loss = torch.nn.CrossEntropyLoss(reduction="mean")
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    best, best_state, epochs, stale = -1.0, {}, 0, 0
    while epochs < 1000 and stale < 5:
        order = torch.from_numpy(generator.permutation(len(train)))
        for batch in torch.split(order, 32):
            optimiser.zero_grad()
            loss(model(rows[batch]), classes[batch]).backward()
            optimiser.step()
        epochs += 1
        score = macro_f1(labels[dev], _predict(model, x[train_lang][dev]))
        if score > best:
            best, best_state, stale = score, copy.deepcopy(model.state_dict()), 0
        else:
            stale += 1
    model.load_state_dict(best_state)
    scores = {
        lang: 100 * macro_f1(labels[test], _predict(model, rows[test])) for lang, rows in x.items()
    }
    return Fit(i, None, rate, best, epochs, scores)


def macro_f1(gold: Array, predicted: Array) -> float:
    """Return the mean of F1 over the classes that occur in either."""
    scores = []
    for label in np.union1d(gold, predicted):
        hits = np.sum((gold == label) & (predicted == label))
        scores.append(2 * hits / (np.sum(gold == label) + np.sum(predicted == label)))
    return float(np.mean(scores))


def _accuracy(model: Any, x: Floats, labels: Ints) -> float:
    return float(np.mean(_predict(model, x) == labels))


def _predict(model: Any, x: Floats) -> Array:
    torch = _torch()

    with torch.no_grad():
        return model(torch.from_numpy(x)).argmax(dim=1).numpy()
