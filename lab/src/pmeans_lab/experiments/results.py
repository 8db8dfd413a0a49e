"""The results of an experiment: which cells of the store are its own, and why others are empty.

::

    results/
        cells.jsonl  gold.jsonl       all scores, see `pmeans_lab.evaluation.cells`
        paper-table2/rows.json        the cell of each row, task and language; why the rest is empty

Both are all that a table is made of. A table can therefore be made anew where neither data nor
word spaces are, and comes out the same. A table, a figure and a correlation ask `Scores` for the
same things: the score of an encoder over some tasks and languages with its interval, or why it is
not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pmeans.errors import FormatError, InputError, did_you_mean
from pmeans.files import replacing
from pmeans_lab.evaluation import cells
from pmeans_lab.evaluation.cells import Cell
from pmeans_lab.experiments.plan import EncoderRow, Experiment, places
from pmeans_lab.experiments.statistics import (
    Comparison,
    Interval,
    average,
    average_comparison,
    compare,
    interval,
)

Key = tuple[str, str, str, str]
"""Row, task, training and test language."""
Where = tuple[str, str, str]
"""Task, training and test language."""
Reasons = Mapping[tuple[str, str, str], str]
"""Why there is no result, by row, task and test language."""
NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Index:
    """The ids of an experiment's cells, finished or not, and why others could not be named."""

    cells: Mapping[Key, str] = field(default_factory=dict)
    absent: Reasons = field(default_factory=dict)


def files_of(results: Path, experiment: Experiment) -> tuple[Path, ...]:
    """Return the files that have the results of an experiment."""
    return (*cells.files_of(results), _index_of(results, experiment.name))


def _index_of(results: Path, experiment: str) -> Path:
    return results / experiment / "rows.json"


def read_index(results: Path, experiment: str) -> Index:
    """Return what an experiment knew of its cells when it last ran; nothing if it never did."""
    path = _index_of(results, experiment)
    if not path.exists():
        return Index()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Index(
            {(row, task, train, test): str(i) for row, task, train, test, i in content["cells"]},
            {(row, task, lang): str(text) for row, task, lang, text in content["absent"]},
        )
    except (ValueError, TypeError, KeyError) as error:
        raise FormatError(
            f"{path}: not the cells of an experiment: {error!r}. "
            "Delete it; the next run of the experiment writes it anew."
        ) from error


def note(results: Path, experiment: Experiment, named: Mapping[Key, str], reasons: Reasons) -> None:
    """Keep which cells an experiment has, and why others are empty.

    What was noted about rows and tasks that were not looked at is kept. A cell that cannot be named
    here, for want of a word space, keeps the name that it had; if finished, it needs no reason.
    """
    old, (finished, _) = read_index(results, experiment.name), scored(results, experiment)
    seen = {(place.row.name, place.task, place.test_lang) for place in places(experiment)}
    kept = {key: text for key, text in old.absent.items() if key not in seen}
    left = {place.key for place in places(experiment)} - finished.keys()
    empty = {(row, task, lang) for row, task, _, lang in left}
    kept |= {key: text for key, text in reasons.items() if key in empty}
    absent = dict(sorted(kept.items()))
    new = Index({**old.cells, **named}, absent)
    if new != old:
        _write_index(results, experiment.name, new)


def _write_index(results: Path, experiment: str, index: Index) -> None:
    text = f'{{"cells": [\n{_rows(index.cells)}\n], "absent": [\n{_rows(index.absent)}\n]}}\n'
    with replacing(_index_of(results, experiment)) as file:
        file.write(text.encode())


def prune(results: Path, experiments: Iterable[Experiment]) -> int:
    """Drop the results that no experiment asks for any more; return how many cells.

    All experiments with results in the folder must be named, so that none loses its cells.
    """
    known = {experiment.name: experiment for experiment in experiments}
    there = {path.parent.name for path in results.glob("*/rows.json")}
    if unknown := sorted(there - known.keys()):
        raise InputError(
            f"{str(results)!r} has results of {', '.join(unknown)}. Name the files of these "
            "experiments as well, or delete their folders."
        )
    named: set[str] = set()
    for name in sorted(there):
        asked, old = places(known[name]), read_index(results, name)
        keys = {place.key for place in asked}
        rows = {(place.row.name, place.task, place.test_lang) for place in asked}
        new = Index(
            {key: cell for key, cell in old.cells.items() if key in keys},
            {key: text for key, text in old.absent.items() if key in rows},
        )
        if new != old:
            _write_index(results, name, new)
        named.update(new.cells.values())
    return cells.keep(results, named)


