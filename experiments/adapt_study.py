"""Whether to adapt to unlabelled text before or behind an alignment, and what it gains.

    python experiments/adapt_study.py DATA MODEL [SPLITS]

DATA has the tasks AC and AM in ``tasks``; MODEL is an encoder of English, German and French with a
z-norm for each language and an alignment. Half of the English rows train a classifier; the other
half of each language is what it is scored on, after it was adapted to

    as encoded   nothing
    before       the z-norm of the language is fitted anew on its texts of the first half, given the
                 mean and deviation of the English z-scores, and the alignment comes after it
    behind       the rows behind the alignment are given those of English rows there: `adapt`

Columns of macro-F1 and accuracy in per cent, means over random halves.
"""

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

import pmeans
from pmeans import PowerMeanEncoder, TransferClassifier
from pmeans.evaluation import tasks
from pmeans.znorm import Moments, Statistics, ZNorm

LANGUAGES = ("en", "de", "fr")


def adapted_before(
    encoder: PowerMeanEncoder, training: list[str], texts: list[str], lang: str
) -> PowerMeanEncoder:
    """Return the encoder with z-scores of a language that are matched to those of training."""
    plain = PowerMeanEncoder(encoder.recipe, encoder.spaces, encoder.znorm)
    goal = Moments(plain.dim)
    goal.add(plain.encode(training, lang="en"))
    found = plain.fit_znorm(texts, lang=lang).znorm.statistics[lang]
    std = found.std / np.maximum(goal.std, 1e-6)
    matched = Statistics(
        (found.mean - goal.mean * std).astype(np.float32), std.astype(np.float32), found.count
    )
    znorm = ZNorm("per_language", {**encoder.znorm.statistics, lang: matched})
    return PowerMeanEncoder(encoder.recipe, encoder.spaces, znorm, encoder.alignment)


def study(encoder: PowerMeanEncoder, data: Path, task: str, splits: int) -> None:
    """Print a line for each way to learn, language and way to adapt."""
    rows = tasks.load(tasks.find(task), data, LANGUAGES).rows
    texts = {lang: np.array(rows[lang]["all"].sentences, dtype=object) for lang in LANGUAGES}
    labels = {lang: rows[lang]["all"].labels.astype(str) for lang in LANGUAGES}
    scores = defaultdict(list)
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(texts["en"]))
        first, second = np.array_split(order, 2)
        training = texts["en"][first].tolist()
        for weight in (None, "balanced"):
            classifier = TransferClassifier(encoder, class_weight=weight)
            classifier.fit(training, labels["en"][first].tolist(), lang="en")
            for lang in LANGUAGES:
                unlabelled = texts[lang][first].tolist()
                for way in ("as encoded", "before", "behind"):
                    classifier.encoder = encoder
                    if way == "before":
                        classifier.encoder = adapted_before(encoder, training, unlabelled, lang)
                    if way == "behind":
                        classifier.adapt(unlabelled, lang=lang)
                    found = classifier.evaluate(
                        texts[lang][second].tolist(), labels[lang][second].tolist(), lang=lang
                    )
                    scores[weight, lang, way].append((found.macro_f1, found.accuracy))
    for (weight, lang, way), each in scores.items():
        f1, accuracy = 100 * np.mean(each, axis=0)
        print(f"{task}\t{weight or '-'}\t{lang}\t{way}\t{f1:.1f}\t{accuracy:.1f}", flush=True)


def main() -> None:
    """Read the command line."""
    data, model, *splits = sys.argv[1:]
    for task in ("AC", "AM"):
        study(pmeans.load(model), Path(data), task, int(splits[0]) if splits else 8)


if __name__ == "__main__":
    main()
