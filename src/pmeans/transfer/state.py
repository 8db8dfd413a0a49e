"""What a classifier has learned, as arrays and names: all that is saved of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pmeans.transfer.examples import Criterion
from pmeans.transfer.linear import Method
from pmeans.types import Floats
from pmeans.znorm import Statistics

Scaling = Literal["none", "standard"]


@dataclass(frozen=True)
class Chosen:
    """What cross-validation chose, and on what.

    Attributes:
        method: ``"logistic"``, or ``"ridge"`` for many classes.
        penalty: Relative to the rows; `linear` says how.
        powers: The powers that are kept, of every part that has them; None where an alignment
            leads to canonical directions, of which the first ``columns`` are kept.
        scaling: ``"none"`` if columns are taken as encoded, ``"standard"`` if each was divided by
            its deviation over the training rows.
        columns: How many columns are kept.
        measure: What the score is.
        score: Over the held-out rows; None where no class has two rows to hold one out.
        rows: How many rows the classifier was trained on.
        empty: How many were left out, because they have no known word.
    """

    method: Method
    penalty: float
    powers: tuple[float, ...] | None
    scaling: Scaling
    columns: int
    measure: Criterion
    score: float | None
    rows: int
    empty: int


@dataclass(frozen=True)
class Fitted:
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
        chosen: What cross-validation chose.
    """

    classes: tuple[str, ...]
    multi_label: bool
    weights: Floats
    bias: Floats
    prior: Floats
    centre: Floats
    spread: Floats
    adapted: Mapping[str, Statistics]
    chosen: Chosen

    def matching(self, lang: str) -> tuple[Floats, Floats]:
        """Return a factor and a shift, (dim,) each, that match adapted rows to training rows."""
        found = self.adapted[lang]
        factor = self.spread * found.factor
        return factor, self.centre - found.mean * factor