def _rows(found: Mapping[Key, str] | Reasons) -> str:
    rows = ([*key, value] for key, value in found.items())
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def scored(results: Path, experiment: Experiment) -> tuple[dict[Key, Cell], Reasons]:
    """Return the finished cells of an experiment, and why others are missing."""
    index, store = read_index(results, experiment.name), cells.read(results)
    found: dict[Key, Cell] = {}
    for place in places(experiment):
        cell = store.get(index.cells.get(place.key, ""))
        # A file that was edited since the last run may ask for something else.
        if cell and (cell.protocol, cell.settings) == (place.protocol, place.row.settings.chosen):
            found[place.key] = cell
    return found, index.absent


def of_row(results: Path, source: str) -> tuple[str, dict[Key, Cell]]:
    """Return the name and the finished cells of one row of an experiment.

    The source is experiment and row, as in ``monolingual:GN mean``, or one with a single row.
    """
    experiment, colon, wanted = source.partition(":")
    index, store = read_index(results, experiment), cells.read(results)
    names = list(dict.fromkeys(key[0] for key in index.cells))
    if not names:
        there = [path.parent.name for path in sorted(results.glob("*/rows.json"))]
        raise InputError(
            f"no results of an experiment {experiment!r} in {str(results)!r}."
            f"{did_you_mean(experiment, there)} Run it first."
        )
    if not colon and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        problem = (
            f"no row {wanted!r} in {experiment}.{did_you_mean(wanted, names)}"
            if colon
            else f"which row? {experiment} has {len(names)}: write {experiment}:ROW."
        )
        raise InputError(f"{problem} It has: {'; '.join(names)}.")
    chosen = {key: store[i] for key, i in index.cells.items() if key[0] == wanted and i in store}
    return wanted, chosen


@dataclass(frozen=True)
class Over:
    """What a score is averaged over: what is in each group, then the groups.

    Attributes:
        groups: What depends on each other is in one group, as the languages of a task.
    """

    groups: tuple[tuple[Where, ...], ...]

    @classmethod
    def each(cls, tasks: Iterable[str], train: str, langs: Sequence[str]) -> Over:
        """Return some tasks in some test languages, each task a group."""
        return cls(tuple(tuple((task, train, lang) for lang in langs) for task in tasks))

    @property
    def all(self) -> tuple[Where, ...]:
        """What is in any group."""
        return tuple(where for group in self.groups for where in group)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(dict.fromkeys(task for task, _, _ in self.all))

    @property
    def langs(self) -> tuple[str, ...]:
        """All test languages."""
        return tuple(dict.fromkeys(lang for _, _, lang in self.all))

    @property
    def in_language(self) -> Over:
        """The same, trained in the test languages."""
        return Over(tuple(tuple((t, lang, lang) for t, _, lang in g) for g in self.groups))


class Scores:
    """The results of an experiment, by encoder, task and languages."""

    def __init__(self, cells: Mapping[Key, Cell], reasons: Reasons | None = None) -> None:
        self._reasons = reasons or {}
        self._intervals: dict[tuple[str, Over], Interval] = {}
        self._cells = cells

    def of(self, encoder: str, where: Where) -> Cell | None:
        """Return a row's cell; None if it was not computed."""
        return self._cells.get((encoder, *where))

    def missing(self, row: EncoderRow, over: Over) -> str | None:
        """Say why a score cannot be given; None if it can."""
        if row.absent is not None:
            return row.absent
        gone = [(where[0], where[2]) for where in over.all if not self.of(row.name, where)]
        if not gone:
            return None
        if len(over.groups) == 1:
            said = (self._reasons.get((row.name, *each), NOT_RUN) for each in gone)
            return "; ".join(dict.fromkeys(said))
        tasks = list(dict.fromkeys(task for task, _ in gone))
        return f"an average of all {len(over.tasks)} tasks, without {', '.join(tasks)}"

    def interval(self, row: EncoderRow, over: Over) -> Interval | None:
        """Return a score with its interval; None if any part of it is missing."""
        if self.missing(row, over) is not None:
            return None
        key = (row.name, over)
        if key not in self._intervals:
            by_group = [
                average([interval(cell) for cell in group], independent=False)
                for group in self._by_group(row.name, over)
            ]
            self._intervals[key] = average(by_group, independent=True)
        return self._intervals[key]

    def compare(self, a: EncoderRow, b: EncoderRow, over: Over) -> Comparison | None:
        """Compare two encoders; None if their results do not allow it."""
        groups = zip(self._by_group(a.name, over), self._by_group(b.name, over), strict=True)
        by_group = []
        try:
            for sides in groups:
                each = [compare(*pair) for pair in zip(*sides, strict=True)]
                by_group.append(average_comparison(each, independent=False))
        except InputError:  # other splits, or no predictions: no ground for a claim
            return None
        return average_comparison(by_group, independent=True)

    def _by_group(self, encoder: str, over: Over) -> list[list[Cell]]:
        """Return the cells of each group; all must be there."""
        return [[self._cells[encoder, *where] for where in group] for group in over.groups]
