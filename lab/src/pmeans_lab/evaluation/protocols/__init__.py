"""Protocols by name: how a dataset and an encoder become scores.

`evaluate` runs one; `check` finds, before any time is spent, what would make it fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pmeans import kernels
from pmeans.errors import InputError, LanguageError, did_you_mean
from pmeans.files import optional
from pmeans.types import Encoder, Progress
from pmeans_lab.evaluation.dataset import Dataset, Score
from pmeans_lab.evaluation.features import Adapt, Features
from pmeans_lab.evaluation.measures.retrieval import RETRIEVAL, STS
from pmeans_lab.evaluation.protocol import UNCHANGED, Job, Protocol, Settings, Trainer
from pmeans_lab.evaluation.protocols.modern import MODERN, TRANSFER
from pmeans_lab.evaluation.protocols.senteval_2018 import SENTEVAL_2018
from pmeans_lab.evaluation.protocols.ukp_subsample import UKP_SUBSAMPLE

CLASSIFYING = (SENTEVAL_2018, UKP_SUBSAMPLE, MODERN, TRANSFER)
"""Those that train classifiers."""
PROTOCOLS = {each.name: each for each in (*CLASSIFYING, RETRIEVAL, STS)}


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
    settings: Settings = UNCHANGED,
) -> list[Score]:
    """Train in one language and score in one or several.

    Args:
        encoder: Turns sentences into rows; its z-norm is fitted as its recipe says, see
            `pmeans_lab.evaluation.features`.
        dataset: The task.
        protocol: Its name in `PROTOCOLS`.
        train_lang: Language to train, choose and stop in.
        test_langs: Languages to score; the training language for a monolingual evaluation.
        progress: Told how far it is.
        n_threads: Threads that train; all available ones if None.
        device: ``"cpu"``, or a torch device such as ``"cuda"``, which needs torch.
        adapt: Fit the z-norm of a fitted encoder anew, see `pmeans_lab.evaluation.features`.
        settings: What to choose about the protocol, where it has the choice.

    Returns:
        A score for each test language and split.
    """
    check(dataset, protocol, train_lang, test_langs)
    chosen = of_name(protocol)
    chosen.check_settings(settings)
    told = progress or (lambda done, text: None)
    features = Features(encoder, dataset, adapt)
    features.check(train_lang, test_langs)
    trainer = trainer_of(n_threads, device)
    return chosen.run(Job(dataset, features, train_lang, test_langs, trainer, told, settings))


def check(dataset: Dataset, protocol: str, train_lang: str, test_langs: Sequence[str]) -> None:
    """Raise the error that `evaluate` would meet, without the work."""
    for lang in dict.fromkeys((train_lang, *test_langs)):
        if lang not in dataset.rows:
            raise LanguageError(
                f"task {dataset.task!r} has no rows in {lang!r}, only in "
                f"{', '.join(dataset.languages)}."
            )
    of_name(protocol).check(dataset, train_lang, test_langs)


def of_name(name: str) -> Protocol:
    """Return a protocol by its name."""
    if name not in PROTOCOLS:
        raise InputError(
            f"no protocol {name!r}.{did_you_mean(name, PROTOCOLS)} "
            f"There are: {', '.join(PROTOCOLS)}."
        )
    return PROTOCOLS[name]


def trainer_of(n_threads: int | None, device: str) -> Trainer:
    """Return who trains classifiers: the native core, or torch on a device."""
    threads = n_threads or kernels.available_threads()
    if device == "cpu":
        # Two per thread: the second is at hand when the first one stops early.
        train = partial(kernels.train_classifiers, n_threads=threads)
        return Trainer(train, 2 * threads, threads)
    optional("torch", "train", f"training on {device!r}")
    from pmeans_lab.evaluation import torch_engine

    # The more, the better: a step of hundreds takes hardly longer than one of ten.
    return Trainer(partial(torch_engine.train_classifiers, device=device), 1000, threads)
