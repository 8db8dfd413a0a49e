"""``pmeans extend``: add a language to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, say, table

_EXAMPLE = """\b
Examples:
  pmeans extend --lang it --dictionary en-it.tsv --text it.txt --out my-model
  pmeans extend my-model --lang nl --pairs en-nl.tsv.gz --out my-other-model
"""


def register(parent: typer.Typer) -> None:
    """Add the command to the program."""
    parent.command(epilog=_EXAMPLE)(extend)


def extend(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="An encoder's folder or name.",
            show_default="the package's own",
        ),
    ] = None,
    *,
    lang: Annotated[str, typer.Option(metavar="CODE", help="The language to add.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the new model.")],
    dictionary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Two columns: a word of the pivot, a word of CODE; may be given several times.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A .tsv of sentences: [source,] of the pivot, of the same in CODE."
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="FILE", help="Sentences in CODE, one a line.")
    ] = None,
    pivot: Annotated[
        str, typer.Option(metavar="CODE", help="The model's language that is translated from.")
    ] = "en",
) -> None:
    """Add a language to a model.

    It is learned from a dictionary, from pairs of sentences, or from both. Its words become means
    of their translations' vectors. Pairs, or else a text, say how its sentences are spread. The
    model itself is not changed, and neither are its other languages. All files may be compressed
    (.gz, .bz2, .xz).
    """
    from pmeans.building.new_language import NewLanguage
    from pmeans.training.corpus import PairFile

    paired = PairFile(pairs, pivot, lang) if pairs else None
    new = NewLanguage(lang, tuple(dictionary or ()), paired, text, pivot)
    with progress(lang) as step:
        encoder = new.make(model, out, progress=lambda share, words: step(share, 1, words))
    spaces = encoder.spaces.values()
    table(
        ["SPACE", f"WORDS {lang}", f"WORDS {pivot}"],
        [[s.name, f"{len(s.table(lang)):,}", f"{len(s.table(pivot)):,}"] for s in spaces],
    )
    say(f"{', '.join(encoder.languages)} in {out}.")
