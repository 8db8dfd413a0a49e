"""What a classifier has learned, and how it decides about texts, without making their rows.

The map of a language is folded into the weights, so that a prediction needs no mapped rows. This is
done once per classifier and language.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import LONG_CHUNK
from pmeans.encoder.znorm import Statistics
from pmeans.mapped import MappedFields
from pmeans.transfer.labels import Name
from pmeans.transfer.linear import Calibration, Linear, wilson
from pmeans.transfer.scores import WordCount
from pmeans.types import Floats

Scaling = Literal["none", "standard"]
Criterion = Literal["accuracy", "macro-f1", "average-precision"]
FEWEST_CALIBRATED = 50
"""Different texts that must have been held out for probabilities to be called calibrated."""
_LARGEST = 1 << 24  # decisions of a block: with 10,000 classes, it has fewer rows
_FOLDING = threading.Lock()


@dataclass(frozen=True)
class Chosen:
    """What cross-validation chose, and on what.

    Attributes:
        method: ``"logistic"``, or ``"ridge"`` for many classes; ``"described"`` if nothing was
            trained, see `pmeans.transfer.describing`.
        penalty: Relative to the rows; `linear` says how.
        powers: The powers that are kept, of every part that has them; None where an alignment
            leads to canonical directions, of which the first ``columns`` are kept, or where each
            dimension has a power of its own.
        scaling: ``"none"`` if columns are taken as encoded, ``"standard"`` if each was divided by
            its deviation over the training rows.
        columns: How many columns are kept.
        measure: What the score is.
        score: Over the held-out rows; None where no class has two texts to hold one out. It is the
            best of all that were tried, and so a little too high.
        rows: How many rows the classifier was trained on.
        empty: How many were left out, because they have no known word.
        held_out: How many different texts the score is over.
    """

    method: Literal["logistic", "ridge", "described"]
    penalty: float
    powers: tuple[float, ...] | None
    scaling: Scaling
    columns: int
    measure: Criterion
    score: float | None
    rows: int
    empty: int
    held_out: int = 0

    @property
    def calibrates(self) -> bool:
        """Whether so many texts were held out that probabilities may be called calibrated."""
        return self.held_out >= FEWEST_CALIBRATED

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the accuracy lies with 95 % confidence (Wilson's interval); None without one."""
        if self.score is None or self.measure != "accuracy" or not self.held_out:
            return None
        centre, half = wilson(self.score, self.held_out)
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True)
class Fitted(MappedFields):
    """A linear classifier of an encoder's rows.

    Attributes:
        classes: The labels, sorted.
        multi_label: Whether a row may have several labels, or none.
        weights: (n_classes, dim) float32; scaling and calibration are folded in.
        bias: (n_classes,) float32.
        prior: Decisions on a row without a known word: the logarithm of each class's share of the
            training rows, or the log odds of each label's, (n_classes,) float32.
        centre: Mean of the training rows, (dim,) float32.
        spread: Standard deviation of their columns, (dim,) float32.
        adapted: Mean and deviation of the rows of languages that were adapted.
        calibrated: What decisions in other languages than those of training are changed by.
        chosen: What cross-validation chose.
        folded: What decides in each language, as `decisions` makes it; neither pickled nor stored.
    """

    classes: tuple[Name, ...]
    multi_label: bool
    weights: Floats
    bias: Floats
    prior: Floats
    centre: Floats
    spread: Floats
    adapted: Mapping[str, Statistics]
    calibrated: Mapping[str, Calibration]
    chosen: Chosen
    folded: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def linear_for(self, lang: str) -> Linear:
        """Return the classifier for rows of a language as its encoder gives them."""
        linear = Linear(self.weights, self.bias)
        if lang in self.adapted:
            own = self.adapted[lang]
            factor = self.spread * own.factor
            shift = self.centre - own.mean * factor
            linear = Linear(self.weights * factor, self.bias + self.weights @ shift)
        return self.calibrated[lang].apply(linear) if lang in self.calibrated else linear


@dataclass(frozen=True)
class Options:
    """How a classifier was asked to learn and predict."""

    class_weight: Literal["balanced"] | None
    unsure: float | None
    seed: int


def decisions(
    encoder: PowerMeanEncoder,
    fitted: Fitted,
    texts: list[str],
    langs: str | list[str] | None,
    words: WordCount,
    n_threads: int | None = None,
) -> Iterator[tuple[Floats, npt.NDArray[np.bool_]]]:
    """Yield decisions, (n, n_classes), and which texts have no known word, block by block.

    Known and unknown words are counted in ``words``.
    """
    size = max(1, min(LONG_CHUNK, _LARGEST // len(fitted.classes)))
    for start in range(0, len(texts), size):
        block = texts[start : start + size]
        decided = np.empty((len(block), len(fitted.classes)), dtype=np.float32)
        empty = np.empty(len(block), dtype=np.bool_)
        codes = langs[start : start + size] if isinstance(langs, list) else langs
        for code, which in encoder.by_language(block, codes, n_threads, words.doubts):
            folded = _folded(encoder, fitted, code)
            some = block if len(which) == len(block) else [block[i] for i in which]
            rows, coverage = folded.deciding.encode_covered(some, lang=code, n_threads=n_threads)
            decided[which], empty[which] = rows + folded.bias, coverage.zero_rows
            words.add(code, coverage, some)
        decided[empty] = fitted.prior
        yield decided, empty


@dataclass(frozen=True)
class Folded:
    """What decides in one language.

    Attributes:
        encoder: The classifier's, whose map is folded in.
        deciding: An encoder whose rows are decisions without their bias.
        bias: (n_classes,).
    """

    encoder: PowerMeanEncoder
    deciding: PowerMeanEncoder
    bias: Floats


def _folded(encoder: PowerMeanEncoder, fitted: Fitted, lang: str) -> Folded:
    """Return what decides in a language, made when it is first asked for."""
    from threadpoolctl import threadpool_limits

    # One at a time: the limit is the whole process's, and two that overlap would not undo it.
    # With one thread the product has the same bits however many a caller asks for.
    with _FOLDING:
        folded = fitted.folded.get(lang)
        if folded is None or folded.encoder is not encoder:
            with threadpool_limits(1, user_api="blas"):
                folded = fitted.folded[lang] = _fold(encoder, fitted, lang)
    return folded


def _fold(encoder: PowerMeanEncoder, fitted: Fitted, lang: str) -> Folded:
    """Fold the map of a language into the weights.

    The weights are its last map, or its only one, if folding the others in is less work.
    """
    linear = fitted.linear_for(lang)
    weights = linear.weights
    maps = encoder.alignment.factors(lang) if encoder.alignment else ()
    if encoder.alignment and (encoder.alignment.kept or len(weights) <= encoder.dim):
        weights, maps = encoder.alignment.fold(weights, lang), ()
    last = LanguageMap((*maps, np.ascontiguousarray(weights.T)), "a classifier's weights")
    deciding = encoder.replace(alignment=Alignment(lang, {lang: last}))
    return Folded(encoder, deciding, linear.bias)
