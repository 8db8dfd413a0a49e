"""Look up the scores of an experiment: of a task, an average, a pair of encoders.

A table, a figure and a correlation ask for the same things: the score of an encoder over some
tasks and languages with its interval, or why it is not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pmeans.errors import InputError
from pmeans.evaluation.cells import Cell
from pmeans.experiments.folder import Key, Reasons
from pmeans.experiments.plan import EncoderRow, Experiment
from pmeans.experiments.statistics import (
    Comparison,
    Interval,
    average,
    average_comparison,
    compare,
    interval,
)

NOT_RUN = "not run yet"


@dataclass(frozen=True)
class Over:
    """What a score is averaged over: the languages of each task, then the tasks.

    Attributes:
        tasks: Names of tasks.
        langs: Test languages.
        in_language: Train on the test language instead of the experiment's training language.
    """

    tasks: tuple[str, ...]
    langs: tuple[str, ...]
    in_language: bool = False


class Scores:
    """The results of an experiment, by encoder, task and languages."""

    def __init__(
        self, experiment: Experiment, cells: Mapping[Key, Cell], reasons: Reasons | None = None
    ) -> None:
        self._train = experiment.train
        self._reasons = reasons or {}
        self._intervals: dict[tuple[str, Over], Interval] = {}
        self._comparisons: dict[tuple[str, str, Over], Comparison | None] = {}
        self._cells = cells

    def of(self, encoder: str, task: str, lang: str, in_language: bool = False) -> Cell | None:
        """Return a row's cell of a task; None if it was not computed."""
        return self._cells.get((encoder, task, lang if in_language else self._train, lang))

    def missing(self, row: EncoderRow, over: Over) -> str | None:
        """Say why a score cannot be given; None if it can."""
        if row.absent is not None:
            return row.absent
        gone = [
            (task, lang)
            for task in over.tasks
            for lang in over.langs
            if not self.of(row.name, task, lang, over.in_language)
        ]
        if not gone:
            return None
        if len(over.tasks) == 1:
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
            by_task = [
                average([interval(cell) for cell in langs], independent=False)
                for langs in self._by_task(row.name, over)
            ]
            self._intervals[key] = average(by_task, independent=True)
        return self._intervals[key]

    def compare(self, a: EncoderRow, b: EncoderRow, over: Over) -> Comparison | None:
        """Compare two encoders; None if their results do not allow it."""
        key = (a.name, b.name, over)
        if key not in self._comparisons:
            try:
                self._comparisons[key] = self._compared(a.name, b.name, over)
            except InputError:  # other splits, or no predictions: no ground for a claim
                self._comparisons[key] = None
        return self._comparisons[key]

    def _compared(self, a: str, b: str, over: Over) -> Comparison:
        by_task = [
            average_comparison(
                [compare(*pair) for pair in zip(*langs, strict=True)], independent=False
            )
            for langs in zip(self._by_task(a, over), self._by_task(b, over), strict=True)
        ]
        return average_comparison(by_task, independent=True)

    def _by_task(self, encoder: str, over: Over) -> list[list[Cell]]:
        """Return the cells by task and language; all must be there."""
        return [
            [
                cell
                for lang in over.langs
                if (cell := self.of(encoder, task, lang, over.in_language))
            ]
            for task in over.tasks
        ]
