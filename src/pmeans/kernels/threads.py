"""How many threads this process may really use."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

_NO_LIMIT = 1 << 30


def available_threads(root: Path = Path("/")) -> int:
    """Return the cores of the affinity mask, or fewer where a control group allows fewer.

    Args:
        root: Where ``proc`` and ``sys`` lie.
    """
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
