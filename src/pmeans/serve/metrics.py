"""Counters, gauges and histograms in Prometheus's text format, summed over the worker processes.

Each worker counts in a row of its own of one shared table, so that there is no lock to die with,
and what a killed worker counted stays counted. What it held open does not: gauges are those of
the workers that are alive.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

STATUSES = (
    200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 431, 503, 500,
)  # fmt: skip
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the histogram's classes, in seconds."""

_ROWS = 64  # workers at a time; a later one counts on where one that is dead did
_OTHER = "other"
_OF_PATH = len(STATUSES) + len(BUCKETS) + 1 + 2  # statuses, the histogram, seconds, in flight
_OF_WORKER = 4  # texts, characters, connections, the process


class Metrics:
    """What was asked and answered. It goes to worker processes as it is, when they start."""

    def __init__(self, paths: Sequence[str], workers: int = 1) -> None:
        """Make a table of zeros for requests to these paths and to any other."""
        self._paths = {path: at for at, path in enumerate((*paths, _OTHER))}
        self._width = len(self._paths) * _OF_PATH + _OF_WORKER
        self._configured = workers
        spawn = multiprocessing.get_context("spawn")
        self._shared = spawn.RawArray("d", _ROWS * self._width)
        self._started = spawn.Value("i", 0)
        self._first = -1

    def start(self) -> None:
        """Take a row for this process, which begins to serve, unless it has one."""
        if self._first >= 0:
            return
        with self._started.get_lock():
            self._started.value += 1
            processes = self._table()[:, -1].tolist()
            free = [row for row, process in enumerate(processes) if not _alive(int(process))]
            row = free[0] if free else self._started.value % _ROWS
            self._first = row * self._width
            for place in (*map(self._in_flight, self._paths), self._of_worker(2)):
                self._shared[place] = 0
            self._shared[self._of_worker(3)] = os.getpid()

    def count(
        self, path: str, status: int, seconds: float, texts: int = 0, characters: int = 0
    ) -> None:
        """Count an answered request: number by number, which costs less than NumPy does."""
        kind = STATUSES.index(status if status in STATUSES else STATUSES[-1])
        at = self._of_path(path)
        self._shared[at + kind] += 1
        self._shared[at + len(STATUSES) + bisect_left(BUCKETS, seconds)] += 1
        self._shared[at + _OF_PATH - 2] += seconds
        if texts:
            self._shared[self._of_worker(0)] += texts
            self._shared[self._of_worker(1)] += characters

    @contextlib.contextmanager
    def in_flight(self, path: str) -> Iterator[None]:
        """Count a request as long as it is read, worked on or sent."""
        place = self._in_flight(path)
        self._shared[place] += 1
        try:
            yield
        finally:
            self._shared[place] -= 1

    def connected(self, change: int) -> None:
        """Count a connection that is made (1) or lost (-1)."""
        self._shared[self._of_worker(2)] += change

    def render(self, build: Mapping[str, str]) -> str:
        """Return all of it as text; ``build`` says what is served, and by which version."""
        return "\n".join(self._lines(build)) + "\n"

    def _of_path(self, path: str) -> int:
        return self._first + self._paths.get(path, len(self._paths) - 1) * _OF_PATH

    def _in_flight(self, path: str) -> int:
        return self._of_path(path) + _OF_PATH - 1

    def _of_worker(self, which: int) -> int:
        return self._first + self._width - _OF_WORKER + which

    def _table(self) -> np.ndarray:
        """Return all numbers, (_ROWS, width)."""
        return np.frombuffer(self._shared).reshape(_ROWS, -1)

    def _lines(self, build: Mapping[str, str]) -> Iterator[str]:
        table = self._table()
        alive = [row for row, process in enumerate(table[:, -1]) if _alive(int(process))]
        by_path = table[:, :-_OF_WORKER].reshape(_ROWS, len(self._paths), _OF_PATH)
        of_paths = by_path.sum(axis=0)
        texts, characters = table[:, -_OF_WORKER : -_OF_WORKER + 2].sum(axis=0).tolist()
        statuses, histograms = of_paths[:, : len(STATUSES)], of_paths[:, len(STATUSES) : -2]
        used = [(path, at) for path, at in self._paths.items() if statuses[at].any()]

        yield from _about("pmeans_build_info", "gauge", "What is served, and by which version.")
        yield f"pmeans_build_info{_labels(build)} 1"
        yield from _about("pmeans_requests_total", "counter", "Answered requests.")
        for path, at in used:
            for status, n in zip(STATUSES, statuses[at].tolist(), strict=True):
                if n:
                    labels = _labels({"path": path, "status": str(status)})
                    yield f"pmeans_requests_total{labels} {n:.0f}"
        yield from _about("pmeans_requests_in_flight", "gauge", "Requests that are not answered.")
        in_flight = by_path[alive, :, -1].sum(axis=0).tolist()
        for path, at in self._paths.items():
            yield f"pmeans_requests_in_flight{_labels({'path': path})} {in_flight[at]:.0f}"
        for name, kind, number, text in (
            ("texts_total", "counter", texts, "Texts of answered requests."),
            ("characters_total", "counter", characters, "Characters of these texts."),
            ("open_connections", "gauge", table[alive, -2].sum(), "Connections that are open."),
            ("workers", "gauge", len(alive), "Processes that serve."),
            ("worker_restarts_total", "counter", self._restarts(), "Processes that replaced one."),
        ):
            yield from _about(f"pmeans_{name}", kind, text)
            yield f"pmeans_{name} {number:.0f}"
        name = "pmeans_request_seconds"
        yield from _about(name, "histogram", "From the head of a request to that of its answer.")
        for path, at in used:
            below = np.cumsum(histograms[at]).tolist()
            for end, n in zip((*BUCKETS, "+Inf"), below, strict=True):
                yield f"{name}_bucket{_labels({'path': path, 'le': str(end)})} {n:.0f}"
            yield f"{name}_sum{_labels({'path': path})} {of_paths[at, -2]:.6f}"
            yield f"{name}_count{_labels({'path': path})} {below[-1]:.0f}"

    def _restarts(self) -> int:
        return max(0, int(self._started.value) - self._configured)


def _about(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _labels(labels: Mapping[str, str]) -> str:
    """Write labels, with what ends a value or a line escaped."""
    escaped = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
    return "{" + ",".join(f'{name}="{v.translate(escaped)}"' for name, v in labels.items()) + "}"


def _alive(process: int) -> bool:
    if process <= 0:
        return False
    if sys.platform == "win32":  # where asking would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
