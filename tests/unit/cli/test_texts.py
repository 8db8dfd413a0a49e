"""``pmeans similarity`` and ``detect``: what single texts are like, and their languages."""

import json
import os
import pty
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import pmeans
from pmeans.cli.main import app

SOUP = "The soup was cold."
TEXTS = ["Die Suppe war kalt.", "La soupe était froide.", "two\tlines\nhere"]


def run(*words, text=None):
    result = CliRunner().invoke(app, words, input=text)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def encoder():
    return pmeans.load()


def test_similarity_prints_a_cosine_and_a_text_per_line(encoder):
    cosines = encoder.similarity([SOUP], TEXTS)[0].tolist()
    shown = [text.replace("\t", " ").replace("\n", " ") for text in TEXTS]
    lines = [f"{cosine:.4f}\t{text}" for cosine, text in zip(cosines, shown, strict=True)]
    assert run("similarity", SOUP, *TEXTS).splitlines() == lines


def test_similarity_compares_the_lines_of_standard_input_and_prints_json():
    lines = run("similarity", SOUP, "--json", text="".join(f"{text}\n" for text in TEXTS[:2]))
    answers = [json.loads(line) for line in lines.splitlines()]
    assert [each["text"] for each in answers] == TEXTS[:2]
    assert all(each["similarity"] > 0.6 for each in answers)


def test_detect_prints_language_probability_and_text(encoder):
    for line, text in zip(run("detect", *TEXTS[:2]).splitlines(), TEXTS, strict=False):
        lang, probability, shown = line.split("\t")
        assert (lang, float(probability)) == pytest.approx(encoder.detect(text), abs=1e-4)
        assert shown == text


def test_detect_says_nothing_of_a_text_in_no_known_language():
    (line,) = run("detect", "--json", text="Dónde está la playa?\n").splitlines()
    assert json.loads(line)["language"] is None


@pytest.mark.parametrize("command", [["detect"], ["similarity", SOUP]], ids=lambda c: c[0])
def test_on_a_terminal_it_is_said_that_lines_are_awaited(command):
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"Die Suppe war kalt.\n\x04")
    done = subprocess.run(
        [sys.executable, "-m", "pmeans", *command],
        stdin=terminal,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(keyboard)
    os.close(terminal)
    assert done.returncode == 0
    assert "end with Ctrl-D" in done.stderr
    assert done.stdout.endswith("Die Suppe war kalt.\n")


def test_a_language_that_the_model_lacks_is_refused():
    result = CliRunner().invoke(app, ["similarity", SOUP, SOUP, "--lang", "Spanish"])
    assert result.exit_code == 1
    assert "no language 'Spanish'" in result.stderr


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "explain"])
def test_the_old_names_of_commands_still_work(name):
    now, before = run(name, "--help"), run("transfer", name, "--help")
    assert before.split("Options:")[1].split("Example")[0].strip() in now
    assert "transfer" not in run("--help")
