"""``pmeans eval``: what its commands say, print and write."""

import json
import subprocess
import sys

import pytest
import toy_run
from typer.testing import CliRunner

from pmeans.cli.main import app


@pytest.fixture
def fakes(monkeypatch, tmp_path, toy):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PMEANS_DATA", raising=False)
    return toy_run.install(monkeypatch, tmp_path, toy)


@pytest.fixture
def eval_(fakes):
    return lambda *args: CliRunner().invoke(app, ["eval", *map(str, args)])


@pytest.fixture
def finished(eval_):
    assert eval_("run", "toy.toml", "--data", "data").exit_code == 0


def fails(result, *parts):
    """Check that a command failed with one line that has all these parts."""
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr
    return True


@pytest.mark.parametrize("args", [["eval", "--help"], ["eval", "run", "--help"]])
def test_help_loads_nothing_heavy(args):
    program = (
        "import sys\n"
        "from pmeans.cli.main import main\n"
        f"sys.argv[1:] = {args!r}\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'rich', 'scipy', 'sklearn', 'torch', 'matplotlib'}\n"
        "print('loaded:', heavy & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.endswith(b"loaded: set()\n")


def test_run_keeps_results_under_the_experiments_name_and_says_what_it_did(eval_, tmp_path):
    result = eval_("run", "toy.toml", "--data", "data")
    assert result.exit_code == 0
    assert result.stderr == (
        "2 cells left out: no word space named 'far-away'\n8 cells evaluated, 0 finished before.\n"
    )
    named = json.loads((tmp_path / "results/toy/rows.json").read_text())["cells"]
    assert {row for row, *_ in named} == {"mean", "min max"}
    lines = (tmp_path / "results/cells.jsonl").read_text().splitlines()
    assert {json.loads(line)["id"] for line in lines} == {cell for *_, cell in named}


def test_a_finished_run_has_nothing_to_do(eval_, finished):
    result = eval_("run", "toy.toml", "--data", "data", "--set", "available")
    assert result.stderr == "nothing to do: 8 cells finished before.\n"


def test_run_can_be_limited_to_encoders_and_tasks(eval_, fakes, tmp_path):
    only = ("--only-encoder", "mean", "--only-task", "MR", "--results", "kept")
    assert eval_("run", "toy.toml", "--data", "data", *only).exit_code == 0
    assert {cell[:2] for cell in fakes.evaluated} == {("mean", "MR")}
    assert (tmp_path / "kept/toy/rows.json").exists()


def test_an_interrupted_run_says_how_to_go_on(eval_, fakes):
    def interrupt():
        raise KeyboardInterrupt

    fakes.on_evaluate = interrupt
    result = eval_("run", "toy.toml", "--data", "data")
    assert result.exit_code == 130
    assert "run the same command again" in result.stderr


def test_missing_data_names_the_three_places_it_is_sought(eval_, monkeypatch):
    monkeypatch.setenv("PMEANS_DATA", "nowhere")
    places = ("that is given", "$PMEANS_DATA (nowhere)", "home/data")
    assert fails(eval_("run", "toy.toml"), "no folder 'nowhere'", *places)


def test_data_is_found_by_the_variable_and_beside_the_spaces(eval_, monkeypatch, tmp_path):
    monkeypatch.setenv("PMEANS_DATA", "data")
    assert eval_("run", "toy.toml").exit_code == 0
    monkeypatch.delenv("PMEANS_DATA")
    (tmp_path / "home/data").mkdir()
    assert eval_("run", "toy.toml").exit_code == 0


def test_a_bad_experiment_is_one_line(eval_, tmp_path):
    (tmp_path / "bad.toml").write_text(toy_run.TOML.replace("MR", "RM"))
    assert fails(eval_("run", "bad.toml", "--data", "data"), "bad.toml: no task named 'RM'")
    assert fails(eval_("table", "absent.toml"), "no file 'absent.toml'")


@pytest.mark.parametrize(
    ("format_", "sign"), [("markdown", "| "), ("latex", "\\"), ("html", "<t"), ("csv", ",")]
)
def test_a_table_is_printed_without_data_and_spaces(
    eval_, finished, monkeypatch, tmp_path, format_, sign
):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "empty"))
    result = eval_("table", "toy.toml", "--format", format_)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sign in result.stdout
    assert "mean" in result.stdout


