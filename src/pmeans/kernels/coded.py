"""Matrices in few bits a number: int4 for word vectors, and int8 for products of whole numbers.

Word vectors of four bits have whole numbers from -7 to 7, and a scale for each row. Byte k of a
row has column 2 k in its lower four bits and column 2 k + 1 in its upper four, as two's complement.
The matrix of a space is of this kind if it is uint8, (n_words, dim / 2): no other format of word
vectors is. `native/row_vectors.hpp` reads the same bytes.

A `CodedMatrix` is of int8. Rows of a product are rounded to whole numbers of 16 bits, and
processors add up products of such pairs by pairs. So codes of two rows lie side by side, and
columns in tiles that every vector register divides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.types import Array, Bytes, Floats

LARGEST = 7
TILE = 16
"""Columns of a tile: as many sums as the widest register holds."""


def n_columns(matrix: Array) -> int:
    """Return the number of columns of word vectors in any format."""
    return int(matrix.shape[1]) * (2 if matrix.dtype == np.uint8 else 1)


def packed(codes: Array) -> Bytes:
    """Put whole numbers from -7 to 7, (n, dim) int8, into bytes, (n, dim / 2)."""
    bits: Bytes = codes.view(np.uint8)
    return bits[:, ::2] & np.uint8(15) | bits[:, 1::2] << np.uint8(4)


def unpacked(rows: Array) -> Array:
    """Return rows with one number per column: int4 as int8, (n, dim), others as they are."""
    if rows.dtype != np.uint8:
        return rows
    pairs = rows.view(np.int8)
    # A shift to the right extends the sign.
    return np.stack([pairs << 4 >> 4, pairs >> 4], axis=2).reshape(len(rows), n_columns(rows))


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
