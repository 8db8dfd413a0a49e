"""Commands of other packages: entry points of the group ``pmeans.commands``.

The name of an entry point is the command's, its value a Typer application. It is imported when the
command is asked for, or when help lists it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

GROUP = "pmeans.commands"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the commands that installed packages add, sorted."""
    return tuple(sorted(_entries()))


def command(name: str) -> Any:
    """Return a command that a package adds, as click has it."""
    from typer.main import get_command

    return get_command(_entries()[name].load())


def _entries() -> dict[str, Any]:
    from importlib.metadata import entry_points  # takes longer than to say the version

    return {entry.name: entry for entry in entry_points(group=GROUP)}
