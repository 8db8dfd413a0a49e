"""Which power means of a space's rows to take: checked once, used for every batch."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from pmeans.errors import InputError
from pmeans.kernels.coded import n_columns
from pmeans.types import Array, Floats, Power, Root

SMALLEST_POWER = 1e-3
"""Below it the p-th root, a power of more than a thousand, leaves float64."""

SQUARES = (1.0, 2.0, 4.0, 8.0, 16.0, np.inf)
"""Sizes of powers of shifted means that need squares and square roots, and no logarithm."""

_PLAIN = (1.0, np.inf, -np.inf)  # the same whatever the root
_DTYPES = frozenset(map(np.dtype, ("float32", "float16", "int8", "uint8")))


@dataclass(frozen=True)
class SpaceMeans:
    """Power means of the rows of one space, side by side.

    Attributes:
        matrix: Word vectors, (n_words, dim) float32, float16 or int8, or int4 as
            `pmeans.kernels.coded` has it; may be memory-mapped, is never copied.
        powers: Exponents in output order; ``inf`` is max, ``-inf`` is min. With the root
            ``"shifted"`` one may be a tuple with an exponent for each dimension, (dim,).
        root: ``"signed"``, ``"principal"`` or ``"shifted"``, see `pmeans.kernels.reference`.
        scale: What an int8 or int4 row is multiplied by, (n_words,) float32.
        shift: Subtracted from each column before ``factor`` multiplies it; both
            (len(powers) * dim,) float32. This is z-norm at no extra pass.
        factor: See ``shift``.
        dim: Number of columns of a word vector.
        width: Number of columns of all means.
        numbers: The powers; NaN, all of them, where `exponents` says more.
        exponents: Powers of the columns of shifted means, (len(powers), dim) float32; None if min,
            mean and max are all there is.
        squarings: How often to square for the largest power but infinity, (len(powers),) int8; -1
            where not all columns have powers of `SQUARES`.
    """

    matrix: Array
    powers: tuple[Power, ...]
    root: Root = "signed"
    scale: Floats | None = None
    shift: Floats | None = None
    factor: Floats | None = None
    dim: int = field(init=False)
    width: int = field(init=False)
    numbers: tuple[float, ...] = field(init=False)
    exponents: Floats | None = field(init=False)
    squarings: Array | None = field(init=False)

    def __post_init__(self) -> None:
        check_matrix(self.matrix)
        _check_scale(self.matrix, self.scale)
        if self.root not in ("signed", "principal", "shifted"):
            raise InputError(f"root {self.root!r} is not 'signed', 'principal' or 'shifted'.")
        dim = n_columns(self.matrix)
        powers = checked_powers(tuple(self.powers), self.root)
        check_lengths(powers, dim)
        plain = self.root != "shifted" or all(p in _PLAIN for p in powers)
        exponents = None if plain else _exponents(powers, dim)
        object.__setattr__(self, "powers", powers)
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "width", len(powers) * dim)
        object.__setattr__(self, "numbers", powers if plain else (np.nan,) * len(powers))
        object.__setattr__(self, "exponents", exponents)
        object.__setattr__(self, "squarings", None if exponents is None else _squarings(exponents))
        if (self.shift is None) != (self.factor is None):
            raise InputError("shift and factor go together.")
        for name in ("shift", "factor"):
            array = getattr(self, name)
            if array is not None and (array.shape, array.dtype) != ((self.width,), np.float32):
                raise InputError(f"{name} must be ({self.width},) float32, not {described(array)}.")


@functools.lru_cache(maxsize=256)
def checked_powers(powers: tuple[Power, ...], root: Root = "signed") -> tuple[Power, ...]:
    """Return the powers as floats, or tuples of them, refusing what has no power mean."""
    exponents = tuple(tuple(map(float, p)) if isinstance(p, tuple) else float(p) for p in powers)
    if not exponents:
        raise InputError("the list of powers is empty; [-inf, 1, inf] is usual.")
    if len(set(exponents)) < len(exponents):
        raise InputError(f"a power stands twice in {exponents!s:.60}.")
    for each in exponents:
        if isinstance(each, tuple) and root != "shifted":
            raise InputError(f"one power per dimension needs root = 'shifted', not {root!r}.")
        for p in each if isinstance(each, tuple) else (each,):
            if root == "shifted" and not abs(p) >= 1:
                raise InputError(
                    f"{p} is not a power of a shifted mean: take a number of at least 1, or of at "
                    "most -1; 1 is the mean, inf max, -inf min."
                )
            if np.isnan(p) or 0 < abs(p) < SMALLEST_POWER:
                raise InputError(
                    f"{p} is not a usable power: take inf (max), -inf (min), 0 (geometric mean) or "
                    f"a number of at least {SMALLEST_POWER} in magnitude."
                )
    return exponents


def check_lengths(powers: tuple[Power, ...], dim: int) -> None:
    """Refuse lists of powers that are longer or shorter than a space is wide."""
    for p in powers:
        if isinstance(p, tuple) and len(p) != dim:
            raise InputError(f"{len(p)} powers for {dim} dimensions: a list has one for each.")


def _exponents(powers: tuple[Power, ...], dim: int) -> Floats:
    exponents = np.array([np.broadcast_to(p, dim) for p in powers])
    # Beyond 2^24 the limits are as exact, and a rounding error times p could overflow.
    beyond = np.abs(exponents) > 2**24
    return np.where(beyond, np.copysign(np.inf, exponents), exponents).astype(np.float32)


def _squarings(exponents: Floats) -> Array:
    sizes = np.abs(exponents)
    finite = np.where(np.isinf(sizes), 1, sizes).max(axis=1)
    return np.where(np.isin(sizes, SQUARES).all(axis=1), np.log2(finite), -1).astype(np.int8)


def check_matrix(matrix: Array) -> None:
    """Refuse what is not an array of word vectors, row by row in memory."""
    if matrix.ndim != 2 or matrix.dtype not in _DTYPES:
        raise InputError(
            "word vectors must be (n_words, dim) float32, float16 or int8, or (n_words, dim / 2) "
            f"uint8 for int4, not {described(matrix)}."
        )
    if not matrix.flags.c_contiguous:
        raise InputError("word vectors must lie row by row in memory: np.ascontiguousarray them.")


def _check_scale(matrix: Array, scale: Floats | None) -> None:
    if (matrix.dtype.itemsize == 1) != (scale is not None):
        raise InputError("int8 and int4 word vectors need a scale for each row, and only they do.")
    if scale is not None and (
        scale.shape != (len(matrix),) or scale.dtype != np.float32 or not scale.flags.c_contiguous
    ):
        raise InputError(f"scale must be ({len(matrix)},) float32, not {described(scale)}.")


def described(array: object) -> str:
    """Return shape and type of an array for a message, or the type of anything else."""
    if isinstance(array, np.ndarray):
        return f"{array.shape} {array.dtype}"
    return type(array).__name__
