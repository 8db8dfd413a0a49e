"""``pmeans eval``: run experiments, and show what they came to."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from pmeans.cli.console import progress, resumable, say, table
from pmeans.cli.options import Data, argument, examples, group, option
from pmeans.cli.spaces import Space
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
    from pmeans.outputs import check_output
    from pmeans.spaces.library import data_home
    from pmeans_lab.experiments import run as running
    from pmeans_lab.experiments.plan import Experiment
    from pmeans_lab.experiments.results import files_of

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
    from pmeans.spaces.library import data_home
    from pmeans_lab.evaluation import tasks
    from pmeans_lab.experiments.run import found

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
    from pmeans.outputs import check_output
    from pmeans_lab.experiments import render, tables
    from pmeans_lab.experiments.plan import Experiment
    from pmeans_lab.experiments.results import files_of, scored

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
    from pmeans_lab.experiments import comparison, render
    from pmeans_lab.experiments.results import of_row

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
    from pmeans.outputs import check_output
    from pmeans_lab.experiments import plots
    from pmeans_lab.experiments.plan import Experiment
    from pmeans_lab.experiments.results import files_of, scored

    shown = Experiment.from_toml(experiment).only(which)
    check_output(output, [experiment, *files_of(results, shown)])
    found, reasons = scored(results, shown)
    say(plots.draw(shown, found, output, reasons))
    say(f"the figure is in {output}.")


@app.command(epilog=examples("pmeans eval prune experiments/*.toml"))
def prune(
    experiments: Annotated[
        list[Path], argument("EXPERIMENT...", "The files of all experiments with results in DIR.")
    ],
    *,
    results: Results = RESULTS,
) -> None:
    """Delete the results that no experiment asks for any more."""
    from pmeans_lab.experiments import results as store
    from pmeans_lab.experiments.plan import Experiment

    dropped = store.prune(results, [Experiment.from_toml(path) for path in experiments])
    say(f"{count(dropped, 'cell')} deleted.")


@app.command(
    "space",
    epilog=examples("pmeans eval space bivcd --data ~/data --word house --picture pairs.svg"),
)
def measure(
    name: Space,
    *,
    data: Data = None,
    word: Annotated[
        list[str] | None,
        option("WORD", "Also show the neighbours of WORD. May be given several times."),
    ] = None,
    picture: Annotated[Path | None, option("FILE", "Also draw translation pairs, as .svg.")] = None,
) -> None:
    """Measure a word space: word similarity, dictionary, sentence retrieval.

    Spearman: correlation of cosines with people's scores of pairs of words. P@K: how often one of
    the K nearest words by CSLS is a translation. Retrieval: how often the nearest of the held-out
    sentences is the translation, by the means of words.
    """
    from pmeans.outputs import check_output
    from pmeans.spaces.library import data_home, find_space
    from pmeans_lab.evaluation.measures import space_report as report

    space, folder = find_space(name), data_home(data, needed=True)
    if picture:
        check_output(picture, [space.path, *report.files_of(folder)])
    with progress("measuring") as step:
        found = list(report.measures(space, folder, step))
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
        say(f"{count(n_pairs, 'translation pair')} {'-'.join(langs)} in {picture}.")


def _write(text: str, output: Path | None) -> None:
    from pmeans.files import replacing

    if output is None:
        sys.stdout.write(text)
        return
    with replacing(output) as file:
        file.write(text.encode())
    say(f"the table is in {output}.")
