"""Print how fast a model encodes the sentences on standard input, and the memory that takes.

    python studies/encoding_cost.py MODEL LANG THREADS < SENTENCES

A program of its own, so that the memory is that of a process which encodes and does nothing else.
All sentences are encoded again and again for at least half a second; that is a run. The first one
is not counted. Printed are, as JSON, the sentences per second of each run, and the largest memory
that the process held, in MB; pages of mapped files are in it.
"""

import json
import re
import sys
import time
from pathlib import Path

import pmeans

RUNS, SHORTEST = 9, 0.5


def main(model: str, lang: str, threads: str) -> None:
    """Encode, and print."""
    sentences = sys.stdin.read().splitlines()
    encoder = pmeans.load(model)
    speeds = []
    for _ in range(1 + RUNS):
        passes, begin = 0, time.perf_counter()
        while (seconds := time.perf_counter() - begin) < SHORTEST:
            encoder.encode(sentences, lang=lang, n_threads=int(threads))
            passes += 1
        speeds.append(passes * len(sentences) / seconds)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6
    print(json.dumps({"speeds": speeds[1:], "peak_mb": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
