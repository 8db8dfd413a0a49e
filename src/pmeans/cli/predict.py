"""``pmeans transfer predict``: label the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, say
from pmeans.cli.transfer import (
    Adapt,
    Classifier,
    InputFormat,
    Lang,
    LangColumn,
    OnError,
    Separator,
    Text,
    Unsure,
    adapt_to,
    say_doubts,
)


def register(app: typer.Typer) -> None:
    """Add the command to the group ``transfer``."""
    app.command(epilog=_PREDICT)(predict)


_PREDICT = """\b
Example:
  pmeans transfer predict my-classifier/ news.csv --lang de --out predictions.csv
"""


def predict(
    folder: Classifier,
    file: Annotated[str, typer.Argument(metavar="FILE", help=".csv, .tsv, .jsonl, .parquet.")],
    *,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to: .csv, .tsv, .jsonl, .parquet.")
    ],
    text: Text = "text",
    lang: Lang = None,
    lang_column: LangColumn = None,
    separator: Separator = None,
    unsure: Unsure = None,
    adapt: Adapt = None,
    on_error: OnError = "fail",
    input_format: InputFormat = None,
) -> None:
    """Predict the rows of a file: they keep their order and columns, and get some more.

    These are label, probability, and a note that says if a row is unsure, has no known word, or
    could not be read.
    """
    from pmeans.labelling import Columns, Counts, predict_file
    from pmeans.transfer import TransferClassifier

    classifier = TransferClassifier.load(folder)
    if unsure is not None:
        classifier.unsure = unsure
    adapt_to(classifier, adapt, lang)
    columns = Columns(text, None, lang, lang_column, separator, on_error, input_format)
    with progress("predicting") as step:

        def report(counts: Counts) -> None:
            step(counts.rows, None, f"{counts.rows:,} rows")

        counts = predict_file(classifier, file, out, columns, report)
    say(f"{counts.rows:,} rows in {out}, {counts.unsure:,} of them unsure.")
    say_doubts(counts.skipped, counts.empty)
    for warning in counts.words.warnings():
        say(f"warning: {warning}")
