"""``pmeans eval table, compare, plot``: show what experiments came to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from pmeans.cli.console import say
from pmeans.cli.evaluate import RESULTS, ExperimentFile, Results, Which

Format = Annotated[
    Literal["markdown", "latex", "csv", "html"], typer.Option("--format", help="Of the table.")
]


def register(app: typer.Typer) -> None:
    """Add the commands to the group ``eval``."""
    app.command("table", epilog=_TABLE)(show_table)
    app.command(epilog=_COMPARE)(compare)
    app.command(epilog=_PLOT)(plot)


_TABLE = "\b\nExample:\n  pmeans eval table experiments/monolingual.toml --format latex\n"


def show_table(
    experiment: ExperimentFile,
    *,
    format_: Format = "markdown",
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to.", show_default="standard output"),
    ] = None,
    results: Results = RESULTS,
    which: Which = None,
) -> None:
    """Print the table of an experiment, from its results alone.

    A cell without results is a dash, and the reason stands below the table.
    """
    from pmeans.experiments import render, tables
    from pmeans.experiments.folder import scored
    from pmeans.experiments.plan import Experiment

    shown = Experiment.from_toml(experiment).only(which)
    made = tables.build(shown, *scored(results, shown))
    _write(render.render(made, format_), output)


_COMPARE = """\b
Example:
  pmeans eval compare "monolingual:GN mean" "monolingual:GN [-inf, 1, inf]"
"""
_SOURCE = "An experiment with results, a colon, and one of its encoders."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SOURCE)],
    b: Annotated[str, typer.Argument(metavar="B", help=_SOURCE)],
    *,
    format_: Format = "markdown",
    results: Results = RESULTS,
) -> None:
    """Compare two encoders, task by task."""
    from pmeans.experiments import compare as comparing
    from pmeans.experiments import render
    from pmeans.experiments.folder import of_row

    (name_a, first), (name_b, second) = of_row(results, a), of_row(results, b)
    made = comparing.compare(name_a, first.values(), name_b, second.values())
    _write(render.render(made, format_), None)


_PLOT = "\b\nExample:\n  pmeans eval plot experiments/paper-figure1.toml --output figure.svg\n"


def plot(
    experiment: ExperimentFile,
    *,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to: .svg, .pdf or .png.")],
    results: Results = RESULTS,
    which: Which = None,
) -> None:
    """Draw average scores against numbers of columns."""
    from pmeans.experiments import plots
    from pmeans.experiments.folder import scored
    from pmeans.experiments.plan import Experiment

    shown = Experiment.from_toml(experiment).only(which)
    found, reasons = scored(results, shown)
    say(plots.dimensions(shown, found, output, reasons))
    say(f"the figure is in {output}.")


def _write(text: str, output: Path | None) -> None:
    from pmeans.files import replacing

    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as file:
        file.write(text.encode())
    say(f"the table is in {output}.")
