"""What happens to finished rows: L2-normalised, in fewer bits, as a tensor."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from pmeans.errors import InputError, shown
from pmeans.files import optional
from pmeans.tensors import quantised
from pmeans.types import Array, Floats

RowType = Literal["float32", "int8", "uint8", "binary", "ubinary"]
"""What sentence-transformers calls the precision of rows."""


def normalise_rows(rows: Floats) -> None:
    """Scale every row to length 1, in place; a zero row stays zero."""
    # Squares of float32 fit float64, so that neither huge nor tiny rows lose their direction.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    np.divide(rows, lengths[:, None], out=rows, where=lengths[:, None] > 0, casting="unsafe")


def quantise_rows(rows: Floats, precision: RowType) -> Array:
    """Return rows in fewer bits, (n, dim) or, for the binary ones, (n, dim / 8 rounded up).

    An ``int8`` row is ``rint(127 x / max|x|)``: cosines stay nearly as they were, lengths are
    lost. A row depends on itself alone, where sentence-transformers takes the ranges of whatever
    rows are given together. ``uint8`` is the same plus 128.
    """
    if precision in ("binary", "ubinary"):
        bits = np.packbits(rows > 0, axis=1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if precision not in get_args(RowType):
        raise InputError(
            f"precision {shown(precision)} is not one of {', '.join(map(repr, get_args(RowType)))}."
        )
    codes, _ = quantised(rows, None, "int8", lambda row: f"row {row}.")
    return codes if precision == "int8" else (codes.astype(np.int16) + 128).astype(np.uint8)


def unit_rows(rows: Array) -> Floats:
    """Return a copy whose rows have length 1; a single vector becomes one row."""
    copy = np.array(rows, dtype=np.float32, ndmin=2)
    normalise_rows(copy)
    return copy


def to_tensor(array: Array, device: Any) -> Any:
    """Return a torch tensor on a device, the CPU if None."""
    torch = optional("torch", "train", "convert_to_tensor", "leave it out")
    return torch.from_numpy(np.ascontiguousarray(array)).to(device or "cpu")
