import errno
from pathlib import Path

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, models
from pmeans.errors import FormatError, InputError, StorageError
from pmeans.spaces.store import save_space

TEXTS = ["the cat", "sat", "cat sat sat"]


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path / "home"))


@pytest.fixture
def fitted(toy):
    recipe = Recipe((Part("some/toy", (1, 3)), Part("b")), "mine", znorm="per_language")
    return PowerMeanEncoder(recipe, {"some/toy": toy, "b": toy}).fit_znorm(TEXTS, lang="en")


def test_a_saved_encoder_gives_the_same_bits(fitted, tmp_path):
    models.save(fitted, tmp_path / "enc")
    back = models.load(tmp_path / "enc")
    assert back.recipe == fitted.recipe
    np.testing.assert_array_equal(back.encode(TEXTS, lang="en"), fitted.encode(TEXTS, lang="en"))


def test_saving_again_replaces_the_encoder(fitted, toy, tmp_path):
    models.save(fitted, tmp_path / "enc")
    models.save(PowerMeanEncoder(Recipe((Part("t"),)), {"t": toy}), tmp_path / "enc")
    assert models.load(tmp_path / "enc").dim == 9
    assert not (tmp_path / "enc" / "znorm.safetensors").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["enc"]


def test_a_folder_that_is_no_encoder_is_never_replaced(fitted, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.jpg").write_text("x")
    with pytest.raises(InputError, match="exists and is no encoder"):
        models.save(fitted, tmp_path / "photos")
    assert (tmp_path / "photos" / "one.jpg").exists()


def test_a_misspelled_default_is_recognised():
    with pytest.raises(StorageError, match="Did you mean 'default'"):
        models.load("defualt")


def test_a_full_disk_is_our_error_and_keeps_the_old_encoder(fitted, tmp_path, monkeypatch):
    models.save(fitted, tmp_path / "enc")

    def full(self, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StorageError, match=r"enc': No space left on device. What was there before"):
        models.save(fitted, tmp_path / "enc")
    assert models.load(tmp_path / "enc").dim == fitted.dim
    assert [p.name for p in tmp_path.iterdir()] == ["enc"]


def test_a_failed_save_keeps_the_old_encoder(fitted, tmp_path, monkeypatch):
    models.save(fitted, tmp_path / "enc")

    def full(*_):
        raise StorageError("No space left on device")

    monkeypatch.setattr(models, "save_space", full)
    with pytest.raises(StorageError):
        models.save(fitted, tmp_path / "enc")
    assert models.load(tmp_path / "enc").dim == fitted.dim
    assert [p.name for p in tmp_path.iterdir()] == ["enc"]


def test_a_recipe_finds_spaces_beside_it_and_installed_ones(toy, tmp_path):
    save_space(toy, tmp_path / "home" / "spaces" / "installed.safetensors")
    save_space(toy, tmp_path / "near.safetensors")
    recipe = Recipe((Part("near.safetensors"), Part("installed")))
    (tmp_path / "r.toml").write_text(recipe.to_toml())
    assert models.load(tmp_path / "r.toml").dim == 18


def test_a_space_alone_gives_min_mean_and_max_of_raw_text(toy, tmp_path):
    save_space(toy, tmp_path / "home" / "spaces" / "toy.safetensors")
    row = models.load("toy").encode("The CAT!", lang="en")
    assert row.tolist() == [1, -1, -8, 1.5, 1.5, -4, 2, 4, 0]


def test_an_encoder_in_the_library_is_found_by_its_name(fitted, tmp_path):
    models.save(fitted, tmp_path / "home" / "models" / "mine")
    assert models.load("mine").name == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "no encoder 'nowhere'"),
        ("nowhere.toml", "no file 'nowhere.toml'"),
        ("nowhere.safetensors", "no file 'nowhere.safetensors'"),
    ],
)
def test_what_is_not_there_is_named(name, message):
    with pytest.raises(StorageError, match=message):
        models.load(name)


def test_a_recipe_with_an_unknown_space_says_how_to_go_on(tmp_path):
    (tmp_path / "r.toml").write_text('[[parts]]\nspace = "glove840b"\n')
    with pytest.raises(StorageError, match=r"no word space named 'glove840b'.*Did you mean"):
        models.load(tmp_path / "r.toml")


def test_statistics_of_another_recipe_are_refused(fitted, tmp_path):
    models.save(fitted, tmp_path / "enc")
    recipe = tmp_path / "enc" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("[1, 3]", "[1]"))
    with pytest.raises(FormatError, match="do not fit 12 columns"):
        models.load(tmp_path / "enc")
