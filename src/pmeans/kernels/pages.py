"""Memory for large results, whose pages the system need not clear again and again.

PAGES. A fresh page is cleared by the system before it is written to: the pages of a wide result
take longer than its arithmetic, and on a virtual machine that has never touched them ten times as
long. So the memory of the last large result that was dropped is kept for the next one. The system
is told that it may take the pages back (``MADV_FREE``), and does when memory is short. Pages are
huge ones where there are any. Elsewhere than on Linux, and for small results, which the C library
keeps itself, this is `numpy.empty`.
"""

from __future__ import annotations

import mmap
import weakref

import numpy as np

from pmeans.types import Floats

LARGE = 32 << 20
"""Bytes from which on the C library gives memory back as soon as it is free."""

_spare: list[mmap.mmap] = []
_KEEPS = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")


class _Owner:
    """What arrays in a piece of memory hold on to, so that its end is theirs."""

    def __init__(self, memory: mmap.mmap, shape: tuple[int, int]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.float32).str,
            "shape": shape,
            "data": (np.frombuffer(memory, np.uint8).ctypes.data, False),
        }
        weakref.finalize(self, _keep, memory).atexit = False


def empty_rows(n: int, dim: int) -> Floats:
    """Return an array with anything in it, (n, dim) float32."""
    size = 4 * n * dim
    if size < LARGE or not _KEEPS:
        return np.empty((n, dim), dtype=np.float32)
    try:
        memory = _spare.pop()
    except IndexError:  # none, or another thread was quicker
        memory = None
    if memory is None or not size <= len(memory) <= 2 * size:
        try:
            memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:  # no memory, or no huge pages
            return np.empty((n, dim), dtype=np.float32)
    return np.asarray(_Owner(memory, (n, dim)))


def _keep(memory: mmap.mmap) -> None:
    try:
        memory.madvise(mmap.MADV_FREE)
    except OSError:  # locked memory
        return
    _spare[:] = [memory]
