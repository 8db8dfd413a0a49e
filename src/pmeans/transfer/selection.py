"""Choose columns, scaling and penalty by cross-validation, on training rows alone.

1. Columns (those of all powers, or of fewer if the recipe has more than the mean) and scaling (as
   they are encoded, or each divided by its deviation over the training rows) are chosen by ridge
   regression, which tries all penalties at the price of one. Where an alignment leads to
   canonical directions, a column has no power: these come sorted by how well the languages agree
   in them, each shrunk by that, and it is the first of them that are kept. Columns before them
   that no map changes are kept in any case, also alone.
2. The penalty is then chosen for the classifier itself, from strong to weak, each starting where
   the one before ended, until the score has fallen twice.

Both look at a sample of 2,000 rows at most; penalties are relative (`linear`), so they carry over.
Rows of one text are held out together: a text that was learned tells nothing about others.
Rows are not scaled to length 1: that is not linear, and a decision could no longer be taken apart
word by word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.kernels.softmax import measured
from pmeans.transfer import linear
from pmeans.transfer.learned import Criterion, Scaling
from pmeans.transfer.linear import Linear, Method, calibration, log_odds
from pmeans.types import Array, Floats, Ints, Progress

PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
FOLDS = 3
SAMPLE = 2000
FEWEST = 10
"""Rows per class, on average, that a sample must have to say something; else classes go."""

_MANY_CLASSES, _MANY_LABELS = 100, 20


@dataclass(frozen=True)
class Examples:
    """What is learned from: rows (n, dim), and classes (n,) or labels (n, n_classes).

    ``groups`` numbers the texts, (n,): rows of the same text have the same number.
    """

    x: Floats
    y: Array
    n_classes: int
    balanced: bool
    groups: Ints

    @property
    def method(self) -> Method:
        """How so many classes are learned."""
        few = self.n_classes <= (_MANY_CLASSES if self.y.ndim == 1 else _MANY_LABELS)
        return "logistic" if few else "ridge"

    @property
    def measure(self) -> Criterion:
        """What a choice is judged by."""
        if self.y.ndim == 2:
            return "average-precision"
        return "macro-f1" if self.balanced else "accuracy"

    def at(self, rows: Array) -> Examples:
        """Return some rows, with the classes as they are."""
        x, y, groups = self.x[rows], self.y[rows], self.groups[rows]
        return Examples(x, y, self.n_classes, self.balanced, groups)

    def with_columns(self, columns: Array, factor: Floats) -> Examples:
        """Return the same rows with fewer columns, each multiplied by a factor."""
        x = self.x[:, columns] * factor[columns]
        return Examples(x, self.y, self.n_classes, self.balanced, self.groups)

    def fit(self, method: Method, penalty: float, start: Linear | None = None) -> Linear:
        """Fit a classifier on all of them."""
        return linear.fit(method, self.x, self.y, self.n_classes, penalty, self.balanced, start)

    def prior(self) -> Floats:
        """Return the logarithm of each class's share, or the log odds of each label's."""
        if self.y.ndim == 2:
            odds = log_odds((self.y.sum(axis=0) + 1) / (len(self.y) + 2))
        elif self.balanced:
            odds = np.full(self.n_classes, -np.log(self.n_classes))
        else:
            odds = np.log(np.bincount(self.y, minlength=self.n_classes) / len(self.y))
        return np.asarray(odds, dtype=np.float32)

    def score(self, decisions: Floats, rows: Ints) -> float:
        """Score decisions on some of the rows, between 0 and 1."""
        y = self.y[rows]
        if self.measure != "average-precision":
            return measured(self.measure, y, decisions.argmax(axis=1), self.n_classes)
        from sklearn.metrics import average_precision_score

        labels = y.any(axis=0)  # of a label that no row has there is nothing to find
        return float(average_precision_score(y[:, labels], decisions[:, labels], average="macro"))


def sample(rows: Examples, rng: np.random.Generator) -> Examples:
    """Return at most `SAMPLE` rows; classes that are not among them lose their number."""
    y, n = rows.y, len(rows.y)
    if n <= SAMPLE:
        return rows
    if y.ndim == 2:
        return rows.at(np.sort(rng.permutation(n)[:SAMPLE]))
    pool = np.arange(n)
    if rows.n_classes * FEWEST > SAMPLE:
        # Few rows of each class would say little: all rows of fewer classes.
        order = rng.permutation(rows.n_classes)
        sizes = np.cumsum(np.bincount(y, minlength=rows.n_classes)[order])
        taken = order[: max(2, int(np.searchsorted(sizes, SAMPLE, side="right")))]
        pool = np.flatnonzero(np.isin(y, taken))
    # Sorted by class, in random order within each: every k-th row has all classes' shares.
    order = pool[np.lexsort((rng.random(len(pool)), y[pool]))]
    which = np.sort(order[np.linspace(0, len(order) - 1, min(SAMPLE, len(order))).astype(np.int64)])
    present, numbered = np.unique(y[which], return_inverse=True)
    return Examples(rows.x[which], numbered, len(present), rows.balanced, rows.groups[which])


def folds(y: Array, rng: np.random.Generator, groups: Ints) -> Ints:
    """Deal rows to folds, class by class, (n,); -1 is never held out, as the one of its class.

    Rows of one group go with the first of them.
    """
    _, first, group = np.unique(groups, return_index=True, return_inverse=True)
    order = rng.permutation(len(y)) if y.ndim == 2 else np.lexsort((rng.random(len(y)), y))
    order = order[np.isin(order, first)]
    if y.ndim == 1:
        order = order[np.bincount(y[first])[y[order]] > 1]
    dealt = np.full(len(y), -1)
    dealt[order] = np.arange(len(order)) % FOLDS
    dealt = dealt[first][group]
    for k in range(FOLDS if y.ndim == 1 else 0):
        # A text may have rows of two classes: no fold may take all rows of one.
        whole = np.bincount(y[dealt != k], minlength=y.max() + 1) == 0
        dealt[np.isin(groups, groups[whole[y]])] = -1
    return dealt


def splits(fold: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield the rows to train on and those held out, for each fold that holds any."""
    for k in range(FOLDS):
        if (fold == k).any():
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


