"""``pmeans train``: make word spaces from raw material."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, resumable
from pmeans.cli.spaces import Out, describe

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="What {data} in the files stands for.",
        show_default="$PMEANS_DATA, or data beside the word spaces",
    ),
]


def register(parent: typer.Typer) -> None:
    """Add the command to the program."""
    parent.command(epilog=_EXAMPLE)(train)


_EXAMPLE = """\b
Examples:
  pmeans train recipes/spaces/bivcd.toml --data ../data
  pmeans train recipes/spaces/cca.toml#bivcd-cca-de
"""


def train(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="TOML files: what to train, from what; FILE#NAME for one space of several.",
        ),
    ],
    out: Out = None,
    data: Data = None,
    again: Annotated[
        bool, typer.Option("--again", help="Train even what is made and has not changed.")
    ] = False,
) -> None:
    """Make word spaces: from text, word pairs or other spaces.

    They are installed under their names. What they are made from is made first where a file names
    it by its own file. After an interruption the same command goes on where it was, and the spaces
    come out the same.
    """
    from pmeans.building.graph import Graph, install
    from pmeans.spaces.library import path_of
    from pmeans.spaces.store import open_space

    graph = Graph(data)
    nodes = graph.targets(files)
    if out and len(nodes) > 1:
        names = ", ".join(node.trainer.name for node in nodes)
        raise typer.BadParameter(f"is for one space, and these are {names}.", param_hint="--out")
    with resumable(), progress(Path(files[0]).stem) as step:
        graph.make(nodes, progress=lambda share, text: step(share, 1, text), again=again)
    for node in nodes:
        target = out or path_of(node.trainer.name)
        install(node, target)
        describe(open_space(target), target)
