"""Do machine translations of a task rank encoders as human translations do?

Each encoder and test language is a point: its score on the human and on the machine translation of
the same test rows. Task ``X-MT`` is the machine translation of task ``X``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pmeans.errors import ConfigError
from pmeans.experiments import published
from pmeans.experiments.plan import EncoderRow, Experiment
from pmeans.experiments.published import Published
from pmeans.experiments.scores import Over, Scores
from pmeans.experiments.statistics import CONFIDENCE, scipy_stats
from pmeans.experiments.table import Cell, Column, Group, Row, Table

COLUMNS = (
    Column("points", 0),
    Column("Spearman"),
    Column("p", 4),
    Column("Pearson"),
    Column("p", 4),
)
LEGEND = (
    "Correlation, in per cent, between the scores on human and on machine translations. A point is "
    "an encoder and a test language. ± is half of the 95 % confidence interval by Fisher's "
    "transformation (for Spearman with a variance of 1.06 / (n - 3)), which takes the points as "
    "independent; encoders that share word spaces are not quite.",
)


def build(experiment: Experiment, scores: Scores, sets: Mapping[str, str]) -> Table:
    """Return the correlations of an experiment, task by task, for each set of encoders."""
    pairs = [task for task in experiment.tasks if f"{task}-MT" in experiment.tasks]
    if not pairs:
        raise ConfigError(
            f"experiment {experiment.name!r}: the layout 'translations' needs a task and its "
            "machine translation, such as 'AM' and 'AM-MT'."
        )
    book = published.load(experiment.published)
    groups = []
    for each, title in sets.items():
        encoders = [row for row in experiment.encoders if row.set == each]
        rows = [_row(task, encoders, experiment, scores, book) for task in pairs]
        if encoders:
            groups.append(Group(title, tuple(rows)))
    source = (f"In brackets: the published value, and ours minus it. Source: {book.source}",)
    legend = (*LEGEND, *(source if book.scores else ()))
    return Table(experiment.title, "task", COLUMNS, tuple(groups), legend)


def _row(
    task: str,
    encoders: Sequence[EncoderRow],
    experiment: Experiment,
    scores: Scores,
    book: Published,
) -> Row:
    points, gone = [], []
    for row in encoders:
        for lang in experiment.test:
            pair = [Over((name,), (lang,)) for name in (task, f"{task}-MT")]
            human, machine = (scores.interval(row, over) for over in pair)
            if human and machine:
                points.append((human.mean, machine.mean))
            else:
                gone += [why for over in pair if (why := scores.missing(row, over))][:1]
    without = f"{len(gone)} points are missing: {'; '.join(dict.fromkeys(gone))}" if gone else None
    count = Cell(len(points), note=without)
    cells: list[Cell] = []
    for name in ("spearman", "pearson"):
        theirs = book.scores.get((task, name))
        if any(len(set(values)) < 3 for values in zip(*points, strict=True)) or not points:
            few = "a correlation needs three different scores"
            cells += [Cell(published=theirs, note=without or few), Cell(note=without or few)]
            continue
        r, p = _correlation(name, *zip(*points, strict=True))
        low, high = _fisher(r, len(points), 1.06 if name == "spearman" else 1.0)
        cells += [Cell(100 * r, low, high, published=theirs), Cell(p)]
    return Row(task, (count, *cells))


def _correlation(name: str, x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    stats: Any = scipy_stats()
    got = stats.spearmanr(x, y) if name == "spearman" else stats.pearsonr(x, y)
    return float(got.statistic), float(got.pvalue)


def _fisher(r: float, n: int, variance: float) -> tuple[float | None, float | None]:
    """Return the interval of a correlation in per cent; none for fewer than four points."""
    if n < 4:
        return None, None
    z = float(scipy_stats().norm.ppf((1 + CONFIDENCE) / 2)) * math.sqrt(variance / (n - 3))
    centre = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, r)))  # a perfect one would be infinite
    return 100 * math.tanh(centre - z), 100 * math.tanh(centre + z)
