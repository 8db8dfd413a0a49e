"""The claims of the paper, each beside what became of it here.

::

    [[parts]]
    title = "Across languages"
    data = "AM, AC and CLS in German and French."

    [[parts.claims]]
    says = "Minimum, mean and maximum beat the mean"
    figures = [{ label = "BV", row = "paper-table3:BV, powers", over = "paper-table3:BV, mean" }]

A figure is how much better one row of an experiment is than another, or the score of one row. Ours
comes from the store, the paper's from its tables. Intervals decide what a claim came to, unless the
file says it and why.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Literal

from pmeans import config
from pmeans.errors import ConfigError, InputError, did_you_mean
from pmeans_lab.evaluation.cells import Cell
from pmeans_lab.experiments import published, tables
from pmeans_lab.experiments.plan import EncoderRow, Experiment
from pmeans_lab.experiments.results import Key, Over, Scores, Where, scored
from pmeans_lab.experiments.statistics import Interval

Verdict = Literal["holds", "in part", "not here", "cannot be tested"]
Measure = Literal["score", "drop", "Spearman", "Pearson"]
PAPER = "the paper says"
PaperRow = tuple[published.Published, str]
"""A table of the paper, and the name of one of its rows."""


@dataclass(frozen=True)
class Figure:
    """A number of ours, and the paper's beside it.

    Attributes:
        row: An experiment, a colon and one of its rows.
        over: The row that it is compared with; None for a score by itself.
        label: What tells it from the other figures of the claim.
        claimed: Whether the paper has the first row above the second (or above 0), below, or level.
        of: ``drop`` is the in-language minus the cross-lingual score. ``Spearman`` and ``Pearson``
            are columns of an experiment whose layout is ``translations``.
        tasks: Only these; all that both rows have results on if there are none.
        lang: Only this test language.
        published: Tables and rows of the paper, as ``table2_monolingual:InferSent``, for ``row``
            and ``over``; those that the experiments show beside their rows if there are none.
    """

    row: str
    over: str | None = None
    label: str = ""
    claimed: Literal["above", "below", "level"] = "above"
    of: Measure = "score"
    tasks: tuple[str, ...] = ()
    lang: str | None = None
    published: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that compares two things.

    Attributes:
        says: The claim, and in brackets the section of the paper.
        figures: What is compared here.
        paper: Figures that stand in the paper's text alone.
        verdict: What it came to, where the intervals of the figures do not say.
        why: A reason, a link, or what to bear in mind.
    """

    says: str
    figures: tuple[Figure, ...] = ()
    paper: str = ""
    verdict: Verdict | None = None
    why: str = ""


@dataclass(frozen=True)
class Part:
    """Claims that were tested on the same data.

    Attributes:
        title: Heading of their table.
        data: What ours are measured on, and how that differs from the paper's.
        claims: The rows.
        of: Heading of the claims; the paper's own are counted.
    """

    title: str
    data: str
    claims: tuple[Claim, ...]
    of: str = PAPER


@dataclass(frozen=True)
class Claims:
    """All of them, in the order of the page."""

    parts: tuple[Part, ...]

    @classmethod
    def from_toml(cls, path: Path) -> Claims:
        """Read the claims, refusing one that is neither compared nor judged."""
        claims = config.build(cls, config.read_toml(path), str(path))
        for claim in (claim for part in claims.parts for claim in part.claims):
            if not claim.figures and not (claim.verdict and claim.why):
                raise ConfigError(f"{path}: {claim.says!r} needs figures, or a verdict and why.")
        return claims


@dataclass(frozen=True)
class Measured:
    """A figure with its numbers: of both rows, and their difference with its interval."""

    figure: Figure
    row: Interval
    over: Interval | None
    difference: Interval
    paper: str

    @property
    def as_claimed(self) -> bool:
        """Whether the interval lies on the side that was claimed; for ``level``, on both."""
        low, high = self.difference.low, self.difference.high
        return {"above": low > 0, "below": high < 0, "level": low <= 0 <= high}[self.figure.claimed]

    def __str__(self) -> str:
        if self.over is None:
            return _labelled(self.figure, _with_half(self.row))
        change = _with_half(self.difference, "+")
        text = f"{_number(self.over.mean)} → {_number(self.row.mean)}, {change}"
        return _labelled(self.figure, text)


