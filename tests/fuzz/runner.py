"""Runs targets in worker processes: counts outcomes, and puts a crash down to its input.

A worker keeps the number of its current input and its counts in shared memory, which outlives
it. Its memory is limited, so that an allocation without bounds fails; an alarm ends it when an
input takes too long; warnings and files left open count as errors.
"""

import faulthandler
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from typing import Any

from pmeans.errors import PmeansError

Target = Callable[[Random, Path], None]
OUTCOMES = ("results", "refusals", "findings")
PATIENCE = 10
"""Seconds that an input may take, on a machine that has other things to do as well."""

MEMORY = 512 << 20
"""Bytes that a worker may take beyond what it starts with."""


_FEW_THREADS = {
    "ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
}  # fmt: skip
"""For workers: a thread reserves much more memory than it takes, and what is reserved counts."""


def run(
    targets: Mapping[str, Target], seed: int, n: int, n_workers: int, patience: int = PATIENCE
) -> tuple[str, int]:
    """Run inputs 0 to n - 1, and return a line of counts and the number of findings."""
    began = time.monotonic()
    processes = multiprocessing.get_context("spawn")
    os.environ.update(_FEW_THREADS)
    counts = [processes.RawArray("q", 1 + 3 * len(targets)) for _ in range(n_workers)]
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:

        def start(w: int, first: int) -> Any:
            numbers = range(first, n, n_workers)
            arguments = (targets, seed, numbers, counts[w], Path(folder) / str(w), patience)
            process = processes.Process(target=_work, args=arguments, daemon=True)
            process.start()
            return process

        workers = {w: start(w, w) for w in range(n_workers)}
        while workers:
            wait([worker.sentinel for worker in workers.values()])
            for w, worker in list(workers.items()):
                if worker.is_alive():
                    continue
                worker.join()
                del workers[w]
                if worker.exitcode != 0:
                    i = counts[w][0]
                    counts[w][_place(i, len(targets), "findings")] += 1
                    _print_finding(targets, seed, i, _cause_of_death(worker.exitcode, patience))
                    workers[w] = start(w, i + n_workers)
    totals = [sum(column) for column in zip(*counts, strict=True)]
    return _summary(targets, totals, seed, n, time.monotonic() - began)


def run_one(targets: Mapping[str, Target], seed: int, i: int, folder: Path) -> str:
    """Run input i, and return ``"results"`` or ``"refusals"``; anything else is raised."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        list(targets.values())[i % len(targets)](Random(f"{seed} {i}"), folder)
    except PmeansError:
        return "refusals"
    return "results"


def _work(
    targets: Mapping[str, Target],
    seed: int,
    numbers: range,
    counts: Any,
    folder: Path,
    patience: int,
) -> None:
    _be_strict()
    left_open: list[Any] = []
    sys.unraisablehook = left_open.append
    seen: set[tuple[str, str]] = set()
    for i in numbers:
        counts[0] = i
        signal.alarm(patience)
        try:
            outcome = run_one(targets, seed, i, folder)
            if left_open:
                raise left_open.pop().exc_value
        except Exception as error:
            outcome = "findings"
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind = (type(error).__name__, f"{place.filename}:{place.lineno}")
            if kind not in seen:
                seen.add(kind)
                shown = traceback.format_exception(error, limit=-8)
                _print_finding(targets, seed, i, "".join(shown).strip())
        counts[_place(i, len(targets), outcome)] += 1
    signal.alarm(0)


def _be_strict() -> None:
    warnings.simplefilter("error")
    faulthandler.enable()
    faulthandler.register(signal.SIGALRM, chain=True)  # shows where it hangs, then ends it
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which maps terabytes, and uses few
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def _place(i: int, n_targets: int, outcome: str) -> int:
    return 1 + 3 * (i % n_targets) + OUTCOMES.index(outcome)


def _fast_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _cause_of_death(code: int, patience: int) -> str:
    if code == -signal.SIGALRM:
        return f"hangs: no result after {patience} seconds"
    return f"crashes: {signal.Signals(-code).name}" if code < 0 else f"ends the process with {code}"


def _print_finding(targets: Mapping[str, Target], seed: int, i: int, what: str) -> None:
    name = list(targets)[i % len(targets)]
    kind = "fuzz-serve" if name == "serve" else "fuzz"
    replay = f"make {kind} SEED={seed} ONLY={i}"
    print(f"\n{what}\nFINDING: input {i} ({name}); replay: {replay}", file=sys.stderr, flush=True)


def _summary(
    targets: Mapping[str, Target], totals: list[int], seed: int, n: int, seconds: float
) -> tuple[str, int]:
    shown = []
    for t, name in enumerate(targets):
        outcomes = zip(OUTCOMES, totals[1 + 3 * t : 4 + 3 * t], strict=True)
        told = " + ".join(f"{count} {outcome}" for outcome, count in outcomes if count)
        shown.append(f"{name} {told}")
    findings = sum(totals[3::3])
    line = f"{n} inputs, seed {seed}: {'; '.join(shown)}. {findings} findings, {seconds:.0f} s."
    return line, findings
