"""What the demo finds out: scores in three languages, and what is behind them.

One classifier is trained on English sentences and applied to all three languages; German and
French ones of their own, trained on fewer sentences, stand beside it. Whatever is shown of single
sentences is chosen by rule (`examples`), not by hand.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from pmeans import PowerMeanEncoder, TransferClassifier
from pmeans.transfer import Evaluation
from pmeans.transfer.explain import Explanation, most_telling
from pmeans.types import Floats

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
TELLING = 8
"""How many words a class and language are shown."""
NEAREST = 10
"""How many neighbours on a map are looked at."""


@dataclass(frozen=True)
class Sentences:
    """Labelled sentences of one language."""

    texts: list[str]
    labels: list[str]


@dataclass(frozen=True)
class Score:
    """How a classifier did on one language, and how many sentences it was trained on."""

    n_train: int
    evaluation: Evaluation

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy, between 0 and 1."""
        return wilson(self.evaluation.accuracy, self.evaluation.rows)


@dataclass(frozen=True)
class Example:
    """One explained sentence, and the rule it was chosen by."""

    rule: str
    gold: str
    probability: float
    explanation: Explanation


@dataclass(frozen=True)
class Map:
    """Sentences of all languages on a plane.

    Attributes:
        points: Places, (n, 2), language after language.
        variance: Share of the variance that the plane shows.
        same_topic: How many of a point's `NEAREST` nearest points have its topic, as a share.
        same_language: The same of its language.
    """

    points: Floats
    variance: float
    same_topic: float
    same_language: float


@dataclass(frozen=True)
class Further:
    """A sentence in a language that the model in the package lacks, by a model of more languages.

    Attributes:
        lang: Its language, and what it was taken for, or None for none that the model has.
        text: The sentence.
        gold: Its topic.
        label: What the classifier, trained in English, makes of it.
    """

    lang: str
    taken_for: str | None
    text: str
    gold: str
    label: str


@dataclass(frozen=True)
class Findings:
    """All that the report shows, by language.

    Attributes:
        model: Name of the encoder.
        dim: Its number of columns.
        classes: The topics.
        transferred: The classifier that was trained in English, on each language.
        in_language: Those trained in German and French, each on its own language.
        tests: The test sentences.
        maps: Them on a plane: as the encoder, and as the English classifier sees them.
        telling: For each language and class, words and how far they push.
        examples: Explained sentences of the languages without training sentences.
        further: Sentences in eight more languages, where a model of them is installed.
    """

    model: str
    dim: int
    classes: tuple[str, ...]
    transferred: Mapping[str, Score]
    in_language: Mapping[str, Score]
    tests: Mapping[str, Sentences]
    maps: tuple[Map, Map]
    telling: Mapping[str, Mapping[str, list[tuple[str, float]]]]
    examples: Mapping[str, list[Example]]
    further: list[Further]


def find(encoder: PowerMeanEncoder, sample: Path, wide: PowerMeanEncoder | None = None) -> Findings:
    """Train, score and explain, on the files of a folder."""
    train = {lang: read(sample / f"train.{lang}.csv") for lang in LANGUAGES}
    tests = {lang: read(sample / f"test.{lang}.csv") for lang in LANGUAGES}
    fitted = {lang: fit(encoder, train[lang], lang) for lang in LANGUAGES}
    english = fitted["en"]
    size = {lang: len(train[lang].texts) for lang in LANGUAGES}
    rows = np.concatenate([encoder.encode(tests[lang].texts, lang=lang) for lang in LANGUAGES])
    # Without the means over the classes: adding the same to all of them changes no decision.
    decisions = rows @ (english.weights - english.weights.mean(axis=0)).T
    return Findings(
        model=encoder.name,
        dim=encoder.dim,
        classes=english.fitted.classes,
        transferred={
            lang: Score(size["en"], evaluate(english, tests[lang], lang)) for lang in LANGUAGES
        },
        in_language={
            lang: Score(size[lang], evaluate(fitted[lang], tests[lang], lang))
            for lang in ("de", "fr")
        },
        tests=tests,
        maps=(project(rows, tests), project(decisions, tests)),
        telling={
            lang: most_telling(
                encoder, *english.weights_for(lang), english.fitted.classes, lang=lang, k=TELLING
            )
            for lang in LANGUAGES
        },
        examples={lang: examples(english, tests[lang], lang) for lang in ("de", "fr")},
        further=classify_further(wide, train["en"], sample / "wide.csv") if wide else [],
    )


def classify_further(encoder: PowerMeanEncoder, train: Sentences, path: Path) -> list[Further]:
    """Train in English, and classify sentences whose languages are found, not named."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [row["text"] for row in rows]
    labels = fit(encoder, train, "en").predict(texts)
    return [
        Further(row["lang"], seen.lang, row["text"], row["label"], str(label))
        for row, seen, label in zip(rows, encoder.detect(texts), labels, strict=True)
    ]


def read(path: Path) -> Sentences:
    """Read a file with the columns text and label."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return Sentences([row["text"] for row in rows], [row["label"] for row in rows])


def fit(encoder: PowerMeanEncoder, train: Sentences, lang: str) -> TransferClassifier:
    """Train on sentences of one language."""
    return TransferClassifier(encoder).fit(train.texts, train.labels, lang=lang)


def evaluate(classifier: TransferClassifier, test: Sentences, lang: str) -> Evaluation:
    """Score on sentences of one language."""
    return classifier.evaluate(test.texts, test.labels, lang=lang)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share of n, between 0 and 1."""
    z = NormalDist().inv_cdf(0.975)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, centre - half), min(1.0, centre + half)


def project(rows: Floats, tests: Mapping[str, Sentences]) -> Map:
    """Project rows of all languages together onto their two main axes (PCA)."""
    u, s, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    points = u[:, :2] * s[:2]
    topics = np.array([label for test in tests.values() for label in test.labels])
    languages = np.array([lang for lang, test in tests.items() for _ in test.texts])
    distances = np.square(points[:, None] - points).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argsort(axis=1)[:, :NEAREST]
    return Map(
        points,
        variance=float((s[:2] ** 2).sum() / (s**2).sum()),
        same_topic=float((topics[nearest] == topics[:, None]).mean()),
        same_language=float((languages[nearest] == languages[:, None]).mean()),
    )


def examples(classifier: TransferClassifier, test: Sentences, lang: str) -> list[Example]:
    """Explain the surest and the least sure hit, and the surest miss; fewer if there are none."""
    found = classifier.classify(test.texts, lang=lang)
    sure = np.array(found.probabilities)
    right = np.array(found.labels) == np.array(test.labels)
    hits, misses = np.flatnonzero(right), np.flatnonzero(~right)
    ruled = [
        ("the surest hit", hits, sure),
        ("the least sure hit", hits, -sure),
        ("the surest miss", misses, sure),
    ]
    chosen = [(rule, rows[by[rows].argmax()]) for rule, rows, by in ruled if len(rows)]
    return [
        Example(
            rule,
            test.labels[i],
            float(sure[i]),
            classifier.explain(test.texts[i], lang=lang),
        )
        for rule, i in chosen
    ]


def per_cent(share: float) -> str:
    """Write a share as whole per cent: with 100 sentences, there is no more to say."""
    return f"{100 * share:.0f} %"
