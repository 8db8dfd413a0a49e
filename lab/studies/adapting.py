"""Measure how many unlabelled texts `TransferClassifier.adapt` needs, and how far to trust few.

    python studies/adapting.py DATA > results/adapting/table.md

A classifier is trained on English. German and French are then adapted to 2 to 1,000 unlabelled
texts of the task, drawn five times, and the mean and deviation of these texts are mixed with those
of the training rows, as if there were `k` more texts like these. The scores are accuracies on rows
that are neither the texts nor the rows of a published test set: the second half of the training
reviews of CLS, and the development rows of XNLI-genre.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import pmeans
from pmeans import TransferClassifier
from pmeans.encoder.znorm import Moments
from pmeans.transfer.adapting import shrunken
from pmeans_lab.evaluation import tasks

TASKS = ("CLS-reviews", "CLS-films", "XNLI-genre")
NUMBERS = (2, 5, 10, 30, 100, 300, 1000)
WEIGHTS = (0, 10, 30, 100, 300, 1000)
DRAWS = 5
LANGUAGES = ("de", "fr")
FINDING = """\
# How many texts adapting needs

By `python studies/adapting.py DATA`.

Without the training rows (k = 0), adapting to a few texts ruins a classifier. With k = 100, which
`TransferClassifier.adapt` takes, it does no harm on average, however few the texts are, and gains
from 100 texts on what it gains without. The tables have the mean change of accuracy by adapting,
in points, and in brackets the worst one of all draws and languages.

k was chosen among these six by these tables, so that the column k = 100 is not held out.

{method}

## All three
"""
Changes = dict[tuple[int, int], list[float]]


def parts(name: str, data: Path, lang: str) -> tuple[list[str], list[str], list[str]]:
    """Return unlabelled texts of a language, and further ones with their labels."""
    dataset = tasks.load(tasks.find(name), data, [lang])
    train, classes = dataset.rows[lang]["train"], dataset.classes
    order = np.random.default_rng(0).permutation(len(train.sentences))
    if name == "XNLI-genre":
        unlabelled, rest, scored = order, np.arange(len(dataset.rows[lang]["test"].labels)), "test"
    else:
        half = len(order) // 2
        unlabelled, rest, scored = order[:half], order[half:], "train"
    tested = dataset.rows[lang][scored]
    return (
        [train.sentences[i] for i in unlabelled],
        [tested.sentences[i] for i in rest],
        [classes[tested.labels[i]] for i in rest],
    )


def measured(name: str, data: Path) -> tuple[dict[str, float], Changes]:
    """Return accuracies without adapting, and by number of texts and weight, in per cent."""
    encoder = pmeans.load()
    encoder = encoder.replace(recipe=replace(encoder.recipe, tokenizer="whitespace"))
    dataset = tasks.load(tasks.find(name), data, ["en"])
    train = dataset.rows["en"]["train"]
    labels = [dataset.classes[label] for label in train.labels]
    classifier = TransferClassifier(encoder).fit(train.sentences, labels, lang="en")
    fitted = classifier.fitted
    before, after = {}, {}
    for lang in LANGUAGES:
        unlabelled, texts, gold = parts(name, data, lang)
        pool, rows = (encoder.encode(each, lang=lang) for each in (unlabelled, texts))
        numbers = np.array([fitted.classes.index(label) for label in gold])

        def accuracy(adapted: dict, lang: str = lang, rows=rows, numbers=numbers) -> float:
            linear = replace(fitted, adapted=adapted).linear_for(lang)
            return 100 * float((linear.decide(rows).argmax(axis=1) == numbers).mean())

        before[lang] = accuracy({})
        for draw in range(DRAWS):
            order = np.random.default_rng(draw).permutation(len(pool))
            for n in NUMBERS:
                moments = Moments(encoder.dim)
                moments.add(pool[order[:n]])
                for k in WEIGHTS:
                    found = accuracy({lang: shrunken(moments, fitted.centre, fitted.spread, k)})
                    after.setdefault((n, k), []).append(found - before[lang])
    return before, after


def main(data: Path) -> None:
    """Print a table of all tasks, and one for each."""
    found = {name: measured(name, data) for name in TASKS}
    together: Changes = {}
    for _, after in found.values():
        for key, values in after.items():
            together.setdefault(key, []).extend(values)
    print(FINDING.format(method=__doc__.split("\n\n")[2].strip()))
    show(together)
    for name, (before, after) in found.items():
        unadapted = ", ".join(f"{lang} {score:.1f}" for lang, score in before.items())
        print(f"## {name}\n\nNot adapted: {unadapted}.\n")
        show(after)


def show(changes: Changes) -> None:
    """Print the mean change of accuracy, and the worst one."""
    print("| texts | " + " | ".join(f"k = {k:,}" for k in WEIGHTS) + " |")
    print("|---|" + "---|" * len(WEIGHTS))
    for n in NUMBERS:
        cells = [f"{np.mean(changes[n, k]):+.1f} ({min(changes[n, k]):+.1f})" for k in WEIGHTS]
        print(f"| {n:,} | " + " | ".join(cells) + " |")
    print()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
