"""What the laboratory's commands say about themselves, to the letter.

The texts lie in ``help/``; after a wanted change, ``python lab/tests/golden/test_eval_help.py``
writes them anew.
"""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from pmeans.cli.main import app

FOLDER = Path(__file__).parent / "help"
COMMANDS = ["", "run", "tasks", "table", "compare", "plot", "prune", "space"]


def said(name):
    # Without these, the width would be that of whatever terminal runs the tests.
    width = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
    words = ["eval", *name.split(), "--help"]
    result = CliRunner(env=width).invoke(app, words, prog_name="pmeans")
    assert result.exit_code == 0
    return result.stdout


def golden(name):
    return FOLDER / f"{'-'.join(['pmeans', 'eval', *name.split()])}.txt"


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_the_golden_text(name):
    assert said(name) == golden(name).read_text(encoding="utf-8")


def test_every_golden_text_belongs_to_a_command():
    assert sorted(FOLDER.iterdir()) == sorted(map(golden, COMMANDS))


@pytest.mark.parametrize("name", COMMANDS[1:])
def test_every_command_shows_an_example(name):
    assert f"pmeans eval {name}" in said(name).split("Example")[1]


if __name__ == "__main__":
    for each in COMMANDS:
        golden(each).write_text(said(each), encoding="utf-8")
