"""Options that several commands have, under one name and with one meaning each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Classifier = Annotated[
    Path, typer.Argument(metavar="DIR", help="A folder that 'transfer fit' wrote.")
]
Text = Annotated[str, typer.Option(metavar="NAME", help="Column with the texts.")]
Lang = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        help="Of all texts: a code or a name, as 'de' or 'German'; 'auto' tells it from each text.",
    ),
]
LangColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column with the language of each text.")
]
Unsure = Annotated[
    float | None,
    typer.Option(metavar="P", min=0, max=1, help="Predict nothing below this probability."),
]
OnError = Annotated[
    Literal["fail", "skip"], typer.Option(help="At a row that cannot be read, stop or go on.")
]
InputFormat = Annotated[
    Literal["txt", "csv", "tsv", "jsonl", "parquet"] | None,
    typer.Option(help="Of the input, if its name does not tell."),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Between cells: a character, comma, semicolon, tab or pipe.",
        show_default="found",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Of the text, as utf-8 or windows-1252.", show_default="found"
    ),
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Discard what an earlier run left in FILE.partial.")
]
