"""Peak memory of a fresh process that opens its vectors and encodes 100,000 sentences."""

from __future__ import annotations

from arena import Section, Worker
from contestants import AUTHORS, FRESH, FSE, M2V, NUMPY
from corpus import Corpus

CASES = [(1, FRESH), (1, M2V), (1, FSE), (1, NUMPY), (1, AUTHORS), (4, FRESH)]


def peak(corpus: Corpus) -> list[Section]:
    rows, raw = [], {}
    for n_spaces, name in CASES:
        worker = Worker(corpus, n_spaces, name)
        if worker.missing:
            rows.append([name, str(n_spaces), f"not installed: {worker.missing}", "–"])
            continue
        used = raw[f"{name}, {n_spaces}"] = worker.ask("stream")
        worker.close()
        rows.append([name, str(n_spaces), f"{used['peak']:.0f}", f"{used['mapped']:.0f}"])
    method = (
        "Each in a fresh process, in blocks of 4,096 sentences whose rows are dropped. Pages of "
        "mapped files are counted in the peak although they are shared between processes and "
        "given back when memory is short; the last column says how many they were at the end."
    )
    header = ["contestant", "spaces", "peak, MB", "of which mapped files, MB"]
    return [Section("Peak memory", method, header, rows, raw)]
