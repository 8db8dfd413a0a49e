"""``pmeans eval``: run experiments, and show what they came to."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

import typer

from pmeans.cli.console import progress, resumable, say, table

app = typer.Typer(
    help="Evaluate encoders, and show the results as tables and figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
ExperimentFile = Annotated[
    Path, typer.Argument(metavar="EXPERIMENT", help="A TOML file, as in experiments/.")
]
Results = Annotated[Path, typer.Option(metavar="DIR", help="Folder of all results.")]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder with the tasks' data.",
        show_default="$PMEANS_DATA, or data beside the word spaces",
    ),
]
Which = Annotated[
    Literal["paper", "available"] | None,
    typer.Option("--set", help="Only encoders over these word spaces."),
]
Format = Annotated[
    Literal["markdown", "latex", "csv", "html"], typer.Option("--format", help="Of the table.")
]
RESULTS = Path("results")


def register(parent: typer.Typer) -> None:
    """Add the group to the program."""
    parent.add_typer(app, name="eval")


_RUN = """Evaluate the encoders of an experiment on its tasks.

Each finished cell is kept in DIR/cells.jsonl at once: after an interruption the same command
goes on from there, and several may run at the same time. What another experiment has computed is
not computed again. What has no data or word space is left out, with the reason in
DIR/NAME/rows.json.
"""
_RUN_EXAMPLE = "\b\nExample:\n  pmeans eval run experiments/monolingual.toml --only-task MR\n"


@app.command(help=_RUN, epilog=_RUN_EXAMPLE)
def run(
    experiment: ExperimentFile,
    *,
    data: Data = None,
    results: Results = RESULTS,
    which: Which = None,
    only_encoder: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="May be given several times.")
    ] = None,
    only_task: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="May be given several times.")
    ] = None,
    n_threads: Annotated[
        int | None,
        typer.Option("--threads", metavar="N", min=1, help="All cores if not given."),
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option(help="Where classifiers are trained.")
    ] = "cpu",
) -> None:
    """Parse the command; `_RUN` is what it says of itself."""
    from pmeans.experiments import run as running
    from pmeans.experiments.plan import Experiment
    from pmeans.spaces.library import data_home

    whole = Experiment.from_toml(experiment)
    with resumable(), progress("evaluating") as step:
        outcome = running.run(
            whole.only(which, only_encoder or (), only_task or ()),
            root=data_home(data, needed=data is not None or whole.needs_data),
            results=results,
            progress=lambda share, text: step(share, 1, text),
            n_threads=n_threads,
            device=device,
        )
    for reason, count in Counter(outcome.reasons.values()).items():
        say(f"{count} cells left out: {reason}")
    if outcome.elsewhere:
        say(f"{outcome.elsewhere} cells are being evaluated by another run.")
    if outcome.now or outcome.elsewhere:
        say(f"{outcome.now} cells evaluated, {outcome.before} were finished before.")
    else:
        say(f"nothing to do: {outcome.before} cells finished.")


@app.command("tasks", epilog="\b\nExample:\n  pmeans eval tasks --data ~/data\n")
def list_tasks(*, data: Data = None) -> None:
    """List the known tasks, and whether their data is there."""
    from pmeans.evaluation import tasks
    from pmeans.experiments.run import found
    from pmeans.spaces.library import data_home

    root = data_home(data, needed=True)
    rows = []
    for task in tasks.known().values():
        there, missing = found(task, root, task.languages)
        rows.append((task.name, task.protocol, task.measure, " ".join(there), " ".join(missing)))
    table(("TASK", "PROTOCOL", "MEASURE", "FOUND", "MISSING"), rows)


_TABLE = "\b\nExample:\n  pmeans eval table experiments/monolingual.toml --format latex\n"


@app.command("table", epilog=_TABLE)
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
    from pmeans.experiments.plan import Experiment
    from pmeans.experiments.results import scored

    shown = Experiment.from_toml(experiment).only(which)
    made = tables.build(shown, *scored(results, shown))
    _write(render.render(made, format_), output)


_COMPARE = """\b
Example:
  pmeans eval compare "monolingual:GN mean" "monolingual:GN [-inf, 1, inf]"
"""
_SOURCE = "An experiment with results, a colon, and one of its encoders."


@app.command(epilog=_COMPARE)
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_SOURCE)],
    b: Annotated[str, typer.Argument(metavar="B", help=_SOURCE)],
    *,
    format_: Format = "markdown",
    results: Results = RESULTS,
) -> None:
    """Compare two encoders, task by task."""
    from pmeans.experiments import render, tables
    from pmeans.experiments.results import of_row

    (name_a, first), (name_b, second) = of_row(results, a), of_row(results, b)
    made = tables.compare(name_a, first.values(), name_b, second.values())
    _write(render.render(made, format_), None)


_PLOT = "\b\nExample:\n  pmeans eval plot experiments/paper-figure1.toml --output figure.svg\n"


@app.command(epilog=_PLOT)
def plot(
    experiment: ExperimentFile,
    *,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where to: .svg, .pdf or .png.")],
    results: Results = RESULTS,
    which: Which = None,
) -> None:
    """Draw average scores against numbers of columns."""
    from pmeans.experiments import plots
    from pmeans.experiments.plan import Experiment
    from pmeans.experiments.results import scored

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
