"""What is shown on a terminal is what was said, also where it looks like markup."""

import io
import sys

import numpy as np
import pytest

import pmeans
from pmeans.cli import transfer
from pmeans.cli.console import progress, say, table, warn
from pmeans.spaces.space import WordSpace

NAMES = ["[/b]", "[bug]", "[red]", "[link=x]", "a [/] b", "\\[b]", ":smile:"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def show(monkeypatch):
    """Return what a function shows on a terminal."""

    def shown(function):
        screen = Terminal()
        # Here, and not before the test: pytest sets its own streams when the test begins.
        monkeypatch.setattr(sys, "stdout", screen)
        monkeypatch.setattr(sys, "stderr", screen)
        function()
        return screen.getvalue()

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    return shown


@pytest.mark.parametrize("name", NAMES)
def test_a_table_shows_names_that_look_like_markup(show, name):
    header, row = show(lambda: table(("LABEL", name), [(name, "1")])).splitlines()
    assert name in header
    assert name in row


@pytest.mark.parametrize("name", NAMES)
def test_a_bar_shows_names_that_look_like_markup(show, name):
    def work():
        with progress(f"title {name}") as step:
            step(0.5, f"text {name}")

    shown = show(work)
    assert f"title {name}" in shown
    assert f"text {name}" in shown


@pytest.mark.parametrize("name", NAMES)
def test_a_message_shows_names_that_look_like_markup(show, name):
    assert show(lambda: say(name)) == f"{name}\n"


def test_a_warning_names_options_as_they_are_typed(show):
    assert show(lambda: warn("name the encoding=.")) == "warning: name the --encoding.\n"


def test_a_classifier_of_labels_that_look_like_markup_is_fitted_and_compared(show, tmp_path):
    words = ["cat", "dog", "soup", "tea"]
    vectors = np.array([[3, 0], [2, 0], [-3, 1], [-2, 1]], dtype=np.float32)
    pmeans.save_space(WordSpace.from_words("s", {"en": words}, vectors), tmp_path / "s.safetensors")
    rows = [
        f"{word},{label}"
        for word, label in zip(words, ["[/b]", "[/b]", "[red]", "[red]"], strict=True)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["text,label", *rows * 5]), encoding="utf-8")

    def work():
        transfer.fit(str(file), out=tmp_path / "made", model=str(tmp_path / "s.safetensors"))
        transfer.evaluate(tmp_path / "made", str(file))

    lines = show(work).splitlines()
    (header,) = (line for line in lines if "PREDICTED" in line)
    assert "[/b]" in header
    assert "[red]" in header
    assert sum("[red]" in line for line in lines if "PREDICTED" not in line) == 2
