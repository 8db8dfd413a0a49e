"""``pmeans similarity`` and ``detect``: what single texts are like, and their languages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from pmeans.cli import options
from pmeans.cli.console import say_waiting
from pmeans.cli.options import argument, examples, flag, option

Model = Annotated[str, option("MODEL", "A model: its name or folder, a recipe, or a word space.")]
Json = Annotated[bool, flag("--json", "Print a JSON object for each text.")]

SIMILARITY = examples('pmeans similarity "The soup was cold." "Die Suppe war kalt." "Guten Tag!"')


def similarity(
    text: Annotated[str, argument("TEXT", "What the others are compared with.")],
    others: Annotated[
        list[str] | None, argument("OTHER", "Other texts, in any language.", "standard input")
    ] = None,
    *,
    lang: Annotated[
        str | None, option("LANGUAGE", "Language of all texts.", shown="detected")
    ] = None,
    model: Model = "default",
    as_json: Json = False,
) -> None:
    """Say how near in meaning texts are to another one.

    Prints the cosine of each text with the first one, at most 1, and the text, with a tab between
    them.
    """
    from pmeans import models
    from pmeans.languages.resolution import language_of_rows
    from pmeans.tables import valid_text

    encoder = models.load(model)
    lang = language_of_rows(encoder, lang)
    first = encoder.encode([valid_text(text)], lang=lang)
    for some in _texts(others):
        cosines = encoder.similarity(first, encoder.encode(some, lang=lang))[0].tolist()
        for other, cosine in zip(some, cosines, strict=True):
            if as_json:
                answer = {"text": other, "similarity": round(cosine, 6)}
                print(json.dumps(answer, ensure_ascii=False))
            else:
                print(f"{cosine:.4f}", other.translate(options.ONE_LINE), sep="\t")


DETECT = examples('pmeans detect "Die Suppe war kalt."', "pmeans detect < sentences.txt")


def detect(
    texts: Annotated[
        list[str] | None, argument("TEXT", "Texts to detect the language of.", "standard input")
    ] = None,
    *,
    model: Model = "default",
    as_json: Json = False,
) -> None:
    """Detect the languages of single texts, or of the lines of standard input.

    Prints language, probability and text, with tabs between them. A text in none of the model's
    languages has none.
    """
    from pmeans import models

    encoder = models.load(model)
    for some in _texts(texts):
        for text, (lang, probability) in zip(some, encoder.detect(some), strict=True):
            if as_json:
                answer = {"text": text, "language": lang, "probability": round(probability, 6)}
                print(json.dumps(answer, ensure_ascii=False))
            else:
                shown = text.translate(options.ONE_LINE)
                print(lang or "", f"{probability:.4f}", shown, sep="\t")


def _texts(texts: list[str] | None) -> Iterator[list[str]]:
    """Yield texts of the command line, or else the lines of standard input, some at a time."""
    from pmeans.tables import open_source, valid_text

    if texts:
        yield [valid_text(text) for text in texts]
        return
    say_waiting()
    for block in open_source("-").blocks():
        yield [text or "" for text in block.texts]
