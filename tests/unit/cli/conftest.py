"""A library of its own, the program, and a small space, for tests of commands."""

import numpy as np
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans.cli.main import app


@pytest.fixture(autouse=True)
def _own_library(tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))


@pytest.fixture
def run():
    return lambda *args, **kwargs: CliRunner().invoke(app, list(map(str, args)), **kwargs)


@pytest.fixture
def tiny(tmp_path):
    """Write a space of two languages to a file."""
    words = {"en": ["house", "dog"], "de": ["haus", "hund", "ein"]}
    rows = [[1, 0], [0, 1], [0.9, 0.1], [0.1, 0.9], [-1, -1]]
    space = pmeans.WordSpace.from_words("tiny", words, np.array(rows, dtype=np.float32))
    pmeans.save_space(space, tmp_path / "tiny.safetensors")
    return tmp_path / "tiny.safetensors"
