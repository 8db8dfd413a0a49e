"""``pmeans transfer evaluate``: compare predictions with labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pmeans.cli.console import say, table
from pmeans.cli.transfer import (
    Adapt,
    Classifier,
    InputFormat,
    Label,
    Lang,
    LangColumn,
    OnError,
    Separator,
    Text,
    adapt_to,
    say_doubts,
)

if TYPE_CHECKING:
    from pmeans.transfer import Evaluation


def register(app: typer.Typer) -> None:
    """Add the command to the group ``transfer``."""
    app.command(epilog=_EVALUATE)(evaluate)


_EVALUATE = "\b\nExample:\n  pmeans transfer evaluate my-classifier/ test.csv --lang fr\n"


def evaluate(
    folder: Classifier,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Labelled rows, as for 'fit'.")],
    *,
    text: Text = "text",
    label: Label = "label",
    lang: Lang = None,
    lang_column: LangColumn = None,
    separator: Separator = None,
    adapt: Adapt = None,
    on_error: OnError = "fail",
    input_format: InputFormat = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare predictions with labels, class by class."""
    from pmeans.labelling import Columns, read_labelled
    from pmeans.transfer import TransferClassifier

    classifier = TransferClassifier.load(folder)
    adapt_to(classifier, adapt, lang)
    columns = Columns(text, label, lang, lang_column, separator, on_error, input_format)
    rows = read_labelled(file, columns, classifier.encoder)
    found = classifier.evaluate(rows.texts, rows.labels, lang=rows.lang)
    if as_json:
        print(json.dumps(found.as_dict(), ensure_ascii=False))
    else:
        _show(found)
    say_doubts(rows.skipped, round(found.empty * found.rows))
    if found.unseen:
        shown = ", ".join(f"{name!r} ({n:,})" for name, n in list(found.unseen.items())[:8])
        say(f"warning: labels that training did not have, counted as wrong: {shown}.")


def _show(found: Evaluation) -> None:
    rows = [
        (s.label, f"{s.precision:.3f}", f"{s.recall:.3f}", f"{s.f1:.3f}", f"{s.rows:,}")
        for s in found.by_class
    ]
    table(("LABEL", "PRECISION", "RECALL", "F1", "ROWS"), rows)
    if found.confusion is not None and len(found.confusion) <= 20:
        print()
        lines = zip(found.confusion_rows, found.confusion.astype(str).tolist(), strict=True)
        table(("LABEL \\ PREDICTED", *found.confusion_columns), [(name, *n) for name, n in lines])
    known = ", ".join(f"{lang} {words.known:.1%}" for lang, words in found.words.languages.items())
    sure = "" if not found.unsure else f" ({found.accuracy_sure or 0:.3f} of those that are sure)"
    say(f"accuracy {found.accuracy:.3f}{sure}, macro-F1 {found.macro_f1:.3f}, {found.rows:,} rows.")
    say(f"unsure {found.unsure:.1%}; known words: {known}.")
