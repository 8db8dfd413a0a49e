"""All benchmarks, one after another: `make bench`, or `make bench BENCH=--quick` to try them.

The full run takes about ten minutes, 5 GB of disk in `build/bench` and 8 GB of memory, and
leaves `results.md` and `results.json` beside this file; a quick one writes to `build/bench`,
and shows that everything works rather than how fast it is.

    corpus.py       the text and the vectors
    contestants.py  what is measured                  worker.py   a contestant's process
    floor.py        what the memory alone would take  arena.py    rounds and ratios
    encode.py loading.py coldstart.py memory.py       the subjects
    report.py       the tables
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import corpus
import report
from arena import Section
from coldstart import cold_start
from contestants import HERE
from encode import everyday, four_spaces, one_space, real_text
from loading import loading
from memory import peak

SUBJECTS = ("everyday", "one-space", "four-spaces", "real", "loading", "cold-start", "memory")
NEEDED = {"everyday": "parallel/en-de.tsv.gz", "real": "tasks/senteval"}
"""What a subject needs of the data."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure pmeans against its peers.")
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute")
    parser.add_argument("--only", nargs="+", choices=SUBJECTS, help="some subjects only")
    options = parser.parse_args()
    n_words, n_sentences, n_rounds = (20_000, 2000, 2) if options.quick else (400_000, 40_000, 5)
    work = HERE.parent / "build" / "bench"
    work.mkdir(parents=True, exist_ok=True)
    about = report.machine()

    print("making the corpus", file=sys.stderr)
    made = corpus.synthetic(work / "synthetic", n_words, n_sentences)
    data = Path(os.environ.get("PMEANS_DATA", HERE.parents[1] / "shared" / "data"))
    subjects: dict[str, Callable[[], list[Section]]] = {
        "everyday": lambda: everyday(corpus.german(work / "german", data, n_sentences), n_rounds),
        "one-space": lambda: one_space(made, n_rounds),
        "four-spaces": lambda: four_spaces(made, n_rounds),
        "real": lambda: real_text(corpus.real(work / "real", data, n_sentences), min(n_rounds, 3)),
        "loading": lambda: loading(work, n_words, n_words // 20, min(n_rounds, 3)),
        "cold-start": lambda: cold_start(made, 3 if options.quick else 10),
        "memory": lambda: peak(made),
    }
    sections = []
    for name in options.only or SUBJECTS:
        needed = data / NEEDED.get(name, "")
        if name in NEEDED and not needed.exists():
            print(f"no {name}: there is no {needed} (set PMEANS_DATA)", file=sys.stderr)
            continue
        begin = time.perf_counter()
        print(name, file=sys.stderr)
        sections += subjects[name]()
        print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    partly = options.quick or options.only
    folder, stem = (work, "partial") if partly else (HERE, "results")
    report.write(folder, stem, about, sections)
    print(report.rendered(about, sections))


if __name__ == "__main__":
    main()
