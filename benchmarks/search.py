"""Exact search against plain NumPy and scikit-learn, and what the approximate index misses.

    OMP_NUM_THREADS=1 python benchmarks/search.py
    python benchmarks/search.py index/  # how long an index in shards takes to open, no more

Takes two minutes and several GB. Rows are generated: 300 columns, float32, length 1, since plain
NumPy can do without lengths only then; pmeans takes them all the same. Contestants take turns, and
each answer is compared with the first one's.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from pmeans.encoder.postprocess import normalise_rows
from pmeans.search import ApproximateIndex, open_graph, open_index, top_k
from pmeans.serve.service import Service, Settings

DIM, K, ROUNDS = 300, 10, 3


def generated(n_rows: int, rank: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return rows of length 1: noise, or noise around a subspace, as embeddings have."""
    rows = rng.standard_normal((n_rows, DIM), dtype=np.float32)
    if rank:
        basis = rng.standard_normal((rank, DIM), dtype=np.float32)
        rows += rng.standard_normal((n_rows, rank), dtype=np.float32) @ basis
    normalise_rows(rows)
    return rows


def plain(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    scores = (rows @ queries[0])[None] if len(queries) == 1 else queries @ rows.T
    best = np.argpartition(scores, -K, axis=1)[:, -K:]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def shared(found: np.ndarray, expected: np.ndarray) -> float:
    """Return which part of the expected rows was found, on average."""
    pairs = zip(found.tolist(), expected.tolist(), strict=True)
    return statistics.mean(len({*a} & {*b}) / K for a, b in pairs)


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = run()
    return 1000 * (time.perf_counter() - begin), found


def exact(rng: np.random.Generator) -> None:
    print(
        "| rows | queries | program | ms, median | range | same rows |\n|--:|--:|:--|--:|:--|--:|"
    )
    for n_rows in (100_000, 1_000_000):
        rows = generated(n_rows, None, rng)
        brute = NearestNeighbors(n_neighbors=K, algorithm="brute", metric="cosine").fit(rows)
        for n_queries in (1, 100):
            queries = generated(n_queries, None, rng)
            programs: dict[str, Callable[[], np.ndarray]] = {
                "pmeans": lambda q=queries: top_k(q, rows, K)[0],  # noqa: B023 - used at once
                "NumPy": lambda q=queries: plain(q, rows),  # noqa: B023
                "scikit-learn": lambda q=queries: brute.kneighbors(q, return_distance=False),  # noqa: B023
            }
            times: dict[str, list[float]] = {name: [] for name in programs}
            same: dict[str, float] = {}
            expected = programs["pmeans"]()
            for _ in range(ROUNDS):
                for name, run in programs.items():
                    taken, found = timed(run)
                    times[name].append(taken)
                    same[name] = shared(found, expected)
            for name, taken in times.items():
                print(
                    f"| {n_rows:,} | {n_queries} | {name} | {statistics.median(taken):,.0f} "
                    f"| {min(taken):,.0f} to {max(taken):,.0f} | {same[name]:.1%} |"
                )
                sys.stdout.flush()


def approximate(rng: np.random.Generator) -> None:
    print("| rows | build, s | exact, ms a query | approximate, ms a query | recall of 10 |")
    print("|:--|--:|--:|--:|--:|")
    for name, rank in (("around 20 dimensions", 20), ("noise", None)):
        rows = generated(20_100, rank, rng)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "index.npy"
            np.save(path, rows[:-100])
            index = open_index(path)
            begin = time.perf_counter()
            graph = ApproximateIndex(index)
            build = time.perf_counter() - begin
            # One query at a time: many at once are what the exact search is best at.
            single = [rows[i : i + 1] for i in range(20_000, 20_100)]
            slow, expected = timed(
                lambda: np.concatenate([top_k(q, index.rows, K)[0] for q in single])  # noqa: B023
            )
            fast, found = timed(lambda: np.concatenate([graph.top_k(q, K)[0] for q in single]))  # noqa: B023
        print(
            f"| 20,000, {name} | {build:.1f} | {slow / len(single):.1f} | {fast / len(single):.1f} "
            f"| {shared(found, expected):.1%} |"
        )
        sys.stdout.flush()


def opening(folder: str, rng: np.random.Generator) -> None:
    """Measure how long an index in shards takes to open, and the texts of rows to be read."""
    print("| index | ms, median | range |\n|:--|--:|:--|")
    index = open_index(folder)
    n_rows, shards = index.rows.shape[0], len(list(Path(folder).glob("*.json")))
    hits = [rng.integers(0, n_rows, K).tolist() for _ in range(300)]
    programs: dict[str, Callable[[], object]] = {
        "open it": lambda: open_index(folder),
        "open its graphs": lambda: open_graph(index),
        "start the server's work, exact": lambda: Service(Settings(index=folder)),
        "start the server's work, by graphs": lambda: Service(
            Settings(index=folder, approximate=True)
        ),
        f"read the texts of {K} rows, drawn from all": lambda: index.texts_of(hits.pop()),
    }
    for name, run in programs.items():
        rounds = 200 if "texts" in name else ROUNDS
        taken = [timed(run)[0] for _ in range(rounds)]
        print(
            f"| {n_rows:,} rows in {shards} shards: {name} | {statistics.median(taken):,.0f} "
            f"| {min(taken):,.0f} to {max(taken):,.0f} |"
        )
        sys.stdout.flush()


rng = np.random.default_rng(0)
threads, load = os.environ.get("OMP_NUM_THREADS", "not set"), os.getloadavg()[0]
print(f"{os.cpu_count()} cores, OMP_NUM_THREADS {threads}, load {load:.1f} before.\n")
if len(sys.argv) > 1:
    opening(sys.argv[1], rng)
    sys.exit()
exact(rng)
print("\nThe approximate index, against the exact search:\n")
approximate(rng)
