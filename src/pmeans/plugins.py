"""What other packages add to pmeans, by entry points.

The groups are ``pmeans.commands`` (a command of the program: a Typer application),
``pmeans.trainers`` and ``pmeans.baseline_trainers`` (a kind of trainer file: a class of
`pmeans.training.trainer`), and ``pmeans.baselines`` (a kind of stored encoder: a
`pmeans.models.baselines.Baseline`). Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any


@cache
def added(group: str) -> dict[str, str]:
    """Return what installed packages add to a group: ``module:object`` by name, sorted."""
    from importlib.metadata import entry_points  # takes longer than to say the version

    return {entry.name: entry.value for entry in sorted(entry_points(group=group))}


def load(reference: str) -> Any:
    """Return the object that ``module:object`` names."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
