"""``pmeans train``: where the space goes, and what is left after an interruption."""

import numpy as np
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans.cli.main import app
from pmeans.training.joined import Merge


@pytest.fixture
def toml(tmp_path, monkeypatch):
    """A copy of three words."""
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))
    space = pmeans.WordSpace.from_words("s", {"en": ["a", "b", "c"]}, np.eye(3))
    pmeans.save_space(space, tmp_path / "s.safetensors")
    text = 'kind = "merge"\nname = "r"\nspaces = ["s.safetensors"]\n'
    (tmp_path / "r.toml").write_text(text)
    return tmp_path / "r.toml"


def run(*args):
    return CliRunner().invoke(app, ["train", *map(str, args)])


def interrupted(self, *, progress, checkpoint):
    checkpoint.write_bytes(b"state")
    raise KeyboardInterrupt


def test_the_space_is_installed_under_its_name(toml):
    result = run(toml)
    path = toml.parent / "home" / "spaces" / "r.safetensors"
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"3 words, 3 columns of float32, in {path}.\n"
    assert pmeans.open_space(path).name == "r"


def test_the_space_goes_where_it_was_asked_for(toml, tmp_path):
    assert run(toml, "--out", tmp_path / "x.safetensors").exit_code == 0
    assert pmeans.open_space(tmp_path / "x.safetensors").name == "r"


def test_an_interruption_keeps_the_state_beside_the_made_space_and_says_how_to_go_on(
    toml, tmp_path, monkeypatch
):
    monkeypatch.setattr(Merge, "train", interrupted)
    result = run(toml, "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: run the same command again to go on from here.\n"
    assert [path.suffix for path in (tmp_path / "home" / "made").iterdir()] == [".training"]


def test_the_state_is_forgotten_once_the_space_is_kept(toml, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Merge, "train", interrupted)
        run(toml)
    assert run(toml).exit_code == 0
    assert [path.suffix for path in (tmp_path / "home" / "made").iterdir()] == [".safetensors"]


def test_what_is_made_is_not_trained_again_unless_it_is_asked_for(toml, monkeypatch):
    run(toml)
    monkeypatch.setattr(Merge, "train", interrupted)
    assert run(toml).exit_code == 0
    assert run(toml, "--again").exit_code == 130


def test_several_spaces_are_installed_at_once_and_one_of_them_by_its_name(toml, tmp_path):
    toml.write_text(toml.read_text().replace('"r"', '"r-{n}"') + 'for = [{n = "1"}, {n = "2"}]')
    assert run(toml).exit_code == 0
    spaces = tmp_path / "home" / "spaces"
    assert sorted(path.stem for path in spaces.iterdir()) == ["r-1", "r-2"]
    (spaces / "r-1.safetensors").unlink()
    assert run(f"{toml}#r-1", "--out", tmp_path / "x.safetensors").exit_code == 0
    assert pmeans.open_space(tmp_path / "x.safetensors").name == "r-1"


def test_one_place_for_several_spaces_is_refused(toml, tmp_path):
    toml.write_text(toml.read_text().replace('"r"', '"r-{n}"') + 'for = [{n = "1"}, {n = "2"}]')
    result = run(toml, "--out", tmp_path / "x.safetensors")
    assert result.exit_code == 2
    assert "there are several spaces: r-1, r-2" in result.stderr


def test_an_unknown_kind_is_one_line(toml):
    toml.write_text('kind = "merg"\n')
    result = run(toml)
    assert result.exit_code == 1
    assert "Did you mean 'merge'?" in result.stderr
