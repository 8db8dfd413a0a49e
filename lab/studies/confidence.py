"""Measure what confidence is worth in other languages, before and after calibration.

    python studies/confidence.py DATA [MODEL [LANG]] > results/confidence/table.md

MODEL is a folder, or `default`, the model in the package. Where it carries no translations of
German and French, those that recipes/default.toml names are taken. A classifier is trained on
LANG, or English, by the protocol `transfer`: five folds, or the published parts. Ways to calibrate
another language are

- before: as the language of training;
- agreement: the temperature at which decisions on translations have the least cross-entropy to the
  probabilities of their originals, on the same pairs;
- translations: what `TransferClassifier` does;
- labels: the temperature that fits the labels of the test rows. No better one can be had.
"""

import sys
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar

import pmeans
from pmeans import PowerMeanEncoder, TransferClassifier
from pmeans.building.build_file import Build, carried
from pmeans.transfer import UnknownWordsWarning
from pmeans.transfer.linear import Linear, probabilities, temperature
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.protocol import outer_splits
from pmeans_lab.evaluation.protocols.modern import FOLDS, SEED, calibration_error

RECIPE = Path(__file__).parents[2] / "recipes" / "default.toml"
TASKS = (
    "AM",
    "AM, balanced",
    "AC",
    "AC, balanced",
    "CLS",
    "CLS-reviews",
    "CLS-films",
    "XNLI-genre",
)
WAYS = ("before", "agreement", "translations", "labels")
SURE = 0.7
BINS = (0.5, 0.6, 0.7, 0.8, 0.9)
MEASURES = ("accuracy", "confidence", "calibration error", f"answered at {SURE}", "right of these")
Found = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]


def predicted(encoder: PowerMeanEncoder, name: str, data: Path, trained: str) -> Found:
    """Return confidence and whether it was right, (n,) each, by language and way."""
    task = tasks.find(name.removesuffix(", balanced"))
    weight = None if task.name == name else "balanced"
    langs = [lang for lang in task.languages if lang in encoder.languages]
    rows = tasks.load(task, data, [trained, *langs])
    split = encoder.replace(recipe=replace(encoder.recipe, tokenizer="whitespace"))
    splits = {lang: outer_splits(rows, lang, FOLDS, SEED) for lang in langs}
    found = defaultdict(list)
    for k, (part, train, _, _) in enumerate(splits[trained]):
        given = rows.rows[trained][part]
        labels = [rows.classes[given.labels[i]] for i in train]
        classifier = TransferClassifier(split, class_weight=weight, seed=SEED)
        classifier.fit([given.sentences[i] for i in train], labels, lang=trained)
        linear = Linear(classifier.weights, classifier.bias)
        for lang in langs:
            _, _, of_test, test = splits[lang][k]
            texts = [rows.rows[lang][of_test].sentences[i] for i in test]
            names = [rows.classes[label] for label in rows.rows[lang][of_test].labels[test]]
            gold = np.array([classifier.fitted.classes.index(name) for name in names])
            decisions = linear.decide(split.encode(texts, lang=lang))
            slopes = [1, 1, 1, 1 / temperature(decisions, gold)]
            if lang in classifier.calibrated:
                slopes[1] = 1 / agreement(encoder, linear, lang)
                slopes[2] = classifier.fitted.calibrated[lang].slope[0]
            for way, slope in zip(WAYS, slopes, strict=True):
                p = probabilities(decisions * np.float32(slope), False)
                found[lang, way].append((p.max(axis=1), p.argmax(axis=1) == gold))
    return {
        key: (np.concatenate([p for p, _ in parts]), np.concatenate([r for _, r in parts]))
        for key, parts in found.items()
    }


def agreement(encoder: PowerMeanEncoder, linear: Linear, lang: str) -> float:
    """Return the temperature at which translations agree best with their originals."""
    firsts, seconds = zip(*encoder.translations.pairs[lang], strict=True)
    target = probabilities(linear.decide(encoder.encode(firsts, lang="en")), False)
    scores = linear.decide(encoder.encode(seconds, lang=lang)).astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)

    def loss(log_temperature: float) -> float:
        z = scores * np.exp(-log_temperature)
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - (target * z).sum(axis=1)))

    return float(np.exp(minimize_scalar(loss, bounds=(-6, 6), method="bounded").x))


def measured(confidence: np.ndarray, right: np.ndarray) -> list[float]:
    """Return the measures, in per cent."""
    sure = confidence >= SURE
    answered = 100 * right[sure].mean() if sure.any() else np.nan
    error = calibration_error(confidence, right)
    return [100 * right.mean(), 100 * confidence.mean(), error, 100 * sure.mean(), answered]


def reliable(parts: list[tuple[np.ndarray, np.ndarray]]) -> list[str]:
    """Return for each bin of confidence the share of rows in it, and how many of them are right."""
    confidence, right = (np.concatenate(side) for side in zip(*parts, strict=True))
    which = np.digitize(confidence, BINS)
    bins = [(which == k) for k in range(len(BINS) + 1)]
    return [f"{100 * right[b].mean():.0f} ({100 * b.mean():.0f})" if b.any() else "–" for b in bins]


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def main(data: str, model: str = "default", trained: str = "en") -> None:
    """Print the averages over tasks and languages, then every task and language."""
    warnings.simplefilter("ignore", UnknownWordsWarning)
    encoder = pmeans.load(model)
    told = carried(Build.from_toml(RECIPE, data).translations)
    own = encoder.translations.pairs if encoder.translations else {}
    encoder = encoder.replace(translations=replace(told, pairs={**told.pairs, **own}))
    rows, values, pooled = [], defaultdict(list), defaultdict(list)
    for name in TASKS:
        found = predicted(encoder, name, Path(data), trained)
        for lang in dict.fromkeys(lang for lang, _ in found):
            by_way = {way: measured(*found[lang, way]) for way in WAYS}
            for way in WAYS if lang != trained else ():
                values[way].append(by_way[way])
            for way in ("before", "translations") if lang != trained else ("before",):
                pooled[lang, way].append(found[lang, way])
            pairs = zip(by_way["before"], by_way["translations"], strict=True)
            both = [(f"{a:.1f}", f"{b:.1f}") for a, b in pairs]
            cells = [a if a == b else f"{a} → {b}" for a, b in both]
            rows.append([name, lang, f"{len(found[lang, 'before'][0]):,}", *cells])
        print(name, file=sys.stderr, flush=True)
    means = []
    for way in WAYS:
        right, sure, error, *_ = np.array(values[way]).T
        columns = (error, np.abs(sure - right), sure - right)
        means.append([way, *(f"{np.mean(column):.1f}" for column in columns)])
    command = " ".join([sys.argv[0], "DATA", *sys.argv[2:]])
    print(f"# Confidence in other languages\n\nBy `python {command}`.\n")
    header = ["calibrated by", "calibration error", "mean confidence off by", "of it, too high by"]
    print(table(header, means))
    print(table(["task", "language", "rows", *MEASURES], rows))
    edges = ["below 0.5", *(f"{low:.1f}–{low + 0.1:.1f}" for low in BINS)]
    lines = [[lang, way, *reliable(parts)] for (lang, way), parts in sorted(pooled.items())]
    print(table(["language", "calibrated by", *edges], lines), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