@dataclass(frozen=True)
class Candidate:
    """Columns to keep, (n_kept,), and what each column is multiplied by, (dim,).

    ``powers`` are those that are kept; None where columns have no power of their own, or each has.
    """

    powers: tuple[float, ...] | None
    scaling: Scaling
    columns: Ints
    factor: Floats


def candidates(encoder: PowerMeanEncoder, spread: Floats) -> list[Candidate]:
    """List what is tried; ``spread`` is each column's deviation over the training rows, (dim,)."""
    factors: dict[Scaling, Floats] = {
        "none": np.ones_like(spread),
        "standard": (1 / np.where(spread > 0, spread, 1)).astype(np.float32),
    }
    return [
        Candidate(powers, scaling, columns, factor)
        for powers, columns in _columns(encoder)
        for scaling, factor in factors.items()
    ]


def _columns(encoder: PowerMeanEncoder) -> list[tuple[tuple[float, ...] | None, Ints]]:
    """List which columns are tried, and the powers they are of: all, then fewer and fewer."""
    aligned = encoder.alignment
    if aligned is not None and aligned.pivot in aligned.maps:  # canonical directions
        mapped = encoder.dim - aligned.kept
        numbers = [*(max(1, mapped // n) for n in (1, 2, 4)), *([0] if aligned.kept else [])]
        return [(None, np.arange(aligned.kept + n)) for n in dict.fromkeys(numbers)]
    parts = encoder.recipe.parts
    if any(isinstance(power, tuple) for part in parts for power in part.powers):
        return [(None, np.arange(encoder.dim))]
    of_column = np.concatenate(
        [np.repeat(part.powers, encoder.spaces[part.space].dim) for part in parts]
    )
    everything = set(of_column.tolist())
    tried = [everything]
    for fewer in ({-math.inf, 1.0, math.inf}, {1.0}):
        if fewer < everything and all(fewer & set(part.powers) for part in parts):
            tried.append(fewer)
    return [
        (tuple(sorted(powers)), np.flatnonzero(np.isin(of_column, list(powers))))
        for powers in tried
    ]


@dataclass(frozen=True)
class Trial:
    """A setting, its score, and the decisions on the held-out rows that it was scored by.

    ``held_out`` is how many different texts these have.
    """

    candidate: Candidate
    penalty: float
    score: float | None = None
    decisions: Floats | None = None
    held_out: int = 0


def learn(
    encoder: PowerMeanEncoder,
    rows: Examples,
    spread: Floats,
    rng: np.random.Generator,
    progress: Progress = lambda share, text: None,
) -> tuple[Linear, Trial, Ints, Floats]:
    """Choose a setting, fit a classifier with it, and calibrate it.

    Returns:
        The classifier, for rows as they are encoded; the setting; which rows were held out to
        calibrate on, (n_held,); and the calibrated decisions about them, (n_held, n_classes).
    """
    progress(0.2, "choosing columns and penalty")
    options = candidates(encoder, spread)
    part = sample(rows, rng)
    fold = folds(part.y, rng, part.groups)
    held = np.flatnonzero(fold >= 0)
    best = _choose(part, fold, options, rows.method) if len(held) else Trial(options[0], 1e-3)
    progress(0.6, f"fitting on {len(rows.y):,} rows")
    scaled = rows.with_columns(best.candidate.columns, best.candidate.factor)
    fitted = scaled.fit(rows.method, best.penalty)
    progress(0.8, "calibrating")
    decisions = best.decisions
    if len(part.y) < len(rows.y):
        # The sample has other classes, or learned from fewer rows: hold out some of all rows.
        fold = folds(rows.y, rng, rows.groups)
        held = rng.permutation(np.flatnonzero(fold == 0))[: min(SAMPLE, len(fold) // 5)]
        seen = np.flatnonzero(~np.isin(rows.groups, rows.groups[held]))
        decisions = scaled.at(seen).fit(rows.method, best.penalty, fitted).decide(scaled.x[held])
    if decisions is None:
        decisions = np.empty((0, rows.n_classes), dtype=np.float32)
    else:
        calibrated = calibration(decisions, rows.y[held])
        fitted, decisions = (
            calibrated.apply(fitted),
            decisions * calibrated.slope + calibrated.offset,
        )
    weights = np.zeros((rows.n_classes, rows.x.shape[1]), dtype=np.float32)
    columns = best.candidate.columns
    weights[:, columns] = fitted.weights * best.candidate.factor[columns]
    return Linear(weights, fitted.bias), best, held, decisions


def _choose(part: Examples, fold: Ints, options: Sequence[Candidate], method: Method) -> Trial:
    best: Trial | None = None
    for candidate in options:
        scaled = part.with_columns(candidate.columns, candidate.factor)
        paths = [
            [
                fitted.decide(scaled.x[held])
                for fitted in linear.ridge_path(
                    scaled.x[seen], scaled.y[seen], part.n_classes, PENALTIES, part.balanced
                )
            ]
            for seen, held in splits(fold)
        ]
        for i, penalty in enumerate(PENALTIES):
            trial = _trial(part, fold, candidate, penalty, [path[i] for path in paths])
            best = _better(best, trial)
    assert best is not None
    return best if method == "ridge" else _penalty(part, fold, best.candidate)


def _penalty(part: Examples, fold: Ints, candidate: Candidate) -> Trial:
    """Choose the penalty of logistic regression."""
    scaled = part.with_columns(candidate.columns, candidate.factor)
    divided = [(scaled.at(seen), scaled.x[held]) for seen, held in splits(fold)]
    fitted: list[Linear | None] = [None] * len(divided)
    best, falls = None, 0
    for penalty in PENALTIES:
        starts = zip(divided, fitted, strict=True)
        fitted = [seen.fit("logistic", penalty, start) for (seen, _), start in starts]
        decided = [f.decide(held) for f, (_, held) in zip(fitted, divided, strict=True) if f]
        trial = _trial(part, fold, candidate, penalty, decided)
        falls = 0 if best is None or _score(trial) > _score(best) else falls + 1
        best = _better(best, trial)
        if falls == 2:
            break
    assert best is not None
    return best


def _trial(
    part: Examples, fold: Ints, candidate: Candidate, penalty: float, scores: Sequence[Floats]
) -> Trial:
    """Put the decisions of the folds into the order of the rows, and score them."""
    held = np.concatenate([rows for _, rows in splits(fold)])
    order = np.argsort(held)
    decisions = np.concatenate(scores)[order]
    n_texts = len(np.unique(part.groups[held]))
    return Trial(candidate, penalty, part.score(decisions, held[order]), decisions, n_texts)


def _better(best: Trial | None, trial: Trial) -> Trial:
    """Keep the first of equals: all columns, as encoded, the stronger penalty."""
    return trial if best is None or _score(trial) > _score(best) else best


def _score(trial: Trial) -> float:
    return -math.inf if trial.score is None else trial.score
