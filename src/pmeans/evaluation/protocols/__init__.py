"""Protocols by name: how a dataset and an encoder become scores.

`evaluate` runs one; `check` finds, before any time is spent, what would make it fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np

from pmeans import kernels
from pmeans.errors import InputError, LanguageError, did_you_mean
from pmeans.evaluation.features import Adapt, Features
from pmeans.evaluation.protocols import modern, senteval, ukp
from pmeans.evaluation.protocols.training import Job, Trainer
from pmeans.evaluation.splits import subsample
from pmeans.evaluation.types import Dataset, Progress, Score
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted
from pmeans.types import Encoder

PROTOCOLS: dict[str, ModuleType] = {
    "senteval-2018": senteval,
    "ukp-subsample": ukp,
    "modern": modern,
}
"""Each module has `run`, and a `VERSION` that rises whenever its scores change."""


def evaluate(
    encoder: Encoder,
    dataset: Dataset,
    protocol: str,
    *,
    train_lang: str,
    test_langs: Sequence[str],
    progress: Progress | None = None,
    n_threads: int | None = None,
    device: str = "cpu",
    adapt: Adapt | None = None,
) -> list[Score]:
    """Train in one language and score in one or several.

    Args:
        encoder: Turns sentences into rows; its z-norm is fitted as its recipe says, see
            `pmeans.evaluation.features`.
        dataset: The task.
        protocol: ``"senteval-2018"``, ``"ukp-subsample"`` or ``"modern"``.
        train_lang: Language to train, choose and stop in.
        test_langs: Languages to score; the training language for a monolingual evaluation.
        progress: Told how far it is.
        n_threads: Threads that train; all available ones if None.
        device: ``"cpu"``, or a torch device such as ``"cuda"``, which needs torch.
        adapt: Fit the z-norm of a fitted encoder anew, see `pmeans.evaluation.features`.

    Returns:
        A score for each test language and split.
    """
    check(dataset, protocol, train_lang, test_langs)
    run: Callable[[Job], list[Score]] = PROTOCOLS[protocol].run
    told = progress or (lambda done, text: None)
    features = Features(encoder, dataset, adapt)
    features.check(test_langs)
    trainer = _trainer(n_threads, device)
    return run(Job(dataset, features, train_lang, test_langs, trainer, told))


def check(dataset: Dataset, protocol: str, train_lang: str, test_langs: Sequence[str]) -> None:
    """Raise the error that `evaluate` would meet, without the work."""
    if protocol not in PROTOCOLS:
        raise InputError(
            f"no protocol {protocol!r}.{did_you_mean(protocol, PROTOCOLS)} "
            f"There are: {', '.join(PROTOCOLS)}."
        )
    for lang in dict.fromkeys((train_lang, *test_langs)):
        if lang not in dataset.rows:
            raise LanguageError(
                f"task {dataset.task!r} has no rows in {lang!r}, only in "
                f"{', '.join(dataset.languages)}."
            )
        _check_rows(dataset, lang, train_lang)
        if protocol == "ukp-subsample":
            _check_subsamples(dataset, lang)
    folds = {"senteval-2018": senteval.FOLDS, "modern": modern.FOLDS}.get(protocol)
    chosen_on_dev = protocol == "senteval-2018" and "dev" in dataset.rows[train_lang]
    if folds and not chosen_on_dev:
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
            names = [_class(dataset, int(label)) for label in strange]
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
    """Every class must be in every fold, and in every fold of what is left for training."""
    rows = dataset.rows[lang]
    nested = "all" in rows
    counts = np.bincount(rows["all" if nested else "train"].labels, minlength=len(dataset.classes))
    left = counts - -(-counts // folds) if nested else counts
    for label in np.flatnonzero((counts > 0) & (left < folds)):
        raise InputError(
            f"task {dataset.task!r} in {lang!r}: the class {_class(dataset, int(label))} has "
            f"{counts[label]} rows, too few to be in each of {folds} folds"
            f"{' and in each of their inner folds' if nested else ''}."
        )


def _check_subsamples(dataset: Dataset, lang: str) -> None:
    """Every class must be in the training rows of every repetition."""
    if "all" not in dataset.rows[lang]:
        raise InputError(
            f"task {dataset.task!r} has a test part of its own, but 'ukp-subsample' draws its "
            "own: take 'senteval-2018' or 'modern'."
        )
    labels = dataset.rows[lang]["all"].labels
    present = np.unique(labels)
    for seed in range(ukp.REPETITIONS):
        train, dev, _ = subsample(len(labels), seed)
        missing = np.setdiff1d(present, labels[train])
        if len(missing) or not len(dev):
            what = _class(dataset, int(missing[0])) if len(missing) else "of any row"
            raise InputError(
                f"task {dataset.task!r} in {lang!r}: {len(labels)} rows are too few for "
                f"'ukp-subsample': repetition {seed} would train without the class {what}."
            )


def _class(dataset: Dataset, label: int) -> str:
    known = 0 <= label < len(dataset.classes)
    return repr(dataset.classes[label]) if known else f"number {label}"


def _trainer(n_threads: int | None, device: str) -> Trainer:
    threads = n_threads or kernels.available_threads()
    if device == "cpu":

        def train(groups: Sequence[FitGroup], rule: FitRule) -> list[list[Fitted]]:
            return kernels.train_classifiers(groups, rule, threads)

        # Two a thread: the second is at hand when the first one stops early.
        return Trainer(train, 2 * threads, threads)
    from pmeans.evaluation import torch_engine

    def train_there(groups: Sequence[FitGroup], rule: FitRule) -> list[list[Fitted]]:
        return torch_engine.train_classifiers(groups, rule, device)

    # The more, the better: a step of hundreds takes hardly longer than one of ten.
    return Trainer(train_there, 1000, threads)
