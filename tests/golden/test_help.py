"""What every command says about itself, to the letter.

The texts lie in ``help/``; after a wanted change, ``python tests/golden/test_help.py`` writes
them anew, and the difference is read before it is committed.
"""

from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from pmeans import plugins
from pmeans.cli.main import app

FOLDER = Path(__file__).parent / "help"
COMMANDS = [
    [],
    ["build"],
    ["classify"],
    ["clean"],
    ["dedupe"],
    ["detect"],
    ["embed"],
    ["evaluate"],
    ["explain"],
    ["extend"],
    ["fit"],
    ["index"],
    ["label"],
    ["mine"],
    ["models"],
    ["predict"],
    ["search"],
    ["serve"],
    ["similarity"],
    ["spaces"],
    *(
        ["spaces", name]
        for name in ("list", "info", "neighbours", "convert", "fetch", "export", "merge")
    ),
    ["train"],
]


def said(command):
    # Without these, the width would be that of whatever terminal runs the tests.
    width = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
    with patch.object(plugins, "added", return_value={}):  # whatever else is installed
        result = CliRunner(env=width).invoke(app, [*command, "--help"], prog_name="pmeans")
    assert result.exit_code == 0
    return result.stdout


def golden(command):
    return FOLDER / f"{'-'.join(['pmeans', *command])}.txt"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_is_the_golden_text(command):
    assert said(command) == golden(command).read_text(encoding="utf-8")


def test_every_golden_text_belongs_to_a_command():
    assert sorted(FOLDER.iterdir()) == sorted(map(golden, COMMANDS))


@pytest.mark.parametrize(
    "command",
    [c for c in COMMANDS if c not in ([], ["spaces"], ["transfer"])],
    ids=" ".join,
)
def test_every_command_shows_an_example(command):
    assert f"pmeans {' '.join(command)}" in said(command).split("Example")[1]


def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for command in COMMANDS:
        golden(command).write_text(said(command), encoding="utf-8")


if __name__ == "__main__":
    _write()
