"""The page of the paper's claims is what their file and the store make of it."""

import importlib
import re
from pathlib import Path

import pytest

LAB = Path(__file__).parents[2]
FIGURE = re.compile(r"[+−±]?\d+\.\d")


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(LAB / "studies")
    return importlib.import_module("claims")


def test_the_claims_are_those_of_the_store(program):
    assert program.rendered() == program.PAGE.read_text(encoding="utf-8")


def test_figures_in_the_text_are_those_of_the_claims(program):
    text = program.PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(program.BEGIN)
    claims, _, after = rest.partition(program.END)
    figures = FIGURE.findall(before + after)
    assert figures
    assert [figure for figure in figures if figure not in FIGURE.findall(claims)] == []
