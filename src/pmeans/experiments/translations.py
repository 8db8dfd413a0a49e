"""Do machine translations of a task rank encoders as human translations do?

Each encoder and test language is a point: its score on the human and on the machine translation of
the same test rows. Task ``X-MT`` is the machine translation of task ``X``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pmeans.errors import ConfigError
from pmeans.experiments import published
from pmeans.experiments.plan import EncoderRow, Experiment
from pmeans.experiments.published import Published
from pmeans.experiments.render import Column, Field, Row, Section, Table
from pmeans.experiments.results import Over, Scores
from pmeans.experiments.statistics import SPEARMAN, correlation, fisher

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
    sections = []
    for each, title in sets.items():
        encoders = [row for row in experiment.encoders if row.set == each]
        rows = [_row(task, encoders, experiment, scores, book) for task in pairs]
        if encoders:
            sections.append(Section(title, tuple(rows)))
    source = (f"In brackets: the published value, and ours minus it. Source: {book.source}",)
    legend = (*LEGEND, *(source if book.scores else ()))
    return Table(experiment.title, "task", COLUMNS, tuple(sections), legend)


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
    count = Field(len(points), note=without)
    cells: list[Field] = []
    for name in ("spearman", "pearson"):
        theirs = book.scores.get((task, name))
        if any(len(set(values)) < 3 for values in zip(*points, strict=True)) or not points:
            few = "a correlation needs three different scores"
            cells += [Field(published=theirs, note=without or few), Field(note=without or few)]
            continue
        r, p = correlation(name, *zip(*points, strict=True))
        found = fisher(r, len(points), SPEARMAN if name == "spearman" else 1.0)
        low, high = found if len(points) > 3 else (None, None)
        cells += [Field(100 * r, low, high, published=theirs), Field(p)]
    return Row(task, (count, *cells))
