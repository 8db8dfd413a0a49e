"""``pmeans classify``: label single texts."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from pmeans.cli.console import say
from pmeans.cli.options import Classifier, Lang, Unsure

_HELP = """Label single texts: those given, or the lines of standard input.

Prints label, probability and text, with tabs between them. 'pmeans transfer predict' does the
same for files.
"""
_EXAMPLE = """\b
Examples:
  pmeans classify my-classifier/ "Die Suppe war kalt." --lang de
  echo "The soup was cold." | pmeans classify my-classifier/ --lang en --json
"""
_ONE_LINE = str.maketrans("\t\r\n", "   ")


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command("classify", help=_HELP, epilog=_EXAMPLE)(classify)


def classify(
    folder: Classifier,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="The texts.", show_default="standard input"),
    ] = None,
    *,
    lang: Lang = None,
    unsure: Unsure = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a JSON object for each text.")
    ] = False,
) -> None:
    """Parse the command; `_HELP` is what it says of itself."""
    from pmeans.apply.labelled import block_languages, checked_language
    from pmeans.rows import Block, Fields, Place, open_source, valid_text
    from pmeans.transfer import TransferClassifier, WordCount

    classifier = TransferClassifier.load(folder)
    if unsure is not None:
        classifier.unsure = unsure
    lang = checked_language(classifier.encoder, Fields(), lang)
    given = [Block([*map(valid_text, texts)], None, None, (), (), (), Place())] if texts else None
    words = WordCount()
    for block in given or open_source("-").blocks():
        codes = block_languages(block, lang, classifier.encoder)
        found = classifier.classify(block.texts, lang=codes, words=words)
        answers = zip(block.texts, found.labels, found.probabilities, found.empty, strict=True)
        for said, label, p, empty in answers:
            note = "no known word" if empty else "unsure" if label is None else ""
            if as_json:
                answer = {"text": said, "label": label, "probability": p, "note": note}
                print(json.dumps(answer, ensure_ascii=False))
            else:
                names = "|".join(label) if isinstance(label, tuple) else label or note
                shown = "|".join(f"{x:.4f}" for x in p) if isinstance(p, tuple) else f"{p:.4f}"
                print(names, shown, (said or "").translate(_ONE_LINE), sep="\t")
        sys.stdout.flush()
    for warning in words.warnings():
        say(f"warning: {warning}")