class Book:
    """Results of experiments, each read once."""

    def __init__(self, experiments: Path, results: Path) -> None:
        self._folder = experiments
        self._results = results
        self._read = cache(self._of_experiment)

    def measured(self, figure: Figure) -> Measured:
        """Return a figure with its numbers."""
        if figure.of in ("Spearman", "Pearson"):
            return self._correlation(figure)
        first = self._cells(figure.row, figure)
        second = self._cells(figure.over, figure) if figure.over else first
        if not first or first.keys() != second.keys():
            raise InputError(f"{figure.row!r} and {figure.over!r} have no or different results.")
        tasks, langs = (tuple(dict.fromkeys(where[i] for where in first)) for i in (0, 2))
        over = Over.each(tasks, next(iter(first))[1], langs)
        sides = {"row": first, "over": second}
        scores = Scores(
            {(k, *where): cell for k, side in sides.items() for where, cell in side.items()}
        )
        row, other = map(EncoderRow, sides)
        score, beside = scores.interval(row, over), scores.interval(other, over)
        difference = scores.compare(row, other, over) if figure.over else score
        if score is None or difference is None:
            raise InputError(f"{figure.row!r} and {figure.over!r} cannot be compared.")
        theirs = self._paper(figure, tasks)
        return Measured(figure, score, beside if figure.over else None, difference, theirs)

    def _of_experiment(self, name: str) -> tuple[Experiment, dict[Key, Cell]]:
        experiment = Experiment.from_toml(self._folder / f"{name}.toml")
        return experiment, scored(self._results, experiment)[0]

    def _row(self, source: str) -> tuple[Experiment, EncoderRow]:
        name, _, wanted = source.partition(":")
        experiment, _ = self._read(name)
        rows = {row.name: row for row in experiment.encoders}
        if wanted not in rows:
            raise ConfigError(f"no row {wanted!r} in {name}.{did_you_mean(wanted, rows)}")
        return experiment, rows[wanted]

    def _cells(self, source: str, figure: Figure) -> dict[Where, Cell]:
        """Return the cells of a row that a figure is of."""
        experiment, row = self._row(source)
        _, cells = self._read(experiment.name)
        own = {key[1:]: cell for key, cell in cells.items() if key[0] == row.name}
        crossing = {
            where: cell
            for where, cell in own.items()
            if where[1] == experiment.train
            and figure.lang in (None, where[2])
            and (not figure.tasks or where[0] in figure.tasks)
        }
        if figure.of == "score":
            return crossing
        if absent := [task for task, _, lang in crossing if (task, lang, lang) not in own]:
            raise InputError(f"{source!r} has no in-language scores of {', '.join(absent)}.")
        return {
            (task, train, lang): _drop(cell, own[task, lang, lang])
            for (task, train, lang), cell in crossing.items()
        }

    def _correlation(self, figure: Figure) -> Measured:
        """Return a correlation of scores on human and on machine translations."""
        name, _, task = figure.row.partition(":")
        table = tables.build(*self._read(name))
        column = [column.title for column in table.columns].index(figure.of)
        field = next(row for row in table.sections[-1].rows if row.name == task).fields[column]
        if field.value is None or field.low is None or field.high is None:
            raise InputError(f"{name} has no correlation of {task}.")
        got = Interval(field.value, field.low, field.high, 0.0, 0.0)
        theirs = "" if field.published is None else _labelled(figure, _number(field.published))
        return Measured(figure, got, None, got, theirs)

    def _paper(self, figure: Figure, tasks: Sequence[str]) -> str:
        """Return the paper's numbers over its tasks, and in brackets over those of ours."""
        sources = figure.published or tuple(filter(None, (figure.row, figure.over)))
        find = _published if figure.published else self._beside
        rows = [find(source) for source in reversed(sources)]
        suffix, drop = f"_{figure.lang}" if figure.lang else "", figure.of == "drop"
        own = _arrow(rows, [f"{task}{suffix}" for task in tasks], drop)
        if figure.tasks:
            return _labelled(figure, own)
        whole = _arrow(rows, [f"avg{suffix}"], drop) or _arrow(rows, ["xling"], drop)
        same = set(rows[0][0].tasks) == set(tasks)
        return _labelled(figure, f"{whole} [{own}]" if own and not same else whole)

    def _beside(self, source: str) -> PaperRow:
        """Return the paper's table and row that an experiment shows beside a row."""
        experiment, row = self._row(source)
        return published.load(experiment.published), row.published or row.name


