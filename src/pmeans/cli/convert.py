"""``pmeans spaces convert, fetch``: word spaces from files, here or elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pmeans.cli.console import progress, resumable, say, size

if TYPE_CHECKING:
    from pmeans.spaces.space import WordSpace

Out = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Write there, not into the library.")
]
Type = Annotated[
    Literal["float32", "float16", "int8"] | None,
    typer.Option(help="How to store numbers; as in the file if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``spaces``."""
    app.command(epilog=_CONVERT)(convert)
    app.command(epilog=_FETCH)(fetch)


_CONVERT = """\b
Example:
  pmeans spaces convert wiki.de.vec.gz --lang de --dtype float16 --limit 200000
"""


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Vectors, also compressed.")],
    out: Out = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of the space; the file's if not given.")
    ] = None,
    lang: Annotated[str, typer.Option(metavar="CODE", help="Language of the words.")] = "en",
    format_: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="If the file does not tell.")
    ] = None,
    case: Annotated[
        Literal["lower", "cased", "cased-then-lower"] | None,
        typer.Option(help="How to look words up; the words tell if not given."),
    ] = None,
    dtype: Type = None,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Read the first N words only.")
    ] = None,
    prune: Annotated[
        Path | None,
        typer.Option(metavar="CORPUS", help="Keep the words of this text only, .txt or .txt.gz."),
    ] = None,
    on_error: Annotated[
        Literal["fail", "skip"], typer.Option(help="At a bad entry, stop or leave it out.")
    ] = "fail",
) -> None:
    """Convert a vector file into a word space, which opens at once.

    Numbers are never changed on the way, except by --dtype.
    """
    from pmeans import embedding
    from pmeans.spaces import edit, readers
    from pmeans.spaces.report import Policy

    policy = Policy.skipping() if on_error == "skip" else Policy()
    space, report = readers.read_space(
        file, format=format_, name=name, lang=lang, policy=policy, limit=limit, case=case
    )
    say(str(report))
    if prune:
        n_before = len(space)
        space = edit.prune(space, embedding.words_of_corpus(space, prune))
        say(f"{len(space):,} of {n_before:,} words occur in {prune}.")
    store(edit.quantise(space, dtype) if dtype else space, out)


_FETCH = "\b\nExample:\n  pmeans spaces fetch glove-840b --limit 200000\n"


def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of the catalogue's.")],
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Keep the first N words only.")
    ] = None,
) -> None:
    """Download a public word space, convert and install it."""
    from pmeans.spaces import download

    with resumable(), progress(name) as step:
        path = download.fetch(
            name,
            progress=lambda done, total: step(done, total or None, size(done)),
            report=lambda report: say(str(report)),
            limit=limit,
        )
    say(f"{name} is installed as {path}.")


def store(space: WordSpace, out: Path | None) -> None:
    """Save a space where it was asked for, or in the library, and say so."""
    from pmeans.spaces.library import path_of
    from pmeans.spaces.store import save_space

    path = out or path_of(space.name)
    save_space(space, path)
    describe(space, path)


def describe(space: WordSpace, path: Path) -> None:
    """Say what a space is, and where."""
    say(f"{len(space):,} words, {space.dim} d {space.matrix.dtype}, in {path}.")
