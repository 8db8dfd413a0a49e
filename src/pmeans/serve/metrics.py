"""Counters and a histogram in Prometheus's text format, summed over the worker processes.

Each worker counts in a row of its own of one shared table, so that there is no lock to die with,
and what a killed worker counted stays counted.
"""

from __future__ import annotations

import multiprocessing
from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 421, 422, 429, 503, 500)
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the histogram's classes, in seconds."""

_ROWS = 64  # workers that there ever were; later ones count on where the first ones did
_OTHER = "other"


class Metrics:
    """What was asked and answered. It goes to worker processes as it is, when they start."""

    def __init__(self, paths: Sequence[str]) -> None:
        """Make a table of zeros for requests to these paths and to any other."""
        self._paths = (*paths, _OTHER)
        width = len(self._paths) * len(STATUSES) + len(BUCKETS) + 1 + 3
        spawn = multiprocessing.get_context("spawn")
        self._shared = spawn.RawArray("d", _ROWS * width)
        self._workers = spawn.Value("i", 0)
        self._first: int | None = None

    def _table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the requests (rows, paths, statuses), the histogram, and the three sums."""
        table = np.frombuffer(self._shared).reshape(_ROWS, -1)
        end = len(self._paths) * len(STATUSES)
        requests = table[:, :end].reshape(_ROWS, len(self._paths), len(STATUSES))
        return requests, table[:, end:-3], table[:, -3:]

    def count(
        self, path: str, status: int, seconds: float, texts: int = 0, characters: int = 0
    ) -> None:
        """Count an answered request: number by number, which costs less than NumPy does."""
        width = len(self._shared) // _ROWS
        if self._first is None:
            with self._workers.get_lock():
                self._first = self._workers.value % _ROWS * width
                self._workers.value += 1
        at = self._paths.index(path if path in self._paths else _OTHER)
        kind = STATUSES.index(status if status in STATUSES else STATUSES[-1])
        self._shared[self._first + at * len(STATUSES) + kind] += 1
        sums = self._first + width - 3
        self._shared[sums - len(BUCKETS) - 1 + bisect_left(BUCKETS, seconds)] += 1
        for i, n in enumerate((seconds, texts, characters)):
            self._shared[sums + i] += n

    def render(self) -> str:
        """Return all of it as text."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        requests, histogram, sums = (part.sum(axis=0) for part in self._table())
        seconds, texts, characters = sums.tolist()
        yield from _about("pmeans_requests_total", "counter", "Answered requests.")
        for path, row in zip(self._paths, requests.tolist(), strict=True):
            for status, n in zip(STATUSES, row, strict=True):
                if n:
                    yield f'pmeans_requests_total{{path="{path}",status="{status}"}} {n:.0f}'
        yield from _about("pmeans_texts_total", "counter", "Texts of answered requests.")
        yield f"pmeans_texts_total {texts:.0f}"
        yield from _about("pmeans_characters_total", "counter", "Characters of these texts.")
        yield f"pmeans_characters_total {characters:.0f}"
        name = "pmeans_request_seconds"
        yield from _about(name, "histogram", "From the head of a request to its answer.")
        below = np.cumsum(histogram).tolist()
        for end, n in zip((*BUCKETS, "+Inf"), below, strict=True):
            yield f'{name}_bucket{{le="{end}"}} {n:.0f}'
        yield f"{name}_sum {seconds:.6f}"
        yield f"{name}_count {below[-1]:.0f}"


def _about(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"
