"""What the exact protocols draw at random: how rows are divided, and a classifier's first weights.

All of it comes from NumPy's legacy generator, and its streams are frozen: the same seed gives the
same everywhere and for good. The folds are those of the paper's toolkit, the subsamples those of
its program. The weights are those that torch draws on the CPU after a given seed, bit for bit: its
generator is the same Mersenne Twister, seeded alike, so an evaluation needs no torch.
`tests/unit/evaluation/test_initial.py` holds the two equal.
"""

from __future__ import annotations

import math

import numpy as np

from pmeans.types import Array, Floats, Ids

Fold = tuple[Ids, Ids]
"""Training rows and test rows, ascending."""


def stratified_folds(labels: Array, k: int, seed: int) -> list[Fold]:
    """Cut rows into k folds that hold every class in equal shares.

    This is the rule of scikit-learn 0.19, which was current in January 2018: every class is
    shuffled by a fresh generator of the same seed and cut on its own. Later versions deal the
    classes out differently, so their folds are others. Labels are (n,).
    """
    fold_of = np.empty(len(labels), dtype=np.int32)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        order = np.random.RandomState(seed).permutation(max(len(rows), k))
        for fold, piece in enumerate(np.array_split(order, k)):
            fold_of[rows[piece[piece < len(rows)]]] = fold
    rows = np.arange(len(labels), dtype=np.int32)
    return [(rows[fold_of != fold], rows[fold_of == fold]) for fold in range(k)]


def subsample(n: int, seed: int) -> tuple[Ids, Ids, Ids]:
    """Draw training, development and test rows: 60, 20 and 20 per cent of one permutation.

    Returns:
        Training rows (the last 60 per cent of the permutation), development rows (the first 20),
        test rows (the next 20), each in the order of the permutation.
    """
    order = np.random.RandomState(seed).permutation(n).astype(np.int32)
    fifth = int(0.2 * n)
    return order[2 * fifth :], order[:fifth], order[fifth : 2 * fifth]


def held_out(n: int, share: float, seed: int) -> tuple[Ids, Ids]:
    """Set a random share of n rows aside: returns the other rows and them, as permuted."""
    order = np.random.RandomState(seed).permutation(n).astype(np.int32)
    size = int(share * n)
    return order[size:], order[:size]


def linear(seed: int, n_classes: int, dim: int) -> tuple[Floats, Floats]:
    """Return what ``torch.manual_seed(seed); torch.nn.Linear(dim, n_classes)`` starts with.

    Returns:
        Weights (n_classes, dim) and bias (n_classes,), uniform within 1 / sqrt(dim) of zero.
    """
    generator = np.random.RandomState(seed)
    # Kaiming's bound with a = sqrt(5), in torch's own order: 1 / sqrt(dim) but for a last bit.
    gain = math.sqrt(2 / (1 + math.sqrt(5) ** 2))
    weights = _uniform(generator, math.sqrt(3) * (gain / math.sqrt(dim)), n_classes * dim)
    bias = _uniform(generator, 1 / math.sqrt(dim), n_classes)
    return weights.reshape(n_classes, dim), bias


def glorot(seed: int, n_classes: int, dim: int) -> Floats:
    """Return what ``torch.nn.init.xavier_uniform_`` gives after ``torch.manual_seed(seed)``.

    Returns:
        Weights (n_classes, dim), uniform within sqrt(6 / (n_classes + dim)) of zero.
    """
    bound = math.sqrt(3) * math.sqrt(2 / (n_classes + dim))
    return _uniform(np.random.RandomState(seed), bound, n_classes * dim).reshape(n_classes, dim)


def _uniform(generator: np.random.RandomState, bound: float, n: int) -> Floats:
    """Draw n numbers from [-bound, bound) as torch does, (n,)."""
    low, high = np.float32(-bound), np.float32(bound)
    draws = generator.randint(0, 1 << 32, size=n, dtype=np.uint32)
    # ROUNDING. The lower 24 bits of a draw are a fraction u, and torch computes u * (high - low)
    # + low in float32 with a fused multiply-add: rounded once (not so on a processor without
    # one). The sum needs at most 48 bits, so in float64 it is exact, and rounded once as well.
    fractions = (draws & np.uint32((1 << 24) - 1)) * 2.0**-24
    return (fractions * np.float64(high - low) + np.float64(low)).astype(np.float32)
