"""Attract-Repel on 30,000 words and 150,000 pairs: seconds, memory, and the ratio to a plain loop.

    python benchmarks/attract_repel.py

Vectors and pairs are random, which is the hardest case: hardly any pair ever satisfies its margin.
The loop follows the paper's formulas word by word, one dot product at a time, on a few batches; it
takes the same steps, and the vectors of both are compared.
"""

from __future__ import annotations

import resource
import time

import numpy as np

from pmeans.spaces.space import WordSpace
from pmeans.training.attract_repel import AttractRepel, _Learning, clean

N_WORDS, DIM, N_ATTRACT, N_REPEL, LOOP_BATCHES = 30_000, 300, 140_000, 10_000, 10


def naive_step(vectors, accounts, batch, how):
    """Take one attract step as one would write it down."""
    words = sorted(set(batch.ravel().tolist()))
    lengths = {w: np.sqrt(vectors[w] @ vectors[w]) for w in words}
    unit = {w: vectors[w] / lengths[w] for w in words}
    gradient = {w: np.zeros(vectors.shape[1], dtype=np.float32) for w in words}
    for pair in batch.tolist():
        for word, partner in (pair, pair[::-1]):
            others = [t for t in words if t not in pair]
            negative = max(others, key=lambda t: unit[word] @ unit[t])
            near, far = unit[word] @ unit[partner], unit[word] @ unit[negative]
            if how.attract_margin + far - near > 0:
                gradient[word] += unit[negative] - unit[partner]
                gradient[negative] += unit[word]
                gradient[partner] -= unit[word]
    for w in words:
        slope = (gradient[w] - (gradient[w] @ unit[w]) * unit[w]) / lengths[w]
        accounts[w] += slope**2
        vectors[w] -= how.rate * slope / np.sqrt(accounts[w])


def ratio(vectors, pairs, how):
    """Return seconds a batch of the loop and of the trainer, over the same batches."""
    batches = [pairs[i * how.batch : (i + 1) * how.batch] for i in range(LOOP_BATCHES)]
    slow, fast = vectors.copy(), vectors.copy()
    accounts = np.full_like(slow, 0.1)
    learning = _Learning(vectors, fast, [np.full_like(fast, 0.1), accounts.copy()], how)
    begin = time.perf_counter()
    for batch in batches:
        naive_step(slow, accounts, batch, how)
    middle = time.perf_counter()
    for batch in batches:
        learning.step(0, batch)
    end = time.perf_counter()
    np.testing.assert_allclose(fast, slow, atol=1e-4)  # single precision, added in another order
    return (middle - begin) / LOOP_BATCHES, (end - middle) / LOOP_BATCHES


def main() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(N_WORDS, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = {"en": [f"w{i}" for i in range(N_WORDS)]}
    attract, repel = (rng.integers(N_WORDS, size=(n, 2)) for n in (N_ATTRACT, N_REPEL))
    constraints = clean(N_WORDS, attract, repel, np.empty((0, 2), dtype=np.int64))
    how = AttractRepel(name="new", space="", attract=())

    space = WordSpace.from_words("random", words, vectors)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    how.specialise(space, constraints, lambda *_: None, None)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{N_WORDS:,} words, {constraints}, {how.epochs} epochs: {seconds:.1f} s, "
        f"peak memory {peak / 1024:.0f} MB ({before / 1024:.0f} MB of it before training)"
    )

    loop, ours = ratio(vectors, rng.permutation(constraints.attract), how)
    print(
        f"a batch of {how.batch}: loop {1e3 * loop:.1f} ms, trainer {1e3 * ours:.2f} ms, "
        f"ratio {loop / ours:.0f}"
    )


if __name__ == "__main__":
    main()
