"""A fresh process: how long until the version is printed, until the first vector is there."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from arena import Section, at_most, shown
from corpus import Corpus

FIRST_VECTOR = """
import sys
from pmeans import Part, PowerMeanEncoder, Recipe, open_space
encoder = PowerMeanEncoder(Recipe((Part("0"),)), {"0": open_space(sys.argv[1])})
assert encoder.encode("the first sentence").shape == (900,)
"""


def cold_start(corpus: Corpus, n_runs: int) -> list[Section]:
    command = Path(sys.executable).with_name("pmeans")
    starts = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import pmeans": [sys.executable, "-c", "import pmeans"],
        "pmeans --version": [str(command), "--version"],
        "import, open a space, first vector": [
            sys.executable, "-c", FIRST_VECTOR, str(corpus.store(0)),
        ],
    }  # fmt: skip
    times: dict[str, list[float]] = {name: [] for name in starts}
    failed: dict[str, str] = {}
    for i in range(n_runs + 1):
        for name, arguments in starts.items():
            begin = time.perf_counter()
            done = subprocess.run(arguments, capture_output=True, text=True)
            if done.returncode:
                failed[name] = (done.stderr.strip().splitlines() or ["no message"])[-1]
            elif i:  # the first run reads everything from the disk
                times[name].append(time.perf_counter() - begin)
    rows = [
        [name, "failed: " + failed[name] if name in failed else shown(given, "{:.3f}")]
        for name, given in times.items()
    ]
    *_, version, vector = times.values()
    return [
        Section(
            "Cold start", f"Fresh processes, {n_runs} of each in turn, from the page cache.",
            ["what", "seconds"], rows, times,
            [
                at_most("`pmeans --version` in a fresh process", 0.3, version),
                at_most("first vector in a fresh process", 1, vector),
            ],
        )
    ]  # fmt: skip
