"""The paper's formulas in plain NumPy: the oracle, never optimised.

Everything that computes a power mean or maps a row elsewhere is held to this file by
`tests/property/test_power_mean.py` and `tests/property/test_map_rows.py`. The conventions are
registered in `docs/numerics.md`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pmeans.types import Array, Floats, Power, Root

Doubles = npt.NDArray[np.float64]
LARGEST = np.finfo(np.float32).max
WHOLE = 32767
"""The largest whole number that a row is rounded to: 15 bits and a sign."""


def power_mean(rows: Array, p: Power, root: Root = "signed") -> Doubles:
    """Return the power mean of every column.

    Args:
        rows: Word vectors of one sentence, (n_words, dim).
        p: The exponent; ``inf`` is max, ``-inf`` is min, 0 is the geometric mean. With the root
            ``"shifted"`` at least 1 in magnitude, and perhaps one for each column, (dim,).
        root: What a negative number's power and root are, see below.

    Returns:
        (dim,) float64. Zeros if there is no word.
    """
    x = np.asarray(rows, dtype=np.float64)
    if len(x) == 0:
        return np.zeros(x.shape[1])
    if root == "shifted":
        return _shifted(x, np.asarray(p, dtype=np.float64))
    if isinstance(p, tuple):
        raise TypeError(f"one power per column needs the root 'shifted', not {root!r}.")
    if p == np.inf:
        return np.asarray(x.max(axis=0))
    if p == -np.inf:
        return np.asarray(x.min(axis=0))
    if p == 1:
        return np.asarray(x.mean(axis=0))
    # SCALE. A power mean is homogeneous, M(s x) = s M(x) for s > 0. Dividing by the largest
    # magnitude (the smallest, below p = 0) keeps every power within [0, 1], so that no p
    # overflows. All-zero columns are divided by 1.
    magnitude = np.abs(x).max(axis=0) if p > 0 else np.abs(x).min(axis=0)
    scale = np.where(magnitude > 0, magnitude, 1.0)
    mean = _principal if root == "principal" else _signed
    with np.errstate(over="ignore"):  # below p = 0, a mean near 0 has a root beyond float64
        result = scale * mean(x / scale, p)
    # ZERO. As one word's value goes to 0, the mean for p <= 0 goes to 0: take the limit.
    return result if p > 0 else np.where(magnitude > 0, result, 0.0)


def _signed(x: Doubles, p: float) -> Doubles:
    # SIGNED. sign(x)|x|^p is x^p for odd p and is defined for fractions too; even powers lose
    # the sign, as always. The root undoes the same: sign(m)|m|^(1/p).
    if p == 0:
        # The limit of the above as p falls to 0: the geometric mean where all signs agree,
        # else 0, because |mean of signs| < 1 is raised to an ever larger power.
        agree = (x > 0).all(axis=0) | (x < 0).all(axis=0)
        logs = np.log(np.abs(x), where=x != 0, out=np.zeros_like(x)).mean(axis=0)
        return np.where(agree, np.sign(x[0]) * np.exp(logs), 0.0)
    powers = np.power(np.abs(x), p, where=x != 0, out=np.zeros_like(x))
    m = (powers if p % 2 == 0 else np.sign(x) * powers).mean(axis=0)
    return np.sign(m) * np.power(np.abs(m), 1 / p, where=m != 0, out=np.zeros_like(m))


def _principal(x: Doubles, p: float) -> Doubles:
    # ROOT. A mean of odd powers can be negative, and its p-th root is then complex. The authors'
    # program keeps the real part of the principal root, |m|^(1/p) cos(pi/p): at p = 3 that is
    # +0.5 |m|^(1/3), not the -|m|^(1/3) one expects. Scores depend on it.
    z = x.astype(np.complex128)
    nonzero = x != 0
    if p == 0:
        return np.exp(np.log(z, where=nonzero, out=np.zeros_like(z)).mean(axis=0)).real
    m = np.power(z, p, where=nonzero, out=np.zeros_like(z)).mean(axis=0)
    size = np.power(np.abs(m), 1 / p, where=m != 0, out=np.zeros(len(m)))
    return size * np.cos(np.angle(m) / p)


def _shifted(x: Doubles, p: Doubles) -> Doubles:
    # SHIFTED. Above 0, the power mean of the distances from the least value, added to it; below 0,
    # that of the distances from the largest value, taken off it. It is the mean at p = 1 and -1 and
    # rises with p from there to max, or falls to min. A number and its negative are treated alike,
    # M(-x, p) = -M(x, -p), and M(x + c) = M(x) + c.
    low, high, size = x.min(axis=0), x.max(axis=0), np.abs(p)
    distance = np.where(p > 0, x - low, high - x)
    scale = np.where(high > low, high - low, 1.0)
    root = scale * np.power(np.power(distance / scale, size).mean(axis=0), 1 / size)
    # LIMITS. What they are is known exactly.
    exact = [size == 1, p == np.inf, p == -np.inf]
    inside = np.where(p > 0, low + root, high - root)
    return np.select(exact, [x.mean(axis=0), high, low], inside)


def map_row(row: Floats, matrix: Floats) -> Floats:
    """Return a row, (n_in,), times a matrix, (n_in, n_out), in a stated order of summation."""
    # SUM. ((x0 w0 + x1 w1) + x2 w2) + …, every operation rounded to float32. Where that overflows,
    # float64 does the same, and what float32 cannot hold is cut off at its largest number.
    for dtype in (np.float32, np.float64):
        total: Array = np.zeros(matrix.shape[1], dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for x, weights in zip(row.astype(dtype), matrix.astype(dtype), strict=True):
                total += x * weights
        if np.isfinite(total).all():
            break
    return np.clip(total, -LARGEST, LARGEST).astype(np.float32)


def round_rows(rows: Floats, scale: Floats) -> tuple[Doubles, Doubles]:
    """Round rows, (n, n_in), times the scales of a coded matrix, (n_in,), to whole numbers.

    Returns:
        The whole numbers, (n, n_in), and what they are to be multiplied by, (n,): NaN or infinity
        where the row has it.
    """
    scaled = rows * scale
    # RANGE. 15 bits and a sign. The floor keeps the division from overflowing.
    largest = np.maximum(np.abs(scaled).max(axis=1, initial=0), np.float32(1e-30))
    whole = np.rint(scaled * (np.float32(WHOLE) / largest)[:, None])
    return whole.astype(np.float64), largest.astype(np.float64) / WHOLE


def map_coded_row(row: Floats, codes: Array, scale: Floats) -> Floats:
    """Return a row, (n_in,), times a matrix of int8 codes, (n_in, n_out), with a scale per row."""
    # SUM. Codes are whole numbers up to 127 or 128, those of the row up to 32767: their products
    # add up exactly in float64, in any order. Scales are made smaller by a power of two, which
    # changes none of their bits, so that the row does not overflow.
    size = np.ldexp(1.0, np.frexp(scale.max(initial=0))[1])
    whole, steps = round_rows(row[None], (scale / size).astype(np.float32))
    total = (whole[0] @ codes.astype(np.float64)) * (steps[0] * size)
    return np.clip(total, -LARGEST, LARGEST).astype(np.float32)
