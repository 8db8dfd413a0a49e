"""First weights of a classifier: torch's, bit for bit, without torch.

Both exact protocols start from the weights that torch draws on the CPU after a given seed. Its
generator is the Mersenne Twister of `numpy.random.RandomState`, seeded alike, so NumPy can draw
the same numbers, and an evaluation needs no torch. `tests/unit/evaluation/test_initial.py` holds
the two equal.
"""

from __future__ import annotations

import math

import numpy as np

from pmeans.types import Floats


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
