"""``pmeans eval``: run experiments, and show what they came to."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from pmeans.cli.console import progress, resumable, say, table
from pmeans.cli.options import Data, argument, examples, group, option
from pmeans.errors import count

app = group("Evaluate encoders, and show the results as tables and figures.")
ExperimentFile = Annotated[
    Path, argument("EXPERIMENT", "A TOML file, such as those in experiments/.")
]
Results = Annotated[Path, option("DIR", "Folder with the results.")]
Which = Annotated[
    Literal["paper", "available"] | None,
    option(None, "Only encoders of this set of word spaces.", "--set"),
]
Format = Annotated[
    Literal["markdown", "latex", "csv", "html"], option(None, "Format of the table.", "--format")
]
OnlyEncoder = Annotated[
    list[str] | None, option("NAME", "Evaluate this encoder. May be given several times.")
]
OnlyTask = Annotated[
    list[str] | None, option("NAME", "Evaluate on this task. May be given several times.")
]
RESULTS = Path("results")


@app.command(epilog=examples("pmeans eval run experiments/monolingual.toml --only-task MR"))
def run(
    experiment: ExperimentFile,
    *,
    data: Data = None,
    results: Results = RESULTS,
    which: Which = None,
    only_encoder: OnlyEncoder = None,
    only_task: OnlyTask = None,
    n_threads: Annotated[
        int | None, option("N", "Number of threads.", "--threads", min=1, shown="all cores")
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], option(None, "Where classifiers are trained.")
    ] = "cpu",
) -> None:
    """Evaluate the encoders of an experiment on its tasks.

    Each finished cell is written to DIR/cells.jsonl at once. After an interruption, the same
    command goes on from there, and several can run at the same time. What another experiment has
    computed is not computed again. Cells whose data or word space is missing are left out, and
    DIR/NAME/rows.json says why.
    """
    from pmeans.experiments import run as running
    from pmeans.experiments.plan import Experiment
    from pmeans.experiments.results import files_of
    from pmeans.outputs import check_output
    from pmeans.spaces.library import data_home

    whole = Experiment.from_toml(experiment)
    for path in files_of(results, whole):
        check_output(path, [experiment])
    with resumable(), progress("evaluating") as step:
        outcome = running.run(
            whole.only(which, only_encoder or (), only_task or ()),
            root=data_home(data, needed=data is not None or whole.needs_data),
            results=results,
            progress=step,
            n_threads=n_threads,
            device=device,
        )
    for reason, times in Counter(outcome.reasons.values()).items():
        say(f"{count(times, 'cell')} left out: {reason}")
    if outcome.elsewhere:
        say(f"{count(outcome.elsewhere, 'cell')} left to another run, which is at work on them.")
    if outcome.now or outcome.elsewhere:
        say(f"{count(outcome.now, 'cell')} evaluated, {outcome.before:,} finished before.")
    else:
        say(f"nothing to do: {count(outcome.before, 'cell')} finished before.")


@app.command("tasks", epilog=examples("pmeans eval tasks --data ~/data"))
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


@app.command(
    "table", epilog=examples("pmeans eval table experiments/monolingual.toml --format latex")
)
def show_table(
    experiment: ExperimentFile,
    *,
    format_: Format = "markdown",
    output: Annotated[
        Path | None, option("FILE", "File to write.", shown="standard output")
    ] = None,
    results: Results = RESULTS,
    which: Which = None,
) -> None:
    """Print the table of an experiment, from its results alone.

    A cell without results is a dash, and the reason stands below the table.
    """
    from pmeans.experiments import render, tables
    from pmeans.experiments.plan import Experiment
    from pmeans.experiments.results import files_of, scored
    from pmeans.outputs import check_output

    shown = Experiment.from_toml(experiment).only(which)
    if output:
        check_output(output, [experiment, *files_of(results, shown)])
    made = tables.build(shown, *scored(results, shown))
    _write(render.render(made, format_), output)


_COMPARED = "Name of an experiment, a colon, and one of its encoders."


@app.command(
    epilog=examples('pmeans eval compare "monolingual:GN mean" "monolingual:GN [-inf, 1, inf]"')
)
def compare(
    a: Annotated[str, argument("A", _COMPARED)],
    b: Annotated[str, argument("B", _COMPARED)],
    *,
    format_: Format = "markdown",
    results: Results = RESULTS,
) -> None:
    """Compare two encoders, task by task."""
    from pmeans.experiments import comparison, render
    from pmeans.experiments.results import of_row

    (name_a, first), (name_b, second) = of_row(results, a), of_row(results, b)
    made = comparison.compare(name_a, first.values(), name_b, second.values())
    _write(render.render(made, format_), None)


@app.command(epilog=examples("pmeans eval plot experiments/paper-figure1.toml --output figure.svg"))
def plot(
    experiment: ExperimentFile,
    *,
    output: Annotated[Path, option("FILE", "File to write: .svg, .pdf or .png.")],
    results: Results = RESULTS,
    which: Which = None,
) -> None:
    """Draw average scores against numbers of columns.

    If the experiment has columns, draw the scores of each pair of training and test language.
    """
    from pmeans.experiments import plots
    from pmeans.experiments.plan import Experiment
    from pmeans.experiments.results import files_of, scored
    from pmeans.outputs import check_output

    shown = Experiment.from_toml(experiment).only(which)
    check_output(output, [experiment, *files_of(results, shown)])
    found, reasons = scored(results, shown)
    say(plots.draw(shown, found, output, reasons))
    say(f"the figure is in {output}.")


def _write(text: str, output: Path | None) -> None:
    from pmeans.files import replacing

    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as file:
        file.write(text.encode())
    say(f"the table is in {output}.")
