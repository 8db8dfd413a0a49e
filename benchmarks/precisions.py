"""What fewer bits cost: the same space in every precision, on the same sentences.

    python benchmarks/precisions.py [SPACE]

Encodes sentences of made-up words, 60,000 with 256 columns each, by two threads. The precisions
take turns. Shown are medians, the quickest and the slowest turn, and the median ratio to int8 of
the same round. With the file of a SPACE, its rows are rounded as well, and compared with what they
were.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import get_args

import numpy as np

from pmeans import kernels
from pmeans.choices import Precision
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.spaces.edit import quantise
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space
from pmeans.tensors import decoded, quantised

ROUNDS, WORDS, DIM, SENTENCES, LENGTH, THREADS = 25, 60_000, 256, 20_000, 18, 2


def speed() -> None:
    """Print how long it takes to encode."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(WORDS)]
    rows = rng.standard_normal((WORDS, DIM)).astype(np.float32)
    full = WordSpace.from_words("words", {"en": words}, rows)
    # Half of running text is of few words, as in any language.
    ids = (WORDS ** rng.random(size=(SENTENCES, LENGTH))).astype(int) - 1
    sentences = [" ".join(words[i] for i in line) for line in ids]
    spaces = {name: quantise(full, name) for name in get_args(Precision)}
    print(f"{SENTENCES:,} sentences of {LENGTH} words, {kernels.backend()}, {THREADS} threads")
    for powers in ([1.0], [-np.inf, 1.0, np.inf]):
        recipe = Recipe((Part("words", tuple(powers)),), tokenizer="whitespace", znorm="none")
        encoders = {name: PowerMeanEncoder(recipe, {"words": s}) for name, s in spaces.items()}
        taken: dict[str, list[float]] = {name: [] for name in spaces}
        for _ in range(ROUNDS + 1):  # the first does not count
            for name, encoder in encoders.items():
                began = time.perf_counter()
                encoder.encode(sentences, lang="en", n_threads=THREADS)
                taken[name].append(time.perf_counter() - began)
        for name, times in taken.items():
            counted = [1e3 * seconds for seconds in times[1:]]
            ratio = statistics.median(np.divide(times[1:], taken["int8"][1:]).tolist())
            print(
                f"{powers} {name}: {statistics.median(counted):.1f} ms "
                f"({min(counted):.1f} to {max(counted):.1f}), {ratio:.2f} of int8"
            )


def loss(path: str) -> None:
    """Print the cosines between the rows of a space and what is left of them."""
    rows = open_space(path).rows(slice(None))
    rows = rows[np.abs(rows).max(axis=1) > 0]
    for name in get_args(Precision):
        rounded = decoded(*quantised(rows, None, name, str))
        lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(rounded, axis=1)
        cosines = (rows * rounded).sum(axis=1) / lengths
        print(f"{name}: mean cosine {cosines.mean():.5f}, least {cosines.min():.5f}")


if __name__ == "__main__":
    speed()
    if len(sys.argv) > 1:
        loss(sys.argv[1])
