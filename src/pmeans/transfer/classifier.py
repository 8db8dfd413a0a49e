"""Train on labelled text of one language, predict in every language of the encoder.

The encoder brings all languages to one space; a linear classifier of its rows is all that is
trained. Whatever is chosen (columns, scaling, penalty, calibration) is chosen on training rows and
folded into ``weights`` and ``bias``: the decision on a row is ``row @ weights.T + bias``.

`adapt` takes unlabelled text of a language, and gives its rows the mean and deviation that the
training rows have: a z-norm of the kind of text at hand, on either side. It is done to the rows as
they are encoded, after any alignment. Before it, columns of two languages need not correspond,
and rows of deviation 1 are no longer so after it. ``docs/transfer.md`` has numbers.

A prediction needs no mapped rows: the map of a language is folded into the weights.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from pmeans.align import Alignment, LanguageMap
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError, NotFittedError
from pmeans.sentence_encoder import LONG_CHUNK, by_language
from pmeans.transfer import storage
from pmeans.transfer.explain import Explanation, explain, position
from pmeans.transfer.labels import Label, read_labels, read_languages, read_targets, read_texts
from pmeans.transfer.linear import probabilities
from pmeans.transfer.scores import Evaluation, WordCount, evaluation
from pmeans.transfer.selection import Examples, learn
from pmeans.transfer.storage import Chosen, Fitted
from pmeans.transfer.travel import HeldOut, calibrations
from pmeans.types import Floats, Progress
from pmeans.znorm import Moments, side_by_side

_ONE_LABEL = "unsure is for one label a row: leave it out."
_BLOCK = 4096
_LARGEST = 1 << 24  # decisions of a block: with 10,000 classes, it has fewer rows


@dataclass(frozen=True)
class Predictions:
    """What is predicted for each row.

    Attributes:
        labels: A label each; None where the classifier is unsure; tuples if rows have several.
        probabilities: Of the likeliest label, (n,); of each label of the tuple if there are
            several.
        empty: Which rows have no known word, so that only the shares of the classes speak, (n,).
    """

    labels: list[str | None] | list[tuple[str, ...]]
    probabilities: list[float] | list[tuple[float, ...]]
    empty: npt.NDArray[np.bool_]


class TransferClassifier:
    """A linear classifier that is trained in one language and applied in others."""

    def __init__(
        self,
        encoder: PowerMeanEncoder,
        *,
        class_weight: Literal["balanced"] | None = None,
        unsure: float | None = None,
        seed: int = 0,
    ) -> None:
        """Make a classifier that is to be fitted.

        Args:
            encoder: What turns text into rows.
            class_weight: ``"balanced"`` lets all classes weigh the same.
            unsure: Predict nothing (None) where the largest probability is below this.
            seed: Of the sample and the folds; the same seed gives the same classifier.
        """
        if class_weight not in (None, "balanced"):
            raise InputError(f"class_weight is 'balanced' or None, not {class_weight!r}.")
        self.encoder = encoder
        self.class_weight: Literal["balanced"] | None = class_weight
        self.seed = seed
        self._fitted: Fitted | None = None
        self.unsure = unsure

    @property
    def fitted(self) -> Fitted:
        """All that was learned, as arrays and names."""
        if self._fitted is None:
            raise NotFittedError("this classifier has learned nothing yet: call fit first.")
        return self._fitted

    @property
    def unsure(self) -> float | None:
        """Predict nothing (None) where the largest probability is below this."""
        return self._unsure

    @unsure.setter
    def unsure(self, p: float | None) -> None:
        if p is not None and not 0 < p <= 1:
            raise InputError(f"unsure is a probability above 0 and up to 1, not {p}.")
        if p is not None and self._fitted and self._fitted.multi_label:
            raise InputError(_ONE_LABEL)
        self._unsure = p

    @property
    def classes(self) -> tuple[str, ...]:
        """The labels, sorted."""
        return self.fitted.classes

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
        """Languages, besides those of training, that probabilities are calibrated for."""
        return tuple(self.fitted.calibrated)

    def weights_for(self, lang: str) -> tuple[Floats, Floats]:
        """Return weights and bias for rows of a language as its encoder gives them.

        They differ from ``weights`` and ``bias`` where the language was adapted or calibrated.
        """
        linear = self.fitted.linear_for(lang)
        return linear.weights, linear.bias

    def fit(
        self,
        texts: Iterable[str | None],
        labels: Iterable[Label],
        *,
        lang: str | Iterable[str] | None = None,
        progress: Progress = lambda share, text: None,
    ) -> Self:
        """Learn from texts with a label each, or a collection of labels each.

        Texts without a known word are left out. ``lang`` is one language or one for each text, here
        and below; if it is left out it is found, with a warning of doubts.
        """
        from threadpoolctl import threadpool_limits

        given = read_texts(texts)
        all_labels = read_labels(labels, len(given))
        progress(0.0, "encoding")
        words = WordCount()
        x = np.empty((len(given), self.encoder.dim), dtype=np.float32)
        empty = np.empty(len(given), dtype=np.bool_)
        length = np.empty(len(given), dtype=np.int64)
        found = self.encoder.found(given, read_languages(lang, len(given)), doubts=words.doubts)
        for code, which in by_language(given, found, self.encoder.language):
            some = [given[i] for i in which]
            x[which], coverage = self.encoder.encode_covered(some, lang=code)
            empty[which], length[which] = coverage.zero_rows, coverage.tokens
            words.add(code, coverage, some)
        known = np.flatnonzero(~empty)
        if not len(known):
            raise InputError(
                f"none of {len(given):,} texts has a known word: is the language right?"
            )
        x = x[known] if len(known) < len(x) else x
        targets = read_targets([all_labels[i] for i in known])
        if targets.multi_label and self.unsure is not None:
            raise InputError(_ONE_LABEL)
        moments = Moments(self.encoder.dim)
        for start in range(0, len(x), _BLOCK):
            moments.add(x[start : start + _BLOCK])
        spread = moments.std.astype(np.float32)
        rows = Examples(x, targets.y, len(targets.classes), self.class_weight == "balanced")
        rng = np.random.default_rng(self.seed)
        # One thread: these products are small, and on a busy machine threads that wait for each
        # other in every one of them made a fit five times as slow.
        with threadpool_limits(1):
            linear, trial, held, decisions = learn(self.encoder, rows, spread, rng, progress)
            progress(0.9, "calibrating other languages")
            held_out = HeldOut(decisions, rows.y[held], length[known[held]])
            calibrated = calibrations(self.encoder, linear, held_out, words.languages, rng)
        progress(1.0, "done")
        self._fitted = Fitted(
            classes=targets.classes,
            multi_label=targets.multi_label,
            weights=linear.weights,
            bias=linear.bias,
            prior=rows.prior(),
            centre=moments.mean.astype(np.float32),
            spread=spread,
            adapted={},
            calibrated=calibrated,
            chosen=Chosen(
                method=rows.method,
                penalty=trial.penalty,
                powers=trial.candidate.powers,
                scaling=trial.candidate.scaling,
                columns=len(trial.candidate.columns),
                measure=rows.measure,
                score=trial.score,
                rows=len(x),
                empty=len(given) - len(x),
            ),
        )
        self._warn(words)
        return self

    def adapt(self, texts: Iterable[str | None], *, lang: str | None = None) -> Self:
        """Match the rows of a language to the training rows, by unlabelled text of their kind.

        Give some hundred texts at least. Their classes should be mixed about as in training: the
        mean of these rows is taken to be the mean of the training rows.
        """
        fitted = self.fitted
        if lang is not None and not isinstance(lang, str):
            raise InputError("adapt one language at a time: lang is one code.")
        given = read_texts(texts)
        code = self.encoder.language(lang)
        moments = Moments(self.encoder.dim)
        for start in range(0, len(given), _BLOCK):
            rows, coverage = self.encoder.encode_covered(given[start : start + _BLOCK], lang=code)
            moments.add(rows[~coverage.zero_rows])
        if not moments.count:
            raise InputError(
                f"none of {len(given):,} texts to adapt to has a known word: is the language right?"
            )
        adapted = {**fitted.adapted, code: side_by_side([moments])}
        self._fitted = dataclasses.replace(fitted, adapted=adapted)
        return self

    def decision(
        self, texts: Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Floats:
        """Return how much speaks for each class, (n, n_classes): calibrated log odds."""
        found = [decisions for decisions, _ in self._decisions(texts, lang, WordCount())]
        return np.concatenate([np.empty((0, len(self.classes)), np.float32), *found])

    def predict_proba(
        self, texts: Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Floats:
        """Return the probability of each class, or of each label by itself, (n, n_classes)."""
        return probabilities(self.decision(texts, lang=lang), self.multi_label)

    def predict(
        self, texts: Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> list[str | None] | list[tuple[str, ...]]:
        """Return a label for each text, None where unsure; tuples if rows have several."""
        words = WordCount()
        labels = self.classify(texts, lang=lang, words=words).labels
        self._warn(words)
        return labels

    def classify(
        self,
        texts: Iterable[str | None],
        *,
        lang: str | Iterable[str] | None = None,
        words: WordCount | None = None,
    ) -> Predictions:
        """Return labels with their probabilities, and which texts have no known word.

        Known and unknown words are counted in ``words``, instead of `predict`'s warning.
        """
        labels: list[Any] = []
        sure: list[Any] = []
        empty = [np.zeros(0, dtype=bool)]
        counted = WordCount() if words is None else words
        for decisions, without in self._decisions(texts, lang, counted):
            p = probabilities(decisions, self.multi_label)
            named, likely = self._named(p)
            labels += named
            sure += likely
            empty.append(without)
        return Predictions(labels, sure, np.concatenate(empty))

    def explain(
        self, text: str, *, lang: str | None = None, label: str | None = None
    ) -> Explanation:
        """Divide the decision about one text among its words.

        The label is the class to explain; None takes the one that is predicted. If texts may have
        several labels it must be given, and is explained against a class "not it".
        """
        ((code, _),) = by_language([text], self.encoder.found([text], lang), self.encoder.language)
        classes, (weights, bias) = self.classes, self.weights_for(code)
        if self.encoder.coverage([text], lang=code).zero_rows[0]:
            # As in a prediction: without a known word only the shares of the classes speak.
            bias = self.fitted.prior
        if self.multi_label:
            if label is None:
                raise InputError(
                    "this classifier gives any number of labels: say which one to explain, among "
                    f"{', '.join(map(repr, classes[:8]))}{' …' if len(classes) > 8 else ''}."
                )
            k = position(label, classes)
            weights, bias = (np.stack([of[k], np.zeros_like(of[k])]) for of in (weights, bias))
            classes = (label, f"not {label}")
        return explain(self.encoder, weights, bias, classes, text, lang=code, label=label)

    def evaluate(
        self,
        texts: Iterable[str | None],
        labels: Iterable[Label],
        *,
        lang: str | Iterable[str] | None = None,
    ) -> Evaluation:
        """Compare predictions with labels; one that was not in training counts as wrong."""
        given = read_texts(texts)
        gold = read_labels(labels, len(given))
        if isinstance(gold[0], str) == self.multi_label:
            kind = "a list of labels" if self.multi_label else "one label, a str,"
            raise InputError(
                f"this classifier was trained with {kind} for each row; give the same."
            )
        words = WordCount()
        found = self.classify(given, lang=lang, words=words)
        self._warn(words)
        return evaluation(self.classes, gold, found.labels, found.empty, words)

    def save(self, folder: str | Path) -> None:
        """Write the classifier with its encoder as one folder, whole or not at all."""
        options = storage.Options(self.class_weight, self.unsure, self.seed)
        storage.save(folder, self.encoder, self.fitted, options)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open what `save` wrote."""
        encoder, fitted, options = storage.load(folder)
        loaded = cls(encoder, **dataclasses.asdict(options))
        loaded._fitted = fitted
        return loaded

    def _decisions(
        self, texts: Iterable[str | None], lang: str | Iterable[str] | None, words: WordCount
    ) -> Iterator[tuple[Floats, npt.NDArray[np.bool_]]]:
        """Yield decisions, (n, n_classes), and which texts have no known word, block by block."""
        fitted = self.fitted
        given = read_texts(texts)
        langs = read_languages(lang, len(given))
        size = max(1, min(LONG_CHUNK, _LARGEST // len(fitted.classes)))
        deciding: dict[str, tuple[PowerMeanEncoder, Floats]] = {}
        for start in range(0, len(given), size):
            block = given[start : start + size]
            decisions = np.empty((len(block), len(fitted.classes)), dtype=np.float32)
            empty = np.empty(len(block), dtype=np.bool_)
            codes = langs[start : start + size] if isinstance(langs, list) else langs
            found = self.encoder.found(block, codes, doubts=words.doubts)
            for code, which in by_language(block, found, self.encoder.language):
                if code not in deciding:
                    deciding[code] = self._deciding(code)
                encoder, bias = deciding[code]
                some = block if len(which) == len(block) else [block[i] for i in which]
                rows, coverage = encoder.encode_covered(some, lang=code)
                decisions[which], empty[which] = rows + bias, coverage.zero_rows
                words.add(code, coverage, some)
            decisions[empty] = fitted.prior
            yield decisions, empty

    def _deciding(self, lang: str) -> tuple[PowerMeanEncoder, Floats]:
        """Return an encoder whose rows are decisions without their bias, and the bias.

        The weights are its last map, or its only one, if folding the others in is less work.
        """
        encoder, (weights, bias) = self.encoder, self.weights_for(lang)
        maps = encoder.alignment.factors(lang) if encoder.alignment else ()
        if encoder.alignment and (encoder.alignment.kept or len(weights) <= encoder.dim):
            weights, maps = encoder.alignment.fold(weights, lang), ()
        decisions = LanguageMap((*maps, np.ascontiguousarray(weights.T)), "a classifier's weights")
        return encoder.replace(alignment=Alignment(lang, {lang: decisions})), bias

    def _named(self, p: Floats) -> tuple[list[Any], list[Any]]:
        """Return the labels of probabilities, and the probabilities of these labels."""
        if self.multi_label:
            rows = [np.flatnonzero(row >= 0.5) for row in p]
            labels = [tuple(self.classes[k] for k in row) for row in rows]
            return labels, [tuple(p[i, row].tolist()) for i, row in enumerate(rows)]
        largest = p.max(axis=1)
        named = np.array(self.classes, dtype=object)[p.argmax(axis=1)]
        named[~(largest >= (self.unsure or 0.0))] = None
        return named.tolist(), largest.tolist()

    def _warn(self, words: WordCount) -> None:
        for warning in words.warnings(self.encoder):
            warnings.warn(warning, stacklevel=3)
