"""``pmeans transfer explain``: which words pushed a decision."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import say
from pmeans.cli.transfer import Classifier


def register(app: typer.Typer) -> None:
    """Add the command to the group ``transfer``."""
    app.command(epilog=_EXPLAIN)(explain)


_EXPLAIN = """\b
Example:
  pmeans transfer explain my-classifier/ "Die Suppe war kalt." --lang de
"""


def explain(
    folder: Classifier,
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="The text.")],
    *,
    lang: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the sentence.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Which to explain; needed if texts may have several.",
            show_default="the predicted one",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with coloured words instead.")
    ] = None,
) -> None:
    """Say which words of a sentence pushed towards a label, and which away from it.

    The numbers are exact: with the constant they add up to how far the label is ahead of the
    best other one.
    """
    from pmeans.errors import InputError
    from pmeans.files import replacing
    from pmeans.transfer import TransferClassifier
    from pmeans.transfer.explain_html import as_html

    if as_json and html:
        raise InputError("--json and --html exclude each other: leave one out.")
    found = TransferClassifier.load(folder).explain(sentence, lang=lang, label=label)
    if html:
        with replacing(html) as file:
            file.write(as_html([found]).encode("utf-8"))
        say(f"{found.verdict()}; in {html}.")
    elif as_json:
        print(json.dumps(found.as_json(), ensure_ascii=False))
    else:
        print(found.as_text(shutil.get_terminal_size().columns))
