"""What is kept to save work, and how it is removed."""

import pytest
from typer.testing import CliRunner

from pmeans.cli.main import app
from pmeans.files import locked
from pmeans.spaces import cache


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A library with an installed space, a model, and something of each kind that is kept."""
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path))
    for name, n_bytes in {
        "spaces/glove.safetensors": 7,
        "models/mine/recipe.toml": 7,
        "spaces/downloads/glove.zip": 5,
        "spaces/downloads/bivcd.gz.partial": 4,
        "made/bivcd-0123.safetensors": 3,
        "made/bivcd-0123.training": 2,
        "made/notes.txt": 1,
        "teachers/bge-01/0-2.safetensors": 9,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(n_bytes))
    return tmp_path


def files(home):
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}


STAY = {"spaces/glove.safetensors", "models/mine/recipe.toml", "made/notes.txt"}


def test_all_that_is_kept_is_removed_and_nothing_else(home):
    assert [cache.remove(kind) for kind in cache.KINDS] == [(2, 5), (1, 9), (2, 9)]
    assert files(home) == STAY
    assert not (home / "teachers").exists()
    assert [cache.remove(kind) for kind in cache.KINDS] == [(0, 0)] * 3


@pytest.mark.parametrize("lock", ["made/bivcd-0123.lock", "made/bivcd-0123.training"])
def test_what_is_being_made_stays(home, lock):
    before = files(home)
    with locked(home / lock):
        cache.remove("made")
        assert "made/bivcd-0123.training" in files(home)
        if lock.endswith(".lock"):
            assert files(home) == before | {lock}


def test_the_command_says_what_it_removes(home):
    before = files(home)
    said = CliRunner().invoke(app, ["clean", "--dry-run"]).stdout.splitlines()
    assert said[1:] == [
        f"made\t2\t5 bytes\t{home}/made",
        f"teachers\t1\t9 bytes\t{home}/teachers",
        f"downloads\t2\t9 bytes\t{home}/spaces/downloads",
    ]
    assert files(home) == before
    CliRunner().invoke(app, ["clean", "downloads"])
    assert before - files(home) == {
        "spaces/downloads/glove.zip",
        "spaces/downloads/bivcd.gz.partial",
    }


def test_a_kind_that_there_is_not_is_refused_before_anything_is_removed(home):
    before = files(home)
    done = CliRunner().invoke(app, ["clean", "made", "teacher"])
    assert done.exit_code == 1
    assert "called 'teacher'. Did you mean 'teachers'?" in done.output
    assert files(home) == before
