"""Train on labelled text of one language, predict in every language of the encoder.

The encoder brings all languages to one space; a linear classifier of its rows is all that is
trained. Whatever is chosen (columns, scaling, penalty, calibration) is chosen on training rows and
folded into ``weights`` and ``bias``: the decision on a row is ``row @ weights.T + bias``. A
prediction needs no mapped rows: the map of a language is folded into the weights.

`adapt` takes unlabelled text of a language, and gives its rows the mean and deviation that the
training rows have: a z-norm of the kind of text at hand, on either side (`adapting`). It is done to
the rows as they are encoded, after any alignment: before it, columns of two languages need not
correspond. ``docs/transfer.md`` has numbers.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError, check_seed, shown
from pmeans.languages.resolution import read_languages
from pmeans.models import opened, power_means
from pmeans.transfer import storage
from pmeans.transfer.adapting import adapted
from pmeans.transfer.describing import Described, describe
from pmeans.transfer.estimator import Estimator, not_fitted
from pmeans.transfer.explain import Explanation, explain, position
from pmeans.transfer.fitting import fit_classifier
from pmeans.transfer.labels import (
    Label,
    Name,
    gold_labels,
    read_labels,
    read_texts,
)
from pmeans.transfer.learned import Chosen, Fitted, Options, decisions
from pmeans.transfer.linear import probabilities
from pmeans.transfer.scores import Evaluation, Predictions, WordCount, evaluation
from pmeans.types import Array, Floats, Progress


class TransferClassifier(Estimator):
    """A linear classifier that is trained in one language and applied in others.

    It is a scikit-learn estimator, whose ``X`` are texts. A list, a column of a table or an array
    of them gives a row for each, one `str` a single label or row.
    """

    _encoder: PowerMeanEncoder | None = None
    _fitted: Fitted | None = None

    def __init__(
        self,
        encoder: PowerMeanEncoder | str | Path = "default",
        *,
        lang: str | None = None,
        class_weight: Literal["balanced"] | None = None,
        unsure: float | None = None,
        seed: int = 0,
    ) -> None:
        """Make a classifier that is to be fitted.

        Args:
            encoder: What turns text into rows, or its name or folder, as `pmeans.load` takes it.
            lang: Language of the texts wherever a call names none; None finds it. It is not saved.
            class_weight: ``"balanced"`` lets all classes weigh the same.
            unsure: Predict nothing (None) where the largest probability is below this.
            seed: Of the sample and the folds; the same seed gives the same classifier.
        """
        self.encoder = encoder
        self.lang = lang
        self.class_weight: Literal["balanced"] | None = class_weight
        self.unsure = unsure
        self.seed = seed

    @property
    def fitted(self) -> Fitted:
        """All that was learned, as arrays and names."""
        if self._fitted is None:
            raise not_fitted()
        return self._fitted

    @property
    def encoder_(self) -> PowerMeanEncoder:
        """What turns text into rows, opened by `fit`."""
        if self._encoder is None:
            raise not_fitted()
        return self._encoder

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    @property
    def classes_(self) -> Array:
        """The labels, sorted, (n_classes,): int64, bool, float64, or `str` as Python's objects."""
        classes = self.fitted.classes
        return np.array(classes, dtype=object if isinstance(classes[0], str) else None)

    @property
    def weights(self) -> Floats:
        """Of the encoder's columns, (n_classes, dim); 0 where a column was not chosen."""
        return self.fitted.weights

    @property
    def bias(self) -> Floats:
        """What is added for each class, (n_classes,)."""
        return self.fitted.bias

    @property
    def multi_label(self) -> bool:
        """Whether a row may have several labels, or none."""
        return self.fitted.multi_label

    @property
    def chosen(self) -> Chosen:
        """What cross-validation chose."""
        return self.fitted.chosen

    @property
    def calibrated(self) -> tuple[str, ...]:
        """Languages, besides those of training, that probabilities are calibrated for.

        None of them if fewer than fifty different texts were held out.
        """
        enough = self.chosen.calibrates
        return tuple(self.fitted.calibrated) if enough else ()

    def weights_for(self, lang: str) -> tuple[Floats, Floats]:
        """Return weights and bias for rows of a language as its encoder gives them.

        They differ from ``weights`` and ``bias`` where the language was adapted or calibrated.
        """
        linear = self.fitted.linear_for(self.encoder_.language(lang))
        return linear.weights, linear.bias

    def fit(
        self,
        texts: Iterable[str | None],
        y: Iterable[Label],
        *,
        lang: str | Iterable[str] | None = None,
        progress: Progress = lambda share, text: None,
    ) -> Self:
        """Learn from texts with a label each (str, int or bool), or a collection of str each.

        Texts without a known word are left out. ``lang`` is one language or one for each text, here
        and below; if it is named nowhere it is found, with a warning of doubts.
        """
        listed = read_texts(texts)
        labels = read_labels(y, len(listed))
        self._check_options(isinstance(labels[0], tuple))
        encoder, words = power_means(opened(self.encoder), "a TransferClassifier"), WordCount()
        langs = read_languages(self._named_or_own(lang), len(listed))
        balanced = self.class_weight == "balanced"
        self._fitted = fit_classifier(
            encoder, listed, labels, langs, balanced, self.seed, words, progress
        )
        self._encoder = encoder
        self._warn(words)
        return self

    def describe(self, labels: Described, *, lang: str | None = None) -> Self:
        """Know labels by what they are called, or by some words or texts on each, without training.

        Then `adapt` each language to the texts at hand: what all have in common says nothing.

        Args:
            labels: Names, or for each label one description or several.
            lang: Their language; None finds it.
        """
        self._check_options()
        encoder = power_means(opened(self.encoder), "a TransferClassifier")
        self._fitted = describe(encoder, labels, lang or self.lang)
        self._encoder = encoder
        return self

    def adapt(self, texts: Iterable[str | None], *, lang: str | None = None) -> Self:
        """Match the rows of a language to the training rows, by unlabelled text of their kind.

        Give some hundred texts at least: few change little, with a warning. Their classes should be
        mixed about as in training: the mean of these rows is taken to be that of the training rows.
        """
        fitted = self.fitted
        if lang is not None and not isinstance(lang, str):
            raise InputError("adapt one language at a time: lang is one code.")
        code = self.encoder_.language(lang or self.lang)
        self._fitted = adapted(self.encoder_, fitted, read_texts(texts), code)
        return self

    def class_decisions(
        self,
        texts: Iterable[str | None],
        *,
        lang: str | Iterable[str] | None = None,
        n_threads: int | None = None,
    ) -> Floats:
        """Return how much speaks for each class, (n, n_classes), also where there are two."""
        blocks = [some for some, _ in self._decisions(texts, lang, WordCount(), n_threads)]
        return np.concatenate([np.empty((0, len(self.fitted.classes)), np.float32), *blocks])

    def decision_function(
        self, texts: str | Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Floats:
        """Return how much speaks for each class, (n, n_classes): calibrated log odds.

        Of two classes, how much more speaks for the second, (n,), as scikit-learn has it.
        """
        log_odds = self.class_decisions([texts] if isinstance(texts, str) else texts, lang=lang)
        if len(self.fitted.classes) == 2 and not self.multi_label:
            log_odds = log_odds[:, 1] - log_odds[:, 0]
        return log_odds[0] if isinstance(texts, str) else log_odds

    def predict_proba(
        self, texts: str | Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Floats:
        """Return the probability of each class, or of each label by itself, (n, n_classes)."""
        several = [texts] if isinstance(texts, str) else texts
        p = probabilities(self.class_decisions(several, lang=lang), self.multi_label)
        return p[0] if isinstance(texts, str) else p

    def predict(
        self, texts: str | Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Any:
        """Return a label for each text, (n,), or the label of one `str`.

        They are of the type they had in training. With a threshold `unsure` the array is of
        Python's objects, and has None below it. If texts have several labels, it is a list of
        tuples.
        """
        words = WordCount()
        several = [texts] if isinstance(texts, str) else texts
        labels = self.classify(several, lang=lang, words=words).labels
        self._warn(words)
        if isinstance(texts, str):
            return labels[0]
        if self.multi_label:
            return labels
        return np.array(labels, dtype=object if self.unsure is not None else self.classes_.dtype)

    def score(
        self,
        texts: Iterable[str | None],
        y: Iterable[Label],
        *,
        lang: str | Iterable[str] | None = None,
    ) -> float:
        """Return the share of texts whose label is right; if unsure, it is not."""
        return self.evaluate(texts, y, lang=lang).accuracy

    def classify(
        self,
        texts: Iterable[str | None],
        *,
        lang: str | Iterable[str] | None = None,
        words: WordCount | None = None,
        n_threads: int | None = None,
    ) -> Predictions:
        """Return labels with their probabilities, and which texts have no known word.

        Known and unknown words are counted in ``words``, instead of `predict`'s warning. All
        threads that there are work on it, unless ``n_threads`` says how many.
        """
        self._check_options(self.multi_label)
        labels: list[Any] = []
        sure: list[Any] = []
        empty = [np.zeros(0, dtype=bool)]
        counted = WordCount() if words is None else words
        for some, without in self._decisions(texts, lang, counted, n_threads):
            p = probabilities(some, self.multi_label)
            named, likely = self._named(p)
            labels += named
            sure += likely
            empty.append(without)
        return Predictions(labels, sure, np.concatenate(empty))

    def explain(
        self, text: str, *, lang: str | None = None, label: Name | None = None
    ) -> Explanation:
        """Divide the decision about one text among its words.

        The label is the class to explain; None takes the one that is predicted. If texts may have
        several labels it must be given, and is explained against a class "not it". The explanation
        names classes by strings, whatever they are.
        """
        encoder, classes = self.encoder_, tuple(map(str, self.fitted.classes))
        label = None if label is None else str(label)
        ((code, _),) = encoder.by_language([text], self._named_or_own(lang))
        weights, bias = self.weights_for(code)
        if encoder.coverage([text], lang=code).zero_rows[0]:
            # As in a prediction: without a known word only the shares of the classes speak.
            bias = self.fitted.prior
        if self.multi_label:
            if label is None:
                raise InputError(
                    "this classifier gives any number of labels: say which one to explain, among "
                    f"{', '.join(map(shown, classes[:8]))}{' …' if len(classes) > 8 else ''}."
                )
            k = position(label, classes)
            weights, bias = (np.stack([of[k], np.zeros_like(of[k])]) for of in (weights, bias))
            classes = (label, f"not {label}")
        return explain(encoder, weights, bias, classes, text, lang=code, label=label)

    def evaluate(
        self,
        texts: Iterable[str | None],
        y: Iterable[Label],
        *,
        lang: str | Iterable[str] | None = None,
    ) -> Evaluation:
        """Compare predictions with labels; one that was not in training counts as wrong.

        Strings, as files have them, may stand for the int or bool that they spell.
        """
        listed, classes = read_texts(texts), self.fitted.classes
        gold = gold_labels(y, len(listed), classes, self.multi_label)
        words = WordCount()
        predicted = self.classify(listed, lang=lang, words=words)
        self._warn(words)
        return evaluation(classes, gold, predicted.labels, predicted.empty, words)

    def save(self, folder: str | Path, *, model: str | Path | None = None) -> None:
        """Write the classifier with its encoder as one folder, whole or not at all.

        Args:
            folder: An older classifier there is replaced.
            model: What `pmeans.load` opened as its encoder: the folder refers to it by name and
                fingerprint, and has no copy of it. Whoever opens the classifier needs that model.
        """
        options = Options(self.class_weight, self.unsure, self.seed)
        storage.save(folder, self.encoder_, self.fitted, options, model)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open what `save` wrote."""
        encoder, fitted, options = storage.load(folder)
        loaded = cls(encoder, **dataclasses.asdict(options))
        loaded._encoder, loaded._fitted = encoder, fitted
        return loaded

    def with_unsure(self, unsure: float | None) -> Self:
        """Return the same classifier with another threshold; None leaves it as it is."""
        other = copy.copy(self)
        if unsure is not None:
            other.unsure = unsure
            other._check_options(self.multi_label)
        return other

    def _check_options(self, multi_label: bool = False) -> None:
        check_seed(self.seed)
        if self.class_weight not in (None, "balanced"):
            raise InputError(f"class_weight is 'balanced' or None, not {shown(self.class_weight)}.")
        if self.lang is not None and not isinstance(self.lang, str):
            raise InputError("lang of the classifier is one code; give fit one for each text.")
        if self.unsure is None:
            return
        if multi_label:
            raise InputError("unsure is for one label a row: leave it out.")
        if not isinstance(self.unsure, float | int) or not 0 < self.unsure <= 1:
            raise InputError(
                f"unsure is a probability above 0 and up to 1, not {shown(self.unsure)}."
            )

    def _named_or_own(self, lang: Any) -> Any:
        return self.lang if lang is None else lang

    def _decisions(
        self,
        texts: Iterable[str | None],
        lang: str | Iterable[str] | None,
        words: WordCount,
        n_threads: int | None = None,
    ) -> Iterator[tuple[Floats, npt.NDArray[np.bool_]]]:
        learned, listed = self.fitted, read_texts(texts)
        langs = read_languages(self._named_or_own(lang), len(listed))
        return decisions(self.encoder_, learned, listed, langs, words, n_threads)

    def _named(self, p: Floats) -> tuple[list[Any], list[Any]]:
        """Return the labels of probabilities, and the probabilities of these labels."""
        if self.multi_label:
            rows = [np.flatnonzero(row >= 0.5) for row in p]
            labels = [tuple(self.fitted.classes[k] for k in row) for row in rows]
            return labels, [tuple(p[i, row].tolist()) for i, row in enumerate(rows)]
        largest = p.max(axis=1)
        named = self.classes_.astype(object)[p.argmax(axis=1)]
        named[~(largest >= (self.unsure or 0.0))] = None
        return named.tolist(), largest.tolist()

    def _warn(self, words: WordCount) -> None:
        for warning in words.warnings(self.encoder_):
            warnings.warn(warning, stacklevel=3)
