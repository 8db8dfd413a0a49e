"""Print how fast a model encodes the sentences on standard input, and the memory that takes.

    python studies/encoding_cost.py MODEL LANG THREADS < SENTENCES

A program of its own, so that the memory is that of a process which encodes and does nothing else.
All sentences are encoded once, and then again and again for at least half a second, which is timed.
Printed are, as JSON, sentences per second, microseconds of processor time for a sentence, of all
threads together, and the most memory that the process held, in MB; pages of mapped files count.
"""

import json
import re
import sys
import time
from pathlib import Path

import pmeans

SHORTEST = 0.5


def main(model: str, lang: str, threads: str) -> None:
    """Encode, and print."""
    sentences = sys.stdin.read().splitlines()
    encoder = pmeans.load(model)
    encoder.encode(sentences, lang=lang, n_threads=int(threads))
    n, begin, worked = 0, time.perf_counter(), time.process_time()
    while (seconds := time.perf_counter() - begin) < SHORTEST:
        encoder.encode(sentences, lang=lang, n_threads=int(threads))
        n += len(sentences)
    processor = time.process_time() - worked
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6
    print(json.dumps({"speed": n / seconds, "cpu_us": 1e6 * processor / n, "peak_mb": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
