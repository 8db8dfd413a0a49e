"""What this process may use of its machine: threads, and memory for large results.

PAGES. A fresh page is cleared by the system before it is written to: the pages of a wide result
take longer than its arithmetic, and on a virtual machine that has never touched them ten times as
long. So the memory of the last large result that was dropped is kept for the next one. The system
is told that it may take the pages back (``MADV_FREE``), and does when memory is short. Pages are
huge ones where there are any. Elsewhere than on Linux, and for small results, which the C library
keeps itself, this is `numpy.empty`.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import weakref
from pathlib import Path

import numpy as np

from pmeans.types import Floats

_NO_LIMIT = 1 << 30
LARGE = 32 << 20
"""Bytes from which on the C library gives memory back as soon as it is free."""

_spare: list[mmap.mmap] = []
_KEEPS = hasattr(mmap, "MADV_FREE") and hasattr(mmap, "MADV_HUGEPAGE")


def available_threads(root: Path = Path("/")) -> int:
    """Return the cores of the affinity mask, or fewer where a control group allows fewer."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1
    return max(1, min(cores, _quota(root)))


@functools.cache  # reading it costs more than encoding a sentence
def _quota(root: Path) -> int:
    """Return the smallest CPU quota of this process's control groups, in cores rounded up."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return _NO_LIMIT
    smallest = _NO_LIMIT
    for line in lines:
        # "0::/a/b" is version 2; "4:cpu,cpuacct:/a/b" is version 1.
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / controllers
        group = top / path.lstrip("/")
        while True:
            smallest = min(smallest, _cores(group, version=1 if controllers else 2))
            if group in (top, group.parent):
                break
            group = group.parent
    return smallest


def _cores(group: Path, version: int) -> int:
    names = ("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    try:
        quota, period = " ".join((group / name).read_text() for name in names).split()
        # No quota is "max" in version 2, and -1 in version 1.
        return math.ceil(int(quota) / int(period)) if int(quota) > 0 else _NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return _NO_LIMIT


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
