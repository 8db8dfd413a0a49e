"""What phrases cost: the same space with and without, on the same sentences.

    python benchmarks/phrases.py SENTENCES.txt [PHRASES]

The space has every word of the text, and the phrases that occur most, 40,000 if not said. Both
ways take turns, block by block. The quickest of all turns counts for each block, as other work on
the machine only ever adds. Phrases of the text itself are the worst case: more are met than in
text that they were not chosen from.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from pmeans import kernels
from pmeans.kernels import Splitting, index, split

ROUNDS, BLOCK, DIM = 25, 2000, 256


def main(path: str, n_phrases: int) -> None:
    """Print the times of one thread."""
    sentences = Path(path).read_text(encoding="utf-8").splitlines()
    way = Splitting.WORDS_ENGLISH
    words: Counter[str] = Counter()
    phrases: Counter[str] = Counter()
    for sentence in sentences:
        tokens = [token.lower() for token in split(sentence, way)]
        words.update(tokens)
        for n in (2, 3):
            runs = zip(*(tokens[k:] for k in range(n)), strict=False)
            phrases.update(" ".join(run) for run in runs if all(map(str.isalpha, run)))
    entries = [*words, *(phrase for phrase, _ in phrases.most_common(n_phrases))]
    table = index.word_table(entries, phrases=True)
    tables = {"word by word": replace(table, phrases=None), "with phrases": table}
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((len(entries), DIM)).astype(np.float16)
    blocks = [sentences[i : i + BLOCK] for i in range(0, len(sentences), BLOCK)]
    times = np.full((len(tables), len(blocks), 2), np.inf)
    met = 0.0
    for _ in range(ROUNDS):
        for b, block in enumerate(blocks):
            for t, each in enumerate(tables.values()):
                began = time.perf_counter()
                (batch,) = kernels.lookup(block, [(each, "lower", -1)], way, 1)
                found = time.perf_counter()
                kernels.power_means(matrix, batch, [1.0], n_threads=1)
                both = found - began, time.perf_counter() - began
                times[t, b] = np.minimum(times[t, b], both)
                met = float((batch.ids >= len(words)).mean())
    totals = times.sum(axis=1)
    print(f"{len(sentences):,} sentences, {len(words):,} words, {n_phrases:,} phrases")
    print(f"{met:.0%} of the last block's entries are phrases; {kernels.backend()}, 1 thread")
    for name, (found, both) in zip(tables, totals, strict=True):
        print(f"{name}: look-up {found * 1e3:.1f} ms, look-up and mean {both * 1e3:.1f} ms")
    more = totals[1] / totals[0] - 1
    print(f"phrases cost {more[0]:+.1%} of the look-up, {more[1]:+.1%} with the mean of {DIM}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40_000)
