"""``pmeans build``: make a finished encoder from word spaces and text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, say, size, table


def register(parent: typer.Typer) -> None:
    """Add the command to the program."""
    parent.command(epilog=_EXAMPLE)(build)


_EXAMPLE = "\b\nExample:\n  pmeans build recipes/default.toml --out my-encoder\n"


def build(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A TOML file: a recipe, its packing, what is fitted."),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the encoder.")],
) -> None:
    """Pack word spaces, fit z-norms and alignment, and write an encoder with its model card.

    The size of each file goes to standard output.
    """
    from pmeans.building.build_file import Build

    plan = Build.from_toml(file)
    with progress(plan.name) as step:
        sizes = plan.make(out, progress=lambda share, text: step(share, 1, text))
    table(["FILE", "BYTES"], [[name, f"{n:,}"] for name, n in sizes.items()])
    say(f"{size(sum(sizes.values()))} in {out}.")
