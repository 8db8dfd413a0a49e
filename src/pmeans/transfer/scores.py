"""How good predictions are, and how many words of a text the encoder does not know, as data."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pmeans.encoder.coverage import Coverage
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import shown
from pmeans.languages.resolution import DoubtfulLanguageWarning, Doubts
from pmeans.spaces.space import ANY_LANGUAGE
from pmeans.transfer.labels import Name
from pmeans.types import Array, Ints

UNSURE = "(unsure)"
"""Name of the last column of a confusion matrix."""

MANY = 0.3
"""Share of unknown words, over all word spaces, from which a warning is due."""


_SOME = 100  # texts of which a language is looked for, if many words are unknown


class UnknownWordsWarning(UserWarning):
    """Much of a text is unknown to the encoder: predictions rest on the other words."""


@dataclass(frozen=True)
class Predictions:
    """What is predicted for each row.

    Attributes:
        labels: A label each; None where the classifier is unsure; tuples if rows have several.
        probabilities: Of the likeliest label, (n,); of each label of the tuple if there are
            several.
        empty: Which rows have no known word, so that only the shares of the classes speak, (n,).
    """

    labels: list[Name | None] | list[tuple[str, ...]]
    probabilities: list[float] | list[tuple[float, ...]]
    empty: npt.NDArray[np.bool_]


@dataclass
class Words:
    """Words of one language, each counted once per space: all, those found, and which not."""

    sought: int = 0
    found: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    unclear: list[str] = field(default_factory=list)
    """Some of the texts that have too many unknown words."""

    @property
    def known(self) -> float:
        """Share of the words that are known, averaged over the spaces; 1 if there are none."""
        return self.found / self.sought if self.sought else 1.0


class WordCount:
    """A running count over blocks of text."""

    def __init__(self, doubts: Doubts | None = None) -> None:
        self.languages: dict[str, Words] = {}
        self.doubts = doubts or Doubts()

    def add(self, lang: str, coverage: Coverage, texts: Sequence[str]) -> None:
        """Count the words of a block of texts in one language."""
        words = self.languages.setdefault(lang, Words())
        words.sought += int(coverage.tokens.sum()) * len(coverage.spaces)
        words.found += int(coverage.known.sum())
        for missing in coverage.unknown_words.values():
            said = {word: n for word, n in missing.items() if any(map(_says_something, word))}
            # A full stop without a vector is no loss, so that it does not count.
            words.sought -= missing.total() - sum(said.values())
            words.unknown.update(said)
        if len(words.unclear) < _SOME:
            unclear = coverage.by_sentence.mean(axis=0) < 1 - MANY
            words.unclear += [texts[i] for i in np.flatnonzero(unclear)[:_SOME].tolist()]

    def warnings(self, encoder: PowerMeanEncoder) -> list[UserWarning]:
        """Return a warning for each language of which too many words are unknown, and of doubts."""
        said: list[UserWarning] = []
        for lang, words in self.languages.items():
            if 1 - words.known > MANY:
                commonest = ", ".join(shown(word) for word, _ in words.unknown.most_common(8))
                which = "" if lang == ANY_LANGUAGE else f" ({lang!r})"
                text = (
                    f"{1 - words.known:.0%} of the words{which} are unknown, most often "
                    f"{commonest}. Is the language right?{_looks_like(encoder, lang, words)}"
                )
                said.append(UnknownWordsWarning(text))
        if self.doubts.any:
            said.append(DoubtfulLanguageWarning(str(self.doubts)))
        return said


def _looks_like(encoder: PowerMeanEncoder, lang: str, words: Words) -> str:
    """Name the language that most of the unclear texts seem to be in, if it is another one."""
    if encoder.identifier is None or not set(encoder.languages) <= set(
        encoder.identifier.languages
    ):
        return ""
    languages = Counter(each.lang for each in encoder.detect(words.unclear))
    ((other, n),) = languages.most_common(1) or [(lang, 0)]
    if other == lang or 2 * n < len(words.unclear):
        return ""
    return f" The text looks like {other or 'none of those that the model has'}."


def _says_something(character: str) -> bool:
    """Tell letters, digits and pictures (emoji) from punctuation and other signs."""
    return character.isalnum() or unicodedata.category(character) == "So"


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one label, and how many rows have it."""

    label: Name
    precision: float
    recall: float
    f1: float
    rows: int


