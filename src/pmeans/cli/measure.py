"""``pmeans spaces eval``: measure a word space itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pmeans.cli.console import progress, say, table
from pmeans.cli.evaluate import Data
from pmeans.cli.spaces import Space


def register(app: typer.Typer) -> None:
    """Add the command to the group ``spaces``."""
    app.command("eval", epilog=_EXAMPLE)(measure)


_EXAMPLE = (
    "\b\nExample:\n  pmeans spaces eval bivcd --data ~/data --word house --picture pairs.svg\n"
)


def measure(
    name: Space,
    *,
    data: Data = None,
    word: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Also show its neighbours; may be given several times."),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also draw translation pairs, as .svg."),
    ] = None,
) -> None:
    """Measure a word space: word similarity, dictionary, sentence retrieval.

    Spearman: correlation of cosines with people's scores of pairs of words. P@K: how often one of
    the K nearest words by CSLS is a translation. Retrieval: how often the nearest of the held-out
    sentences is the translation, by the means of words.
    """
    from pmeans.evaluation.measures import space_report as report
    from pmeans.spaces.library import data_home, find_space

    space, folder = find_space(name), data_home(data, needed=True)
    with progress("measuring") as step:
        found = list(report.measures(space, folder, lambda share, text: step(share, 1, text)))
    rows = []
    for each in found:
        value = "–" if each.value is None else f"{each.value:.3f}"
        rows.append((each.what, each.lang, each.on, value, f"{each.covered:,} of {each.total:,}"))
    table(("MEASURE", "LANGUAGE", "ON", "VALUE", "COVERED"), rows)
    if word:
        print()
        near = [(each, *row) for each in word for row in report.side_by_side(space, each)]
        table(("WORD", *map(str.upper, space.languages)), near)
    if picture:
        n_pairs, langs = report.draw(space, folder, picture)
        say(f"{n_pairs} translation pairs {'-'.join(langs)} in {picture}.")
