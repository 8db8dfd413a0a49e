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
    from pmeans.experiments import files, render, tables
    from pmeans.experiments.plan import Experiment

    shown = Experiment.from_toml(experiment).only(which)
    path = files.results_file(results, shown)
    made = tables.build(shown, files.read_results(path), files.read_reasons(path))
    _write(render.render(made, format_), output)


_COMPARE = """\b
Example:
  pmeans eval compare "results.jsonl:GN mean" "results.jsonl:GN [-inf, 1, inf]"
"""
_SOURCE = "A results.jsonl; with :ENCODER behind it if it has several."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SOURCE)],
    b: Annotated[str, typer.Argument(metavar="B", help=_SOURCE)],
    *,
    format_: Format = "markdown",
) -> None:
    """Compare two encoders, task by task."""
    from pmeans.experiments import compare as comparing
    from pmeans.experiments import files, render

    made = comparing.compare(files.of_encoder(a), files.of_encoder(b))
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
    from pmeans.experiments import files, plots
    from pmeans.experiments.plan import Experiment

    shown = Experiment.from_toml(experiment).only(which)
    path = files.results_file(results, shown)
    say(plots.dimensions(shown, files.read_results(path), output, files.read_reasons(path)))
    say(f"the figure is in {output}.")


def _write(text: str, output: Path | None) -> None:
    from pmeans.files import replacing

    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as file:
        file.write(text.encode())
    say(f"the table is in {output}.")
