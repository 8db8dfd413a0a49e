"""``pmeans build``: make a model from word spaces and text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, resumable, say, size, table
from pmeans.cli.train import Data


def register(parent: typer.Typer) -> None:
    """Add the command to the program."""
    parent.command(epilog=_EXAMPLE)(build)


_EXAMPLE = "\b\nExample:\n  pmeans build recipes/default.toml --out my-model\n"


def build(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A TOML file: a recipe, its packing, what is fitted."),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the model.")],
    data: Data = None,
) -> None:
    """Make a model: its word spaces, z-norms and maps, in a folder.

    Word spaces that are named by their trainer files are trained first, unless they are made and
    nothing has changed. The size of each file goes to standard output.
    """
    from pmeans.building.build_file import Build
    from pmeans.building.graph import Graph

    plan = Build.from_toml(file, data)
    with resumable(), progress(plan.name) as step:
        sizes = plan.make(out, progress=lambda share, text: step(share, 1, text), graph=Graph(data))
    table(["FILE", "BYTES"], [[name, f"{n:,}"] for name, n in sizes.items()])
    say(f"{size(sum(sizes.values()))} in {out}.")
