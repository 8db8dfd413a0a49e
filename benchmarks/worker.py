"""One contestant in a process of its own, which works when it is told to.

    python worker.py FOLDER N_SPACES NAME

Orders come in on standard input, one word a line; answers go out on standard output, one JSON
object a line. A process each keeps the contestants out of each other's way (thread pools,
environment variables, memory), and lets one of them live in another virtual environment; that
only one of them works at a time is up to `arena.py`.

    corpus   encode all sentences, and again until 0.3 s have passed -> seconds per pass, and
             seconds of processor time, of all threads together
    single   encode one sentence at a time, 300 of them -> seconds of the median and of the 99th
    stream   encode 100,000 sentences in blocks of 4,096, dropping the rows -> peak memory
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from contestants import CONTESTANTS, Encode
from corpus import Corpus

CHECKED, SINGLE, STREAMED, BLOCK = 200, 300, 100_000, 4096
SHORTEST = 0.3


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to standard error

    def answer(**content: Any) -> None:
        print(json.dumps(content), file=answers, flush=True)

    folder, n_spaces, name = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    corpus = Corpus(folder)
    try:
        encode = CONTESTANTS[name](corpus, n_spaces)
        rows = encode(corpus.sentences(CHECKED))
    except (ImportError, FileNotFoundError, subprocess.CalledProcessError) as error:
        answer(missing=f"{type(error).__name__}: {error}")
        return
    answer(shape=list(rows.shape), note=getattr(encode, "note", ""), rows=checked(rows, name))
    sentences: list[str] = []
    for order in map(str.strip, sys.stdin):
        if order == "stream":
            answer(**stream(encode, corpus))
            continue
        sentences = sentences or corpus.sentences()
        answer(**(pass_over(encode, sentences) if order == "corpus" else singly(encode, sentences)))


def checked(rows: Any, name: str) -> list[list[float]]:
    """Refuse rows that cannot be sentence vectors; return the first for comparison."""
    dense = np.asarray(rows[:20].todense() if hasattr(rows, "todense") else rows[:20])
    if rows.shape[0] != CHECKED or rows.dtype != np.float32 or not np.isfinite(dense).all():
        raise SystemExit(f"{name}: implausible rows: {rows.shape} {rows.dtype}")
    return [] if hasattr(rows, "todense") else dense.tolist()


def pass_over(encode: Encode, sentences: list[str]) -> dict[str, float]:
    passes, begin, worked = 0, time.perf_counter(), time.process_time()
    while (seconds := time.perf_counter() - begin) < SHORTEST:
        encode(sentences)
        passes += 1
    return {"seconds": seconds / passes, "cpu": (time.process_time() - worked) / passes}


def singly(encode: Encode, sentences: list[str]) -> dict[str, float]:
    times = []
    for sentence in sentences[:SINGLE]:
        begin = time.perf_counter()
        encode(sentence)
        times.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(times), "p99": sorted(times)[int(0.99 * len(times))]}


def stream(encode: Encode, corpus: Corpus) -> dict[str, float]:
    endless = itertools.chain.from_iterable(corpus.lines() for _ in itertools.count())
    lines = itertools.islice(endless, STREAMED)
    while block := list(itertools.islice(lines, BLOCK)):
        encode(block)
    return memory()


def memory() -> dict[str, float]:
    """Return the peak of resident memory, and how much of it mapped files hold now, in MB.

    `ru_maxrss` is no use where it can be avoided: a new process begins with its parent's peak.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:  # not on Linux
        return {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "mapped": 0.0}
    fields = dict(line.split(":", 1) for line in lines)
    peak, mapped = (float(fields[key].split()[0]) / 1024 for key in ("VmHWM", "RssFile"))
    return {"peak": peak, "mapped": mapped}


if __name__ == "__main__":
    main()
