"""The paper's map of word spaces, f(x) = tanh(xW + b), and the step that trains it.

Sentences s and t mean the same, u is any sentence of t's language. With r = f(x) of each the loss
is max(0, 0.5 - cos(r_s, r_t) + cos(r_s, r_u)). Its gradient is five lines, so plain NumPy does it;
`tests/unit/training/test_projection.py` holds it against finite differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from pmeans.types import Floats

Dropout = Literal["input", "output"]

MARGIN = 0.5
BIAS = 0.1
RATE = 1e-3
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
_TINY = 1e-12
_ROWS = 2048


@dataclass
class TanhMap:
    """One language's map, and what Adam remembers of it: arrays of (dim_in + 1, dim_out)."""

    weights: Floats  # W with b below it
    mean: Floats  # running mean of the gradient
    square: Floats  # running mean of its square
    steps: int = 0

    @classmethod
    def glorot(cls, dim_in: int, dim_out: int, rng: Generator) -> TanhMap:
        """Draw W as Glorot does, evenly between ∓sqrt(6 / (dim_in + dim_out)); b is 0.1."""
        bound = math.sqrt(6 / (dim_in + dim_out))
        weights = np.full((dim_in + 1, dim_out), BIAS, dtype=np.float32)
        weights[:-1] = rng.uniform(-bound, bound, (dim_in, dim_out))
        return cls(weights, np.zeros_like(weights), np.zeros_like(weights))

    def step(self, gradient: Floats) -> None:
        """Move the weights down a gradient of their shape, as Adam does."""
        self.steps += 1
        self.mean += (1 - _BETA1) * (gradient - self.mean)
        self.square += (1 - _BETA2) * (gradient * gradient - self.square)
        rate = RATE * math.sqrt(1 - _BETA2**self.steps) / (1 - _BETA1**self.steps)
        self.weights -= rate * self.mean / (np.sqrt(self.square) + _EPSILON)


def apply(weights: Floats, x: Floats) -> Floats:
    """Map rows, (n, dim_in) to (n, dim_out)."""
    return np.tanh(x @ weights[:-1] + weights[-1])


def gradients(
    first: Floats, second: Floats, s: Floats, t: Floats, u: Floats, dropout: Dropout, rng: Generator
) -> tuple[float, Floats, Floats]:
    """Return the mean loss of a batch, and its gradients in the two languages' weights.

    Args:
        first: Weights of the language of s, (dim_first + 1, dim_out).
        second: Weights of the language of t and u, (dim_second + 1, dim_out).
        s: Sentences, (n, dim_first).
        t: Their translations, (n, dim_second).
        u: Any sentences, (n, dim_second).
        dropout: ``"input"`` sets half the dimensions of every input to zero, as the paper's text
            says; ``"output"`` half the dimensions of r, the same of r_s, r_t and r_u, as its
            program does.
        rng: Draws these halves.
    """
    n = len(s)
    tu = np.concatenate([t, u])
    if dropout == "input":
        s, tu = (2 * x * _coins(x.shape, rng) for x in (s, tu))
    y_s, y_tu = apply(first, s), apply(second, tu)
    # What is kept needs no doubling: a cosine does not ask for the length.
    kept = _coins((n, len(first[0])), rng) if dropout == "output" else np.ones((1, 1), np.float32)
    unit_s, length_s = _unit(y_s * kept)
    unit_t, length_t = _unit(y_tu[:n] * kept)
    unit_u, length_u = _unit(y_tu[n:] * kept)
    cos_t, cos_u = _rowwise(unit_s, unit_t), _rowwise(unit_s, unit_u)
    loss = np.maximum(MARGIN - cos_t + cos_u, 0)
    active = (loss > 0) / np.float32(n) * kept
    # The derivative of cos(a, b) in a is (b/|b| - cos(a, b) a/|a|) / |a|.
    d_s = active * (unit_u - unit_t - (cos_u - cos_t) * unit_s) / length_s
    d_t = active * (cos_t * unit_t - unit_s) / length_t
    d_u = active * (unit_s - cos_u * unit_u) / length_u
    d_tu = np.concatenate([d_t, d_u])
    return float(loss.mean()), _backward(s, y_s, d_s), _backward(tu, y_tu, d_tu)


def _coins(shape: tuple[int, ...], rng: Generator) -> Floats:
    return rng.integers(0, 2, shape, dtype=np.bool_).astype(np.float32)


def _unit(x: Floats) -> tuple[Floats, Floats]:
    length: Floats = np.maximum(np.sqrt(_rowwise(x, x)), np.float32(_TINY))
    return x / length, length


def _rowwise(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, b)[:, None]


def _backward(x: Floats, y: Floats, d_y: Floats) -> Floats:
    d_z = d_y * (1 - y * y)
    return np.concatenate([x.T @ d_z, d_z.sum(axis=0, keepdims=True)])
