"""Classifiers of the exact protocols: the fast path against the plain torch reference.

Both train the same fits of CR, MR and AM on 3600 columns, in turn and in one run: ratios are
taken within a round. The columns are real: power means of GloVe and GoogleNews, z-normed, and
widened by a fixed random projection. The reference runs on one thread or on two, whichever takes
less time for its first fit. Where there is CUDA, the torch engine has its turn as well.

Fits of AM with learning rates of 0.005 and more may differ: their training amplifies rounding,
as `pmeans_lab.evaluation.torch_engine` explains.

With --complete, all 410 fits of CR and all 250 of AC are done by both, and the scores that a
table would show are set side by side.

    PYTHONPATH=tests python benchmarks/evaluation.py [--complete] [--json FILE]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
import torch

import oracle
import pmeans
from pmeans import kernels
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted
from pmeans.types import Floats, Ints
from pmeans_lab.evaluation import tasks, torch_engine
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.protocols import evaluate
from pmeans_lab.evaluation.random_splits import glorot, linear

DIM, SEED, ROUNDS = 3600, 1111, 3
SENTEVAL = FitRule(64, 4, 200, 6, False, "sum", "accuracy")
UKP = FitRule(32, 1, 1000, 5, True, "mean", "macro-f1")
SPACES = ("glove-6b-100d.en", "googlenews-w2v-300d.en")
T = TypeVar("T")
Result = list[tuple[float, int]]
"""Development score and epochs of each fit."""


@dataclass(frozen=True)
class Sample:
    """Some fits of a task: as groups of the fast path, and as calls of the reference."""

    what: str
    rule: FitRule
    groups: list[FitGroup]
    calls: list[Callable[[], tuple[float, int]]]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the training of classifiers.")
    parser.add_argument("--json", type=Path, help="also write the raw numbers here")
    parser.add_argument("--complete", action="store_true", help="also CR and AC, every fit")
    options = parser.parse_args()
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    data = Path(os.environ.get("PMEANS_DATA", default))
    made = [
        inner_folds("CR", *features(data, "CR"), 4),
        inner_folds("MR", *features(data, "MR"), 2),
        repetitions("AM", *features(data, "AM"), 2),
    ]
    raw = {sample.what: measured(sample) for sample in made}
    print("# Training of classifiers against plain torch\n")
    print("`make bench-eval` prints this; `benchmarks/evaluation.py` says what is measured.\n")
    print(f"{DIM} columns, {ROUNDS} rounds in turn; median (smallest to largest).\n")
    print("| fits | program | seconds | reference / it | same score and epochs | furthest |")
    print("|---|---|---|---|---|---|")
    for what, by_name in raw.items():
        plain = next(iter(by_name.values()))
        for name, (times, result) in by_name.items():
            ratios = [theirs / ours for theirs, ours in zip(plain[0], times, strict=True)]
            same = sum(a == b for a, b in zip(plain[1], result, strict=True))
            furthest = max(abs(a[0] - b[0]) for a, b in zip(plain[1], result, strict=True))
            print(
                f"| {what} | {name} | {shown(times)} | {shown(ratios)} "
                f"| {same} of {len(result)} | {100 * furthest:.2f} points |"
            )
    if options.complete:
        print("\nAll fits of a task, once each:\n")
        print("| task | plain torch | pmeans | seconds, torch | seconds, pmeans | same splits |")
        print("|---|---|---|---|---|---|")
        for task in ("CR", "AC"):
            print(complete(task, *features(data, task)))
    if options.json:
        options.json.write_text(json.dumps(raw, indent=1) + "\n")


def features(data: Path, task: str) -> tuple[Floats, Ints]:
    """Return (n, DIM) columns and the labels of a task's English rows."""
    rows = tasks.load(tasks.find(task), data, ["en"]).rows["en"]["all"]
    spaces = {name: pmeans.read_space(data / "vectors" / f"{name}.f16.npy")[0] for name in SPACES}
    recipe = pmeans.Recipe(tuple(pmeans.Part(name) for name in SPACES))
    x = pmeans.PowerMeanEncoder(recipe, spaces).encode(rows.sentences, lang="en")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    projection = np.random.default_rng(SEED).normal(0, x.shape[1] ** -0.5, (x.shape[1], DIM))
    return x @ projection.astype(np.float32), rows.labels


