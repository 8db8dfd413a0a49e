"""``pmeans build`` of a baseline, and the commands that take it."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from pmeans import models, plugins, training
from pmeans.building.baseline_file import read_build
from pmeans.cli.main import app
from pmeans.errors import ConfigError, PmeansError
from pmeans.files import altered
from pmeans.models import baselines
from pmeans.spaces.store import save_space

RECIPES = Path(__file__).parents[3] / "recipes" / "baselines"
BUILD = """
kind = "sif"
space = "toy.safetensors"
text = "train.txt"
lang = "en"
tokenizer = "whitespace"

[[frequencies]]
lang = "en"
text = "train.txt"

[[frequencies]]
lang = "de"
table = "de.tsv"
"""


@pytest.fixture
def source(toy, tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    save_space(toy, tmp_path / "toy.safetensors")
    (tmp_path / "train.txt").write_text("the cat\nthe cat sat\nsat\n")
    (tmp_path / "de.tsv").write_text("die 3\nkatze 1\n")
    (tmp_path / "mine.toml").write_text(BUILD)
    return tmp_path / "mine.toml"


def _run(*args):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_build_file_with_a_kind_makes_a_baseline(source, tmp_path):
    printed = _run("build", source, "--out", tmp_path / "sif")
    assert "baseline.safetensors" in printed
    made = models.load(tmp_path / "sif")
    assert (made.kind, made.name, made.languages) == ("sif", "mine", ("de", "en"))
    assert made.frequencies.tolist() == pytest.approx([2 / 6, 2 / 6, 2 / 6, 0.75, 0.25])
    assert altered(tmp_path / "sif") == []
    assert not list(tmp_path.glob(".*"))
    assert "# mine\n\n3 columns, de, en. An encoder of the kind `sif`" in models.card_of(made)


def test_embed_models_and_serve_take_it(source, tmp_path):
    pytest.importorskip("orjson")
    from pmeans.serve.service import Service, Settings

    folder = tmp_path / "home" / "models" / "sif"
    _run("build", source, "--out", folder)
    (tmp_path / "in.txt").write_text("the cat\nsat\n")
    _run("embed", folder, tmp_path / "in.txt", "--lang", "en", "--out", tmp_path / "out.npy")
    expected = models.load("sif").encode(["the cat", "sat"], lang="en")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    (line,) = (line for line in _run("models").splitlines() if line.split()[0] == "sif")
    assert "library" in line
    assert _run("models", "sif").startswith("# mine")
    service = Service(Settings(model="sif"))
    assert service.embed(["the cat"], "en", normalize=False).tolist() == expected[:1].tolist()
    assert service.info()["spaces"] == ["toy"]
    json.dumps(service.info())
    with pytest.raises(PmeansError, match="/convert needs an encoder of power means"):
        service.convert(["the cat"], [("toy", (1.0,))], "en")


def test_what_needs_power_means_refuses_it(source, tmp_path):
    _run("build", source, "--out", tmp_path / "sif")
    (tmp_path / "train.csv").write_text("text,label\nthe cat,a\nsat,b\n")
    for command in (
        ["transfer", "fit", tmp_path / "train.csv", "--model", tmp_path / "sif", "--out", "x"],
        ["build", tmp_path / "sif", "--package", tmp_path / "pmeans-model-x"],
    ):
        done = CliRunner().invoke(app, [str(arg) for arg in command])
        assert done.exit_code != 0
        assert "needs an encoder of power means" in done.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"sif"', '"siff"', "kind 'siff' is none of .*Did you mean 'sif'"),
        ('lang = "en"\ntok', 'lang = "en"\na = 0\ntok', "a must be above 0"),
        ('text = "train.txt"\nlang', 'texts = "train.txt"\nlang', "unknown key 'texts'"),
    ],
)
def test_mistakes_in_a_build_file_are_named(source, old, new, message):
    source.write_text(source.read_text().replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        read_build(source)


def test_every_kind_of_trainer_is_a_kind_of_baseline():
    for kind, reference in training.baseline_kinds().items():
        cls = plugins.load(reference)
        assert issubclass(cls, training.BaselineTrainer)
        made = kind.removesuffix("-file")  # what another program trained
        assert baselines.of_kind(made).kind == made


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_the_build_files_of_the_project_are_read(path, tmp_path):
    assert read_build(path, tmp_path).name == path.stem