def test_a_table_says_why_cells_are_empty(eval_, finished):
    printed = eval_("table", "toy.toml").stdout
    assert "no word space named 'far-away'" in printed
    assert "nobody has it" in printed


def test_a_table_of_one_set_has_no_rows_of_the_other(eval_, finished):
    printed = eval_("table", "toy.toml", "--set", "available").stdout
    assert "min max" in printed
    assert "nowhere" not in printed


def test_a_table_goes_to_a_file_whole(eval_, finished, tmp_path):
    result = eval_("table", "toy.toml", "--output", "table.md")
    assert (result.stdout, result.stderr) == ("", "the table is in table.md.\n")
    assert (tmp_path / "table.md").read_text() == eval_("table", "toy.toml").stdout


def test_a_table_of_what_was_never_run_has_no_numbers(eval_):
    result = eval_("table", "toy.toml")
    assert result.exit_code == 0
    assert "not run" in result.stdout


def test_two_rows_of_an_experiment_are_compared(eval_, finished):
    result = eval_("compare", "toy:mean", "toy:min max")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "mean" in result.stdout
    assert "AC" in result.stdout


def test_compare_asks_which_row_and_lists_them(eval_, finished):
    assert fails(eval_("compare", "toy", "toy"), "which row?", "mean; min max")
    wrong = eval_("compare", "toy:maen", "toy:mean")
    assert fails(wrong, "no row 'maen'", "Did you mean 'mean'", "mean; min max")


def test_an_experiment_with_one_row_needs_no_name(eval_, finished, tmp_path):
    only = ("--only-encoder", "mean")
    (tmp_path / "one.toml").write_text(toy_run.TOML.replace('name = "toy"', 'name = "one"'))
    assert eval_("run", "one.toml", "--data", "data", *only).exit_code == 0
    assert eval_("compare", "one", "toy:min max").exit_code == 0


def test_compare_says_that_there_are_no_results(eval_, finished):
    assert fails(eval_("compare", "tyo:mean", "toy:mean"), "'tyo'", "Did you mean 'toy'")


def test_the_figure_is_drawn_from_results(eval_, tmp_path):
    drawn = toy_run.TOML.replace('"transfer"', '"dimensions"').replace("in_language = true", "")
    (tmp_path / "toy.toml").write_text(drawn)
    assert eval_("run", "toy.toml", "--data", "data").exit_code == 0
    result = eval_("plot", "toy.toml", "--output", "figure.svg")
    assert result.exit_code == 0
    assert result.stderr.endswith("the figure is in figure.svg.\n")
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()


def test_tasks_are_listed_with_the_languages_that_are_there(eval_, fakes, monkeypatch):
    fakes.missing |= {("MR", "de"), ("MR", "fr")}
    monkeypatch.setitem(toy_run.SENTENCES, "fr", ("le chat", "le chien"))
    printed = eval_("tasks", "--data", "data").stdout
    assert "MR\tsenteval-2018\taccuracy\ten\tde fr\n" in printed


def test_a_damaged_note_of_reasons_says_what_to_do(eval_, finished, tmp_path):
    (tmp_path / "results/toy/rows.json").write_text("[1]")
    assert fails(eval_("table", "toy.toml"), "rows.json: not the cells", "Delete it")


def test_prune_deletes_what_no_experiment_asks_for_any_more(eval_, finished, tmp_path):
    assert eval_("prune", "toy.toml").stderr == "0 cells deleted.\n"
    file = tmp_path / "toy.toml"
    before, cut = file.read_text(), '[[encoders]]\nname = "min max"\n'
    head, _, rest = before.partition(cut)
    file.write_text(head + rest.partition("\n\n")[2])
    table = eval_("table", "toy.toml").stdout
    assert eval_("prune", "toy.toml").stderr == "4 cells deleted.\n"
    assert eval_("table", "toy.toml").stdout == table
    assert eval_("run", "toy.toml", "--data", "data").stderr.endswith("4 cells finished before.\n")


def test_prune_refuses_to_forget_an_experiment(eval_, finished, tmp_path):
    (tmp_path / "results" / "toy").rename(tmp_path / "results" / "old")
    before = (tmp_path / "results" / "cells.jsonl").read_bytes()
    assert fails(eval_("prune", "toy.toml"), "has results of old", "Name the files")
    assert (tmp_path / "results" / "cells.jsonl").read_bytes() == before
