"""Every option of ``pmeans serve`` can be set by an environment variable, and its help says so."""

from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from typer.main import get_command

from pmeans.cli.main import app
from pmeans.cli.serve import serve

SERVE = get_command(app).commands["serve"]
SETTABLE = [param for param in SERVE.params if param.name != "help"]


def read(arguments=()):
    """Return what the command would be called with."""
    return SERVE.make_context("serve", list(arguments)).params


def another(param):
    """Return a value that is not the default, as it is typed."""
    kind = get_type_hints(serve)[param.name]
    if get_origin(kind) is Literal:
        return get_args(kind)[-1]
    if kind is bool:
        return "1"
    return "7" if kind in (int, float) else "https://a.example"


@pytest.mark.parametrize("param", SETTABLE, ids=lambda param: param.name)
def test_a_variable_is_read_as_its_option_is(param, monkeypatch):
    value = another(param)
    name = [param.opts[0]] if param.param_type_name == "option" else []
    typed = name if value == "1" else [*name, value]
    expected = read(typed)[param.name]
    assert expected != read()[param.name]
    monkeypatch.setenv(f"PMEANS_SERVE_{param.name.upper()}", value)
    assert read()[param.name] == expected


@pytest.mark.parametrize("param", SETTABLE, ids=lambda param: param.name)
def test_the_help_names_the_variable(param):
    text = " ".join(SERVE.get_help(SERVE.make_context("serve", [], resilient_parsing=True)).split())
    assert f"PMEANS_SERVE_{param.name.upper()}" in text


def test_what_is_typed_goes_before_the_variable(monkeypatch):
    monkeypatch.setenv("PMEANS_SERVE_PORT", "7")
    assert read(["--port", "8"])["port"] == 8


def test_several_origins_are_separated_by_spaces(monkeypatch):
    monkeypatch.setenv("PMEANS_SERVE_CORS_ORIGIN", "https://a.example https://b.example")
    assert read()["cors_origin"] == ["https://a.example", "https://b.example"]
