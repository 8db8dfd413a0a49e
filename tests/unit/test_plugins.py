"""What other packages add, by entry points."""

from importlib.metadata import EntryPoint

import pytest
import typer
from typer.testing import CliRunner

from pmeans import plugins
from pmeans.cli.main import app
from pmeans.errors import ConfigError, FormatError
from pmeans.models import baselines
from pmeans.training import baseline_kinds, from_toml, kinds


@pytest.fixture
def installed(monkeypatch):
    """Return the entry points of each group, to be changed by a test."""
    groups = {}
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: [EntryPoint(*each, group) for each in groups.get(group, {}).items()],
    )
    plugins.added.cache_clear()
    yield groups
    plugins.added.cache_clear()


def test_an_object_is_found_by_module_and_name():
    assert plugins.load("typer:Typer") is typer.Typer


def test_what_is_added_is_sorted_by_name(installed):
    installed["pmeans.trainers"] = {"b": "two:B", "a": "one:A"}
    assert list(plugins.added("pmeans.trainers").items()) == [("a", "one:A"), ("b", "two:B")]
    assert kinds()["b"] == "two:B"


def test_a_command_of_another_package_is_run_and_listed(installed, monkeypatch):
    other = typer.Typer()
    other.command()(lambda: print("hello"))
    monkeypatch.setattr(plugins, "load", {"other:app": other}.get)
    installed["pmeans.commands"] = {"greet": "other:app"}
    assert CliRunner().invoke(app, ["greet"]).stdout == "hello\n"
    assert "greet" in CliRunner().invoke(app, ["--help"]).stdout


def test_without_other_packages_there_are_no_further_kinds(installed, tmp_path):
    assert baseline_kinds() == {}
    with pytest.raises(FormatError, match="which no installed package knows"):
        baselines.of_kind("sif")
    (tmp_path / "x.toml").write_text('kind = "sif"\nname = "x"\n')
    with pytest.raises(ConfigError, match="kind 'sif' is none of convert"):
        from_toml(tmp_path / "x.toml")
