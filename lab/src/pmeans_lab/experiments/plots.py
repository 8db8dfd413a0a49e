"""Figures: the average score against the number of columns, and the scores of all directions.

Larger vectors win by size alone, to a degree; the first shows how much of a gain size explains. The
second has a square for each pair of a training and a test language.
The same results give the same bytes, so that a figure can be committed and compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pmeans.errors import InputError
from pmeans.files import optional, replacing
from pmeans_lab.evaluation.cells import Cell
from pmeans_lab.experiments import published
from pmeans_lab.experiments.plan import EncoderRow, Experiment
from pmeans_lab.experiments.results import Key, Over, Reasons, Scores
from pmeans_lab.experiments.tables import comparable

# Colours of Okabe and Ito, which colour-blind readers can tell apart; each has its own marker.
GROUPS = {
    "mean": ("#0072B2", "o"),
    "power means": ("#D55E00", "s"),
    "z-normed": ("#009E73", "D"),
    "control of the same size": ("#666666", "v"),
    "other methods": ("#CC79A7", "^"),
}
# matplotlib would note the time and draw random ids: neither belongs into a committed file.
_METADATA = {".svg": {"Date": None}, ".png": {}, ".pdf": {"CreationDate": None}}


@dataclass(frozen=True)
class Point:
    """An encoder's average score, with its interval, at a place of the horizontal axis.

    Attributes:
        group: Its colour and marker, a key of `GROUPS`.
        published: Whether it is drawn hollow.
    """

    name: str
    group: str
    x: float
    score: float
    low: float
    high: float
    published: bool = False


def draw(
    experiment: Experiment, cells: Mapping[Key, Cell], path: Path, reasons: Reasons | None = None
) -> str:
    """Draw the figure of an experiment, the directions of columns or else the dimensions.

    Returns a caption, which names what could not be drawn, for the reasons given.
    """
    if path.suffix.lower() not in _METADATA:
        raise InputError(f"{str(path)!r} must end in {', '.join(_METADATA)}.")
    if experiment.layout == "groups":
        return _directions(experiment, cells, path)
    return _dimensions(experiment, cells, path, reasons)


def _directions(experiment: Experiment, cells: Mapping[Key, Cell], path: Path) -> str:
    """Draw the scores of every encoder and task by training and test language."""
    found: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for (row, task, train, test), cell in cells.items():
        found.setdefault((row, task), {})[train, test] = fmean(cell.values)
    panels = {key: each for key, each in found.items() if len({train for train, _ in each}) > 1}
    if not panels:
        raise InputError(
            f"experiment {experiment.name!r} has no task with scores from several languages."
        )
    with _figure(experiment.name, path, (0.6 + 5.4 * len(panels), 5.4)) as figure:
        for axes, ((row, task), scores) in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            langs = list(dict.fromkeys(lang for direction in scores for lang in direction))
            values = [[scores.get((a, b), math.nan) for b in langs] for a in langs]
            # Pale where the score is high: the few dark squares are what to look at.
            axes.imshow(values, cmap="cividis")
            middle = (min(scores.values()) + max(scores.values())) / 2
            for (a, b), score in scores.items():
                colour = "black" if score > middle else "white"
                at = (langs.index(b), langs.index(a))
                axes.text(*at, f"{score:.1f}", ha="center", va="center", color=colour, fontsize=7)
            axes.set_xticks(range(len(langs)), langs)
            axes.set_yticks(range(len(langs)), langs)
            axes.set_xlabel("test language")
            axes.set_ylabel("training language")
            axes.set_title(f"{task}, {_plain(row)}")
    return f"{experiment.title}: the score of each direction."


def _dimensions(
    experiment: Experiment, cells: Mapping[Key, Cell], path: Path, reasons: Reasons | None = None
) -> str:
    """Draw the average score of every encoder against its number of columns.

    Published values are drawn hollow.
    """
    points, gone = _points(experiment, Scores(cells, reasons))
    if not points:
        raise InputError(
            f"experiment {experiment.name!r} has no average to draw: {'; '.join(gone)}."
        )
    ticks = sorted({int(point.x) for point in points})
    scatter(experiment.name, points, path, "columns of a sentence vector", ticks)
    caption = [
        f"{experiment.title}: average of {', '.join(experiment.tasks)} against the number of "
        "columns of a sentence vector. Bars are 95 % confidence intervals."
    ]
    if any(point.published for point in points):
        source = published.load(experiment.published).source
        caption.append(f"Hollow points are published averages. Source: {source}")
    if gone:
        caption.append(f"Not computed: {'; '.join(gone)}.")
    return " ".join(caption)


def _points(experiment: Experiment, scores: Scores) -> tuple[list[Point], list[str]]:
    """Return what is drawn, from the smallest on, and what is left out and why."""
    book = published.load(experiment.published)
    over = Over.each(experiment.tasks, experiment.train, experiment.test)
    shown = comparable(over, "avg", book)
    points: list[Point] = []
    gone: dict[str, list[str]] = {}
    for row in experiment.encoders:
        model = row.published or row.name
        if shown and model in book.dims and row.set == "paper":
            at = (book.dims[model], book.scores[model, "avg"])
            points.append(Point(row.name, group_of(row), *at, math.nan, math.nan, published=True))
        got = scores.interval(row, over)
        if got is None:
            gone.setdefault(str(scores.missing(row, over)), []).append(row.name)
            continue
        if first := scores.of(row.name, over.all[0]):
            bounds = (got.mean, got.low, got.high)
            points.append(Point(row.name, group_of(row), first.dim, *bounds, published=False))
    without = [f"{', '.join(names)} ({why})" for why, names in gone.items()]
    return sorted(points, key=lambda point: (point.x, point.score)), without


def group_of(row: EncoderRow) -> str:
    """Return the group of an encoder by what it does, a key of `GROUPS`."""
    if row.project is not None:
        return "control of the same size"
    if row.znorm != "none":
        return "z-normed"
    if row.baseline or not row.parts:
        return "other methods"
    means = all(part.powers == (1.0,) for part in row.parts)
    return "mean" if means else "power means"


def scatter(
    name: str,
    points: Sequence[Point],
    path: Path,
    axis: str,
    ticks: Sequence[int],
    legend: str = "lower right",
) -> None:
    """Draw scores against a logarithmic axis, numbered, with the names of the numbers beside them.

    Args:
        name: What the ids within the file are made of.
        points: In the order of their numbers, from left to right; at least one.
        path: Where the figure is written, as `draw` does.
        axis: What the horizontal axis shows.
        ticks: Its numbers.
        legend: The corner of the groups' names.
    """
    with _figure(name, path, (9, 5)) as figure:
        axes = figure.add_subplot()
        for point in points:
            colour, marker = GROUPS[point.group]
            face = "white" if point.published else colour
            axes.plot(point.x, point.score, marker, color=colour, markerfacecolor=face)
            if not math.isnan(point.low):
                axes.vlines(point.x, point.low, point.high, color=colour, linewidth=1)
        for number, x, y in _labels(points):
            axes.annotate(str(number), (x, y), (7, 0), textcoords="offset points", va="center")
        axes.set_xscale("log")
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(axis)
        axes.set_ylabel("average score, %")
        for kind, (colour, marker) in GROUPS.items():
            if any(point.group == kind for point in points):
                axes.plot([], [], marker, color=colour, label=kind)
        axes.legend(frameon=False, loc=legend)
        names = "\n".join(f"{i}  {_shown(point)}" for i, point in enumerate(points, 1))
        figure.text(1.01, 0.98, names, va="top", transform=axes.transAxes, in_layout=True)


@contextmanager
def _figure(name: str, path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """Give an empty figure of so many inches, and write it when all is drawn."""
    matplotlib = optional("matplotlib.figure", "plots", "a figure")
    style = {"svg.hashsalt": name, "svg.fonttype": "path", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        yield figure
        with replacing(path) as file:
            suffix = path.suffix.lower()
            figure.savefig(
                file, format=suffix[1:], metadata=_METADATA[suffix], dpi=150, bbox_inches="tight"
            )


def _shown(point: Point) -> str:
    name = _plain(point.name)
    return f"{name} (published)" if point.published else name


def _plain(name: str) -> str:
    # A dollar sign would begin a formula.
    return name.replace("$", r"\$")


def _labels(points: Sequence[Point]) -> list[tuple[int, float, float]]:
    """Place the number of each point, moved up where it would cover another one."""
    scores, places = [point.score for point in points], [point.x for point in points]
    step = 0.04 * max(1.0, max(scores) - min(scores))
    width = 0.04 * math.log(max(places) / min(places))
    placed: list[tuple[int, float, float]] = []
    for number, point in enumerate(points, 1):
        y = point.score
        for other in sorted(y for _, x, y in placed if abs(math.log(point.x / x)) <= width):
            if abs(y - other) < step:
                y = other + step
        placed.append((number, point.x, y))
    return placed