def complete(task: str, x: Floats, labels: Ints) -> str:
    """Run a whole task with both programs, and return a line of the table."""
    known = tasks.find(task)
    rows = Examples(("",) * len(labels), labels)
    dataset = Dataset(task, ("0", "1"), known.measure, True, {"en": {"all": rows}})
    encoder = SimpleNamespace(encode=lambda sentences, lang: x)

    def plain() -> list[float]:
        if known.protocol == "senteval-2018":
            return [fit.test[""] for fit in oracle.senteval_nested(x, labels).reported]
        return [fit.test["en"] for fit in oracle.ukp({"en": x}, labels, "en").reported]

    def ours() -> list[float]:
        scores = evaluate(encoder, dataset, known.protocol, train_lang="en", test_langs=["en"])
        return [score.value for score in scores]

    (theirs_s, theirs), (ours_s, own) = timed(plain, 1), timed(ours, 1)
    same = sum(abs(a - b) < 1e-9 for a, b in zip(theirs, own, strict=True))
    return (
        f"| {task} | {np.mean(theirs):.2f} | {np.mean(own):.2f} | {theirs_s:.1f} | {ours_s:.1f} "
        f"| {same} of {len(own)} |"
    )


def inner_folds(task: str, x: Floats, labels: Ints, n_folds: int) -> Sample:
    """Return all penalties of the first inner folds of the first outer fold."""
    n_classes = int(labels.max()) + 1
    outer = oracle.stratified_folds(labels, 10, SEED)[0][0]
    groups, calls = [], []
    for train, dev in oracle.stratified_folds(labels[outer], 10, SEED)[:n_folds]:
        train, dev = outer[train], outer[dev]
        first = linear(SEED, n_classes, DIM)
        rates = (1e-3,) * len(oracle.L2)
        groups.append(group(x, labels, train, dev, SEED, 0, first, rates, oracle.L2))
        parts = x[train], labels[train], (x[dev], labels[dev])
        calls += [functools.partial(fit_senteval, *parts, n_classes, l2) for l2 in oracle.L2]
    return Sample(f"{task}: {len(calls)} of 410", SENTEVAL, groups, calls)


def repetitions(task: str, x: Floats, labels: Ints, n: int) -> Sample:
    """Return all learning rates of the first repetitions."""
    n_classes, fifth = int(labels.max()) + 1, int(0.2 * len(labels))
    groups, calls = [], []
    for i in range(n):
        rows = np.random.RandomState(i).permutation(len(labels))
        first = glorot(i, n_classes, DIM), np.full(n_classes, 0.1, np.float32)
        train, dev, l2 = rows[2 * fifth :], rows[:fifth], (0.0,) * len(oracle.RATES)
        groups.append(group(x, labels, train, dev, i, len(labels), first, oracle.RATES, l2))
        calls += [functools.partial(fit_ukp, i, x, labels, rate) for rate in oracle.RATES]
    return Sample(f"{task}: {len(calls)} of 250", UKP, groups, calls)


def group(
    x: Floats,
    labels: Ints,
    train: Ints,
    dev: Ints,
    seed: int,
    drawn: int,
    first: tuple[Floats, Floats],
    rates: tuple[float, ...],
    l2: tuple[float, ...],
) -> FitGroup:
    train, dev, labels = (rows.astype(np.int32) for rows in (train, dev, labels))
    return FitGroup(x, labels, train, dev, seed, drawn, *first, rates, l2)


def fit_senteval(
    x: Floats, labels: Ints, dev: tuple[Floats, Ints], n_classes: int, l2: float
) -> tuple[float, int]:
    _, score, epochs = oracle.fit_senteval(x, labels, n_classes, l2, SEED, dev)
    return score, epochs


def fit_ukp(i: int, x: Floats, labels: Ints, rate: float) -> tuple[float, int]:
    fit = oracle.fit_ukp(i, {"en": x}, labels, "en", rate)
    return fit.dev, fit.epochs


def measured(sample: Sample) -> dict[str, tuple[list[float], Result]]:
    """Return the seconds of each round and the last result of every program."""
    threads = {n: timed(sample.calls[0], n)[0] for n in (2, 1, 2, 1)}  # the last of each counts
    best = min(threads, key=threads.__getitem__)
    groups, rule = sample.groups, sample.rule
    programs: dict[str, Callable[[], Result]] = {
        f"plain torch, threads: {best}": lambda: [call() for call in sample.calls],
        "pmeans.kernels": lambda: flat(kernels.train_classifiers(groups, rule)),
    }
    if torch.cuda.is_available():
        programs["torch engine, CUDA"] = lambda: flat(
            torch_engine.train_classifiers(groups, rule, "cuda")
        )
    results: dict[str, tuple[list[float], Result]] = {name: ([], []) for name in programs}
    for i in range(ROUNDS):
        print(f"{sample.what}: round {i + 1} of {ROUNDS}", file=sys.stderr)
        for name, program in programs.items():
            seconds, result = timed(program, best)
            results[name] = ([*results[name][0], seconds], result)
    return results


def timed(program: Callable[[], T], n_threads: int) -> tuple[float, T]:
    torch.set_num_threads(n_threads)
    begin = time.perf_counter()
    result = program()
    return time.perf_counter() - begin, result


def flat(trained: list[list[Fitted]]) -> Result:
    return [(fit.score, fit.epochs) for some in trained for fit in some]


def shown(values: list[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()
