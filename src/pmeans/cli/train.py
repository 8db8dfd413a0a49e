"""``pmeans train``: make a word space from raw material."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, resumable
from pmeans.cli.convert import Out, store


def register(parent: typer.Typer) -> None:
    """Add the command to the program."""
    parent.command(epilog=_EXAMPLE)(train)


_EXAMPLE = "\b\nExample:\n  pmeans train bivcd-en-de-fr.toml\n"


def train(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A TOML file: what to train, from what.")
    ],
    out: Out = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Where to keep what an interrupted training goes on from.",
            show_default="beside the space",
        ),
    ] = None,
) -> None:
    """Train a word space, and install it under its name.

    After an interruption the same command goes on from the last checkpoint, and the space comes
    out the same.
    """
    from pmeans import training
    from pmeans.spaces.library import path_of

    trainer = training.from_toml(file)
    target = out or path_of(trainer.name)
    kept = checkpoint or target.with_name(f"{target.name}.training")
    with resumable(), progress(trainer.name) as step:
        space = trainer.train(progress=lambda share, text: step(share, 1, text), checkpoint=kept)
    store(space, out)
    kept.unlink(missing_ok=True)
