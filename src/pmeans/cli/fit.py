"""``pmeans transfer fit``: train a classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import say
from pmeans.cli.transfer import (
    Adapt,
    InputFormat,
    Label,
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
    app.command(epilog=_FIT)(fit)


_FIT = "\b\nExample:\n  pmeans transfer fit train.csv --lang en --out my-classifier/\n"


def fit(
    train: Annotated[
        str, typer.Argument(metavar="TRAIN", help="Labelled rows: .csv, .tsv, .jsonl, .parquet.")
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the classifier.")],
    text: Text = "text",
    label: Label = "label",
    lang: Lang = None,
    lang_column: LangColumn = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="An encoder's folder or name, a recipe, a word space.",
            show_default="the package's own",
        ),
    ] = None,
    separator: Separator = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let all classes weigh the same.")
    ] = False,
    unsure: Unsure = None,
    adapt: Adapt = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of sample and folds.")] = 0,
    on_error: OnError = "fail",
    input_format: InputFormat = None,
) -> None:
    """Train a classifier on labelled text.

    Columns, scaling and penalty are chosen by cross-validation on these rows; probabilities are
    calibrated on rows held out of them.
    """
    from pmeans import models
    from pmeans.labelling import Columns, read_labelled
    from pmeans.transfer import TransferClassifier

    encoder = models.load(model)
    columns = Columns(text, label, lang, lang_column, separator, on_error, input_format)
    rows = read_labelled(train, columns, encoder)
    classifier = TransferClassifier(
        encoder, class_weight="balanced" if balanced else None, unsure=unsure, seed=seed
    )
    classifier.fit(rows.texts, rows.labels, lang=rows.lang)
    adapt_to(classifier, adapt, None)
    classifier.save(out)
    chosen = classifier.chosen
    say(f"{len(classifier.classes):,} classes learned from {chosen.rows:,} rows, in {out}.")
    score = (
        "" if chosen.score is None else f"; {chosen.measure} {chosen.score:.3f} on held-out rows"
    )
    kept = f"the first {chosen.columns:,} of {encoder.dim:,} columns"
    if chosen.powers is not None:
        kept = "powers " + ", ".join(f"{p:g}" for p in chosen.powers)
    say(f"chosen: {kept}, scaling {chosen.scaling}, penalty {chosen.penalty:g}{score}.")
    say_doubts(rows.skipped, chosen.empty)