@dataclass(frozen=True)
class Evaluation:
    """Scores between 0 and 1, over ``rows`` rows.

    Attributes:
        rows: How many rows were evaluated.
        accuracy: Share of rows that are right; several labels must all be right. A row the
            classifier is unsure of is not right.
        accuracy_sure: The same over the rows it is sure of; None if there are none.
        macro_f1: Mean of F1 over the labels that occur, in the rows or among the predictions.
        by_class: Scores of the labels of training and of those that only occur here.
        confusion: How often each label (a row of it) was predicted as each class of training, or
            not at all (its last column); labels and columns are named in ``confusion_rows`` and
            ``confusion_columns``. None if rows have several labels.
        confusion_rows: The labels of training, then those that only occur here.
        confusion_columns: The labels of training, and `UNSURE`.
        unseen: Labels that do not occur in training, and how often; they count as wrong.
        unsure: Share of rows without a prediction.
        empty: Share of rows without a known word, predicted by the shares of the classes alone.
        words: Known and unknown words of each language.
    """

    rows: int
    accuracy: float
    accuracy_sure: float | None
    macro_f1: float
    by_class: tuple[ClassScore, ...]
    confusion: Ints | None
    confusion_rows: tuple[Name, ...]
    confusion_columns: tuple[Name, ...]
    unseen: Mapping[Name, int]
    unsure: float
    empty: float
    words: WordCount

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it; of the words, the share that is known."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {
            "by_class": [dataclasses.asdict(each) for each in self.by_class],
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "words": {lang: words.known for lang, words in self.words.languages.items()},
        }


def evaluation(
    classes: tuple[Name, ...],
    gold: Sequence[Name] | Sequence[tuple[str, ...]],
    predicted: Sequence[Name | None] | Sequence[tuple[str, ...]],
    empty: Array,
    words: WordCount,
) -> Evaluation:
    """Score predictions against labels."""
    multi_label = isinstance(gold[0], tuple)
    sets = [_names(label) for label in gold]
    guesses = [_names(label) for label in predicted]
    unseen = Counter(label for row in sets for label in sorted(row - set(classes)))
    labels = (*classes, *sorted(unseen))
    right = np.array([a == b for a, b in zip(sets, guesses, strict=True)])
    unsure = np.array([p is None for p in predicted])
    scores = _by_class(labels, sets, guesses)
    occurring = {label for row in (*sets, *guesses) for label in row}
    return Evaluation(
        rows=len(sets),
        accuracy=float(right.mean()),
        accuracy_sure=float(right[~unsure].mean()) if not unsure.all() else None,
        macro_f1=float(np.mean([s.f1 for s in scores if s.label in occurring] or [0.0])),
        by_class=scores,
        confusion=None if multi_label else _confusion(labels, classes, gold, predicted),
        confusion_rows=labels,
        confusion_columns=(*classes, UNSURE),
        unseen=dict(unseen),
        unsure=float(unsure.mean()),
        empty=float(np.mean(empty)),
        words=words,
    )


def _names(label: Name | tuple[str, ...] | None) -> set[Name]:
    """Return the labels of a row, however many it has."""
    return set() if label is None else set(label) if isinstance(label, tuple) else {label}


def _by_class(
    labels: Sequence[Name], sets: Sequence[set[Name]], guesses: Sequence[set[Name]]
) -> tuple[ClassScore, ...]:
    true = Counter(label for row in sets for label in row)
    guessed = Counter(label for row in guesses for label in row)
    hits = Counter(label for a, b in zip(sets, guesses, strict=True) for label in a & b)
    return tuple(
        ClassScore(
            label,
            hits[label] / max(guessed[label], 1),
            hits[label] / max(true[label], 1),
            2 * hits[label] / max(true[label] + guessed[label], 1),
            true[label],
        )
        for label in labels
    )


def _confusion(
    labels: Sequence[Name], classes: Sequence[Name], gold: Sequence[Any], predicted: Sequence[Any]
) -> Ints:
    row = {label: i for i, label in enumerate(labels)}
    column = {label: i for i, label in enumerate([*classes, None])}
    table = np.zeros((len(labels), len(classes) + 1), dtype=np.int64)
    for a, b in zip(gold, predicted, strict=True):
        table[row[a], column[b]] += 1
    return table
