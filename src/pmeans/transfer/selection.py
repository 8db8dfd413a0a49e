"""Choose columns, scaling and penalty by cross-validation, on training rows alone.

1. Columns (those of all powers, or of fewer if the recipe has more than the mean) and scaling (as
   they are encoded, or each divided by its deviation over the training rows) are chosen by ridge
   regression, which tries all penalties at the price of one. Where an alignment leads to
   canonical directions, a column has no power: these come sorted by how well the languages agree
   in them, each shrunk by that, and it is the first of them that are kept.
2. The penalty is then chosen for the classifier itself, from strong to weak, each starting where
   the one before ended, until the score has fallen twice.

Both look at a sample of 2,000 rows at most; penalties are relative (`linear`), so they carry over.
Rows are not scaled to length 1: that is not linear, and a decision could no longer be taken apart
word by word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.transfer import linear
from pmeans.transfer.calibration import calibrated
from pmeans.transfer.examples import SAMPLE, Examples, folds, sample, splits
from pmeans.transfer.linear import Linear, Method
from pmeans.transfer.storage import Scaling
from pmeans.types import Floats, Ints, Progress

PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


@dataclass(frozen=True)
class Candidate:
    """Columns to keep, (n_kept,), and what each column is multiplied by, (dim,).

    ``powers`` are those that are kept; None where columns have no power of their own.
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
        numbers = dict.fromkeys(max(1, encoder.dim // n) for n in (1, 2, 4))
        return [(None, np.arange(n)) for n in numbers]
    parts = encoder.recipe.parts
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
    """A setting, its score, and the decisions on the held-out rows that it was scored by."""

    candidate: Candidate
    penalty: float
    score: float | None = None
    decisions: Floats | None = None


def learn(
    encoder: PowerMeanEncoder,
    rows: Examples,
    spread: Floats,
    rng: np.random.Generator,
    progress: Progress = lambda share, text: None,
) -> tuple[Linear, Trial]:
    """Choose a setting, fit a classifier with it, and calibrate it.

    Returns:
        The classifier, for rows as they are encoded, and the setting.
    """
    from threadpoolctl import threadpool_limits

    # One thread: these products are small, and on a busy machine threads that wait for each other
    # in every one of them made a fit five times as slow.
    with threadpool_limits(1):
        return _learn(encoder, rows, spread, rng, progress)


def _learn(
    encoder: PowerMeanEncoder,
    rows: Examples,
    spread: Floats,
    rng: np.random.Generator,
    progress: Progress,
) -> tuple[Linear, Trial]:
    progress(0.2, "choosing columns and penalty")
    options = candidates(encoder, spread)
    part = sample(rows, rng)
    fold = folds(part.y, rng)
    held = np.flatnonzero(fold >= 0)
    best = _choose(part, fold, options, rows.method) if len(held) else Trial(options[0], 1e-3)
    progress(0.6, f"fitting on {len(rows.y):,} rows")
    scaled = rows.with_columns(best.candidate.columns, best.candidate.factor)
    fitted = scaled.fit(rows.method, best.penalty)
    progress(0.8, "calibrating")
    if len(part.y) < len(rows.y):
        # The sample has other classes, or learned from fewer rows: hold out some of all rows.
        fold = folds(rows.y, rng)
        held = rng.permutation(np.flatnonzero(fold == 0))[: min(SAMPLE, len(fold) // 5)]
        seen = np.setdiff1d(np.arange(len(fold)), held)
        decisions = scaled.at(seen).fit(rows.method, best.penalty, fitted).decide(scaled.x[held])
        fitted = calibrated(fitted, decisions, rows.y[held])
    elif best.decisions is not None:
        fitted = calibrated(fitted, best.decisions, rows.y[held])
    weights = np.zeros((rows.n_classes, rows.x.shape[1]), dtype=np.float32)
    columns = best.candidate.columns
    weights[:, columns] = fitted.weights * best.candidate.factor[columns]
    return Linear(weights, fitted.bias), best


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
        found = [f.decide(held) for f, (_, held) in zip(fitted, divided, strict=True) if f]
        trial = _trial(part, fold, candidate, penalty, found)
        falls = 0 if best is None or _score(trial) > _score(best) else falls + 1
        best = _better(best, trial)
        if falls == 2:
            break
    assert best is not None
    return best


def _trial(
    part: Examples, fold: Ints, candidate: Candidate, penalty: float, found: Sequence[Floats]
) -> Trial:
    """Put the decisions of the folds into the order of the rows, and score them."""
    held = np.concatenate([rows for _, rows in splits(fold)])
    order = np.argsort(held)
    decisions = np.concatenate(found)[order]
    return Trial(candidate, penalty, part.score(decisions, held[order]), decisions)


def _better(best: Trial | None, trial: Trial) -> Trial:
    """Keep the first of equals: all columns, as encoded, the stronger penalty."""
    return trial if best is None or _score(trial) > _score(best) else best


def _score(trial: Trial) -> float:
    return -math.inf if trial.score is None else trial.score
