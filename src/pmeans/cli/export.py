"""``pmeans spaces export, merge``: word spaces into files, and into one another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from pmeans.cli.console import say
from pmeans.cli.convert import Out, Type, store
from pmeans.cli.spaces import Space


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``spaces``."""
    app.command(epilog=_EXPORT)(export)
    app.command(epilog=_MERGE)(merge)


_EXPORT = "\b\nExample:\n  pmeans spaces export glove-840b glove.txt --no-header\n"


def export(
    name: Space,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to.")],
    format_: Annotated[
        Literal["text", "word2vec"] | None,
        typer.Option("--format", help="word2vec's binary if FILE ends in .bin, else text."),
    ] = None,
    header: Annotated[bool, typer.Option(help="Begin text with a line of sizes.")] = True,
    suffix: Annotated[
        bool, typer.Option("--suffix", help="Append _en and the like to words.")
    ] = False,
) -> None:
    """Write a word space for other programs: text, or word2vec's binary format."""
    from pmeans.spaces import export as exporting
    from pmeans.spaces.library import find_space

    space = find_space(name)
    if (format_ or ("word2vec" if file.suffix == ".bin" else "text")) == "word2vec":
        exporting.to_word2vec_binary(space, file, suffix=suffix)
    else:
        exporting.to_text(space, file, header=header, suffix=suffix)
    say(f"{len(space):,} words of {space.name} in {file}.")


_MERGE = "\b\nExample:\n  pmeans spaces merge wiki-en wiki-de --name wiki-en-de\n"


def merge(
    names: Annotated[
        list[str], typer.Argument(metavar="SPACE...", help="Installed names, or files.")
    ],
    *,
    name: Annotated[str, typer.Option(metavar="NAME", help="Of the merged space.")],
    out: Out = None,
    dtype: Type = None,
) -> None:
    """Put several languages, or vocabularies of one, into one space; the first one wins."""
    from pmeans.spaces import edit
    from pmeans.spaces.library import find_space

    space = edit.merge([find_space(each) for each in names], name)
    store(edit.quantise(space, dtype) if dtype else space, out)
