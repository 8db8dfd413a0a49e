"""Contestants in turn, round after round, and the ratios within each round.

On a shared machine a second at noon is not a second at one o'clock. So every contestant gets its
turn in every round, a ratio is taken between two turns of the same round only, and what is
reported is the median of these ratios with the smallest and the largest. Round 0 warms up and is
not counted.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from contestants import AUTHORS, CONTESTANTS, EXACT, HERE
from corpus import Corpus

FSE_HOME = HERE.parent / ".venv-bench-fse"
Times = dict[str, list[float]]
Bar = tuple[str, str, str, bool | None]
"""What is compared with, how much is asked for, what was measured, whether it is met."""


@dataclass(frozen=True)
class Section:
    """One table of the report, and the raw numbers behind it."""

    title: str
    method: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    raw: dict[str, Any]
    bars: Sequence[Bar] = ()


class Worker:
    """A contestant's process; ``missing`` says why it is not there."""

    def __init__(self, corpus: Corpus, n_spaces: int, name: str) -> None:
        python = FSE_HOME / "bin" / "python" if name.startswith("fse") else Path(sys.executable)
        self.name = name
        self.missing = ""
        self.about: dict[str, Any] = {}
        if not python.exists():
            self.missing = "its environment could not be made"
            return
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(HERE / "worker.py"), str(corpus.folder),
             str(n_spaces), name],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.about = self._answer()
        self.missing = self.about.get("missing", "")

    def ask(self, order: str) -> dict[str, Any]:
        """Have one order carried out."""
        assert self._process.stdin
        print(order, file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        """Send the process home."""
        if not self.missing:
            self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} died; its message stands above.")
        return json.loads(line)


class Arena:
    """Workers on one corpus; a context, at whose end they are sent home."""

    def __init__(self, corpus: Corpus, n_spaces: int, names: Iterable[str]) -> None:
        self.workers = []
        for name in names:
            print(f"  preparing {name}", file=sys.stderr)
            self.workers.append(Worker(corpus, n_spaces, name))
        self.present = [worker for worker in self.workers if not worker.missing]

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()

    def check(self) -> None:
        """Refuse to go on if a contestant's rows differ from those of the authors' loop."""
        rows = {w.name: np.array(w.about["rows"]) for w in self.present if w.about["rows"]}
        for name in set(EXACT) & set(rows):
            # atol: a float32 mean of 20 numbers around 0.3 is good to a few 1e-8, at any order.
            if not np.allclose(rows[name], rows[AUTHORS], rtol=1e-5, atol=1e-6):
                worst = np.abs(rows[name] - rows[AUTHORS]).max()
                raise SystemExit(f"{name} differs from the authors' loop by {worst}.")

    def rounds(
        self, order: str, n: int, names: Container[str] = CONTESTANTS
    ) -> dict[str, list[dict[str, Any]]]:
        """Have the order carried out in n rounds, after one that does not count."""
        workers = [worker for worker in self.present if worker.name in names]
        answers: dict[str, list[dict[str, Any]]] = {worker.name: [] for worker in workers}
        for i in range(n + 1):
            print(f"  {order}: round {i} of {n}", file=sys.stderr)
            for worker in workers:
                answer = worker.ask(order)
                if i:
                    answers[worker.name].append(answer)
        return answers


def ratios(slower: Sequence[float], faster: Sequence[float]) -> list[float]:
    """Return how many times as long, round by round."""
    return [a / b for a, b in zip(slower, faster, strict=True)]


def shown(values: Sequence[float], form: str = "{:.1f}") -> str:
    """Return the median, and the range in brackets."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{form.format(middle)} ({form.format(low)}–{form.format(high)})"


def at_least(what: str, wanted: float, measured: Sequence[float], unit: str = "×") -> Bar:
    """Return a bar that is met by the median; nothing measured leaves it open."""
    if not measured:
        return what, f"≥ {wanted:g} {unit}", "not measured", None
    met = statistics.median(measured) >= wanted
    return what, f"≥ {wanted:g} {unit}", f"{shown(measured)} {unit}", met


def at_most(what: str, wanted: float, measured: Sequence[float], unit: str = "s") -> Bar:
    """Return a bar that is met by the median; nothing measured leaves it open."""
    if not measured:
        return what, f"≤ {wanted:g} {unit}", "not measured", None
    met = statistics.median(measured) <= wanted
    return what, f"≤ {wanted:g} {unit}", f"{shown(measured, '{:.2f}')} {unit}", met
