"""``pmeans transfer``: the group, and what its commands share, each in a file of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pmeans.cli.console import say

if TYPE_CHECKING:
    from pmeans.transfer import TransferClassifier

app = typer.Typer(
    help="Train a classifier in one language, apply it in others.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Classifier = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that 'fit' wrote.")]
Text = Annotated[str, typer.Option(metavar="NAME", help="Column with the texts.")]
Label = Annotated[str, typer.Option(metavar="NAME", help="Column with the labels.")]
Lang = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Language of all texts; 'auto' tells it from each text."),
]
LangColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column with the language of each text.")
]
Separator = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Splits the label column, if rows have several labels."),
]
Adapt = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[CODE=]FILE",
        help="Unlabelled text, a line each, to adapt a language to; may be repeated.",
    ),
]
Unsure = Annotated[
    float | None,
    typer.Option(metavar="P", min=0, max=1, help="Predict nothing below this probability."),
]
OnError = Annotated[
    Literal["fail", "skip"], typer.Option(help="At a row that cannot be read, stop or go on.")
]
InputFormat = Annotated[
    Literal["csv", "tsv", "jsonl", "parquet"] | None,
    typer.Option(help="Of the input, if its name does not tell."),
]


def register(parent: typer.Typer) -> None:
    """Add the group to the program."""
    parent.add_typer(app, name="transfer")


def adapt_to(classifier: TransferClassifier, files: list[str] | None, lang: str | None) -> None:
    """Adapt a classifier to unlabelled text."""
    from pmeans.labelling import read_adaptation

    for given in files or []:
        texts, code = read_adaptation(given, classifier.encoder, lang)
        classifier.adapt(texts, lang=code)
        say(f"{code or 'the texts'} adapted to {len(texts):,} lines.")


def say_doubts(skipped: int, empty: int) -> None:
    """Count the rows that something is wrong with."""
    if empty:
        say(f"{empty:,} rows have no known word.")
    if skipped:
        say(f"warning: {skipped:,} rows could not be read.")
