"""How many threads this process may really use."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path


def available_threads(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the cores of the affinity mask, or fewer where a container's quota allows fewer."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        cores = os.cpu_count() or 1
    return max(1, min(cores, _quota(cgroup)))


@functools.cache  # reading it costs more than encoding a sentence
def _quota(cgroup: Path) -> int:
    """Return a control group's CPU quota in whole cores, version 2 first, then 1."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            words = " ".join((cgroup / name).read_text() for name in names).split()
            quota, period = float(words[0]), float(words[1])
        except (OSError, ValueError, IndexError):
            continue
        if quota > 0 and period > 0:
            return math.ceil(quota / period)
    return 1 << 30