def verdict(claim: Claim, figures: Sequence[Measured]) -> Verdict:
    """Say what a claim came to: by the file, or by how many figures are as claimed."""
    if claim.verdict:
        return claim.verdict
    right = sum(figure.as_claimed for figure in figures)
    return "not here" if not right else "holds" if right == len(figures) else "in part"


def page(claims: Claims, book: Book) -> str:
    """Return how many claims came to what, and a heading and a table for each part, as Markdown."""
    verdicts: Counter[Verdict] = Counter()
    tables = ["\n".join(_part(part, book, verdicts)) for part in claims.parts]
    holds, some, none, untested = (verdicts[each] for each in typing.get_args(Verdict))
    counts = (
        f"Of {verdicts.total()} claims {holds} hold here, {some} in part and {none} not; "
        f"{untested} cannot be tested."
    )
    return "\n\n".join([counts, *tables])


def _part(part: Part, book: Book, verdicts: Counter[Verdict]) -> Iterator[str]:
    """Yield the lines of a part, and count the verdicts on what the paper says."""
    yield f"## {part.title}\n\n{part.data.strip()}\n"
    yield f"| {part.of} | paper | ours | here |"
    yield "|---|---|---|---|"
    for claim in part.claims:
        figures = [book.measured(figure) for figure in claim.figures]
        judged = verdict(claim, figures)
        verdicts[judged] += part.of == PAPER
        paper = [claim.paper, *(figure.paper for figure in figures)]
        theirs = "<br>".join(dict.fromkeys(filter(None, paper))) or "–"
        ours = "<br>".join(map(str, figures)) or "–"
        why = f": {claim.why}" if claim.why else ""
        yield f"| {claim.says} | {theirs} | {ours} | **{judged}**{why} |"


def _drop(crossing: Cell, within: Cell) -> Cell:
    """Return a cell of what is lost from one language to another, split by split."""
    pairs = zip(within.values, crossing.values, strict=True)
    return replace(crossing, values=tuple(own - other for own, other in pairs))


def _published(source: str) -> PaperRow:
    table, _, model = source.partition(":")
    return published.load(table), model


def _arrow(rows: Sequence[PaperRow], columns: Sequence[str], drop: bool) -> str:
    """Return the means of some columns of rows of the paper; nothing if a number is not there."""
    means = []
    for book, model in rows:
        numbers = book.gaps if drop else book.scores
        found = [numbers[model, column] for column in columns if (model, column) in numbers]
        if len(found) < len(columns):
            return ""
        means.append(_number(fmean(found)))
    return " → ".join(means)


def _labelled(figure: Figure, text: str) -> str:
    return f"{figure.label}: {text}" if figure.label and text else text


def _with_half(of: Interval, sign: str = "") -> str:
    return f"{_number(of.mean, sign)} ±{_number((of.high - of.low) / 2)}"


def _number(value: float, sign: str = "") -> str:
    return f"{round(value, 1) + 0.0:{sign}.1f}".replace("-", "−")
