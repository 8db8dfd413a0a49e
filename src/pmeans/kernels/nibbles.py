"""Word vectors of four bits a number: the one place in Python that knows how they lie.

Numbers are whole, from -7 to 7, and a scale multiplies each row. Byte k of a row has column 2 k in
its lower four bits and column 2 k + 1 in its upper four, as two's complement. The matrix of a space
is of this kind if it is uint8, (n_words, dim / 2): no other format of word vectors is.
`native/row_vectors.hpp` reads the same bytes.
"""

from __future__ import annotations

import numpy as np

from pmeans.types import Array, Bytes

LARGEST = 7


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
