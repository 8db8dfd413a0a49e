"""A matrix of int8 codes, laid out for a product of whole numbers.

Rows of a product are rounded to whole numbers of 16 bits, and processors add up products of such
pairs by pairs. So codes of two rows lie side by side, and columns in tiles that every vector
register divides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.types import Array, Floats

TILE = 16
"""Columns of a tile: as many sums as the widest register holds."""


@dataclass(frozen=True)
class CodedMatrix:
    """A matrix (n_in, n_out) whose row k is ``size * scale[k]`` times its codes.

    Attributes:
        tiles: Code (2 p + i, 16 t + j) is ``tiles[t, p, j, i]``; zeros fill up the last ones.
            (n_tiles, n_pairs, 16, 2) int16.
        scale: (n_in,) float32, at most 1, so that no row overflows.
        size: A power of two.
        shape: Rows and columns of the matrix.
    """

    tiles: npt.NDArray[np.int16]
    scale: Floats
    size: float
    shape: tuple[int, int]

    @classmethod
    def of(cls, codes: Array, scale: Floats) -> CodedMatrix:
        """Lay out int8 codes, (n_in, n_out), of rows with these scales, (n_in,)."""
        n_in, n_out = codes.shape
        n_pairs, n_tiles = -(-n_in // 2), -(-n_out // TILE)
        whole = np.zeros((2 * n_pairs, n_tiles * TILE), dtype=np.int16)
        whole[:n_in, :n_out] = codes
        tiles = whole.reshape(n_pairs, 2, n_tiles, TILE).transpose(2, 0, 3, 1)
        _, exponent = np.frexp(scale.max(initial=0))
        smaller = np.ldexp(scale, -exponent)
        size = float(np.ldexp(1.0, exponent))
        return cls(np.ascontiguousarray(tiles), smaller, size, (n_in, n_out))

    @property
    def codes(self) -> npt.NDArray[np.int16]:
        """The codes in their own order, (n_in, n_out)."""
        n_tiles, n_pairs = self.tiles.shape[:2]
        rows = self.tiles.transpose(1, 3, 0, 2).reshape(2 * n_pairs, n_tiles * TILE)
        n_in, n_out = self.shape
        return rows[:n_in, :n_out]
