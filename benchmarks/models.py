"""How fast models encode: any number of them, in turns, on the same sentences of one language.

    python benchmarks/models.py SENTENCES.txt LANG MODEL [MODEL ...]

A model is a folder or a name. Ratios to the first model are taken within a round, and shown are the
median and, in brackets, the smallest and the largest.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import pmeans
from pmeans import kernels

ROUNDS = 9


def main(path: str, lang: str, names: list[str]) -> None:
    """Print a line for each model."""
    sentences = Path(path).read_text(encoding="utf-8").splitlines()
    models = [pmeans.load(name) for name in names]
    rows = [np.empty((len(sentences), model.dim), np.float32) for model in models]
    times = np.empty((ROUNDS + 1, len(models)))
    for turn in times:
        for i, model in enumerate(models):
            began = time.perf_counter()
            model.encode(sentences, lang=lang, out=rows[i])
            turn[i] = time.perf_counter() - began
    times = times[1:]  # the first round touches the pages
    load = os.getloadavg()[0]
    print(f"{len(sentences):,} sentences, {os.cpu_count()} cores, load {load:.1f}, "
          f"{kernels.backend()} kernels")  # fmt: skip
    for i, (name, model) in enumerate(zip(names, models, strict=True)):
        speed = len(sentences) / statistics.median(times[:, i])
        ratios = times[:, 0] / times[:, i]
        print(
            f"{name}: {model.dim} columns, {speed:,.0f} sentences/s, "
            f"{np.median(ratios):.2f} ({ratios.min():.2f}–{ratios.max():.2f}) × the first"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
