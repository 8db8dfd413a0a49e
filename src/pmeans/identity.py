"""What a thing is told apart by: a hash over all that it depends on."""

from __future__ import annotations

import hashlib

import numpy as np

SHORT = 12
"""Hexadecimal digits of an identity that people read."""


def identity(*content: object, digits: int = 64) -> str:
    """Return so many hexadecimal digits of the SHA-256 over some content, in its order.

    Arrays and bytes count as they lie in memory, a `str` as UTF-8, all else as its `repr`.
    """
    total = hashlib.sha256()
    for each in content:
        if isinstance(each, np.ndarray):
            total.update(np.ascontiguousarray(each).reshape(-1).view(np.uint8).data)
        elif isinstance(each, bytes | bytearray | memoryview):
            total.update(each)
        else:
            total.update((each if isinstance(each, str) else repr(each)).encode())
    return total.hexdigest()[:digits]
