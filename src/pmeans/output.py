"""What happens to finished rows: truncated, L2-normalised, stored in fewer bits.

The options and their meaning are sentence-transformers'.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from pmeans.errors import InputError
from pmeans.types import Array, Floats

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]


def normalise_rows(rows: Floats) -> None:
    """Scale every row to length 1, in place; a zero row stays zero."""
    # Squares of float32 fit float64, so that neither huge nor tiny rows lose their direction.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    np.divide(rows, lengths[:, None], out=rows, where=lengths[:, None] > 0, casting="unsafe")


def quantise_rows(rows: Floats, precision: Precision) -> Array:
    """Return rows in fewer bits, (n, dim) or, for the binary ones, (n, dim / 8 rounded up).

    The ranges of ``int8`` and ``uint8`` are those of the given rows, column by column, so rows
    are comparable within one call; the other precisions need no ranges.
    """
    if precision == "float32":
        return rows
    if precision in ("binary", "ubinary"):
        bits = np.packbits(rows > 0, axis=1)
        return bits if precision == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)
    if precision not in get_args(Precision):
        raise InputError(
            f"precision {precision!r} is not one of {', '.join(map(repr, get_args(Precision)))}."
        )
    low = rows.min(axis=0, initial=np.inf).astype(np.float64)
    step = (rows.max(axis=0, initial=-np.inf) - low) / 255
    levels = np.floor((rows - low) / np.where(step > 0, step, 1)).clip(0, 255)
    return levels.astype(np.uint8) if precision == "uint8" else (levels - 128).astype(np.int8)


def unit_rows(rows: Array) -> Floats:
    """Return a copy whose rows have length 1; a single vector becomes one row."""
    copy = np.array(rows, dtype=np.float32, ndmin=2)
    normalise_rows(copy)
    return copy


def to_tensor(array: Array, device: Any) -> Any:
    """Return a torch tensor on a device, the CPU if None."""
    try:
        import torch
    except ImportError:
        raise InputError(
            "convert_to_tensor needs torch: pip install 'pmeans[train]', or leave it out."
        ) from None
    return torch.from_numpy(np.ascontiguousarray(array)).to(device or "cpu")
