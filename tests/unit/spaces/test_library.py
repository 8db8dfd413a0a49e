from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pmeans.errors import InputError, StorageError
from pmeans.spaces.library import find_space, home, installed, path_of
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PMEANS_HOME", str(tmp_path))
    return tmp_path


def install(name: str) -> Path:
    space = WordSpace.from_words(name, {"en": ["cat"]}, np.ones((1, 2), np.float32))
    save_space(space, path_of(name))
    return path_of(name)


def test_spaces_live_where_pmeans_home_says(folder):
    assert path_of("glove-840b") == folder / "spaces" / "glove-840b.safetensors"


def test_pmeans_home_may_begin_with_a_tilde(monkeypatch):
    monkeypatch.setenv("PMEANS_HOME", "~/vectors")
    assert home() == Path.home() / "vectors" / "spaces"


def test_without_it_they_live_in_the_users_cache(monkeypatch):
    monkeypatch.delenv("PMEANS_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/me")
    assert home() == Path("/var/cache/me/pmeans/spaces")


@pytest.mark.parametrize("cache", [None, "", "relative"])
def test_a_cache_that_is_not_absolute_is_ignored(monkeypatch, cache):
    monkeypatch.delenv("PMEANS_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
    assert home() == Path.home() / ".cache" / "pmeans" / "spaces"


def test_nothing_is_installed_before_the_folder_exists():
    assert installed() == []


def test_installed_spaces_are_sorted_and_nothing_else_is_listed(folder):
    paths = [install("b"), install("a")]
    (folder / "spaces" / "notes.txt").touch()
    assert installed() == sorted(paths)


def test_a_space_is_found_by_name():
    install("mine")
    assert find_space("mine").name == "mine"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_space_is_found_by_path(kind, tmp_path):
    moved = install("mine").rename(tmp_path / "other.safetensors")
    assert find_space(kind(moved)).name == "mine"


def test_a_path_may_be_relative(tmp_path, monkeypatch):
    install("mine").rename(tmp_path / "other.safetensors")
    monkeypatch.chdir(tmp_path)
    assert find_space("other.safetensors").name == "mine"


@pytest.mark.parametrize("name", ["", "..", ".hidden", "-rf", "a b", "a\0b", "ä", "a\n"])
def test_names_that_are_no_safe_file_names_are_refused(name):
    with pytest.raises(InputError, match="cannot name a word space"):
        path_of(name)


def test_a_name_cannot_reach_outside_the_folder():
    with pytest.raises(InputError, match="cannot name a word space"):
        path_of("../../etc/passwd")


def test_an_unknown_name_gets_the_nearest_installed_one():
    install("glove-840b-mine")
    install("other")
    with pytest.raises(StorageError) as caught:
        find_space("glove-840bmine")
    assert str(caught.value) == (
        "no word space named 'glove-840bmine'. Did you mean 'glove-840b-mine'? "
        "'pmeans spaces list' shows the 2 installed."
    )


def test_a_name_of_the_catalogue_says_how_to_get_it():
    with pytest.raises(StorageError) as caught:
        find_space("fasttext-crawl-de")
    assert str(caught.value) == (
        "the word space 'fasttext-crawl-de' is not installed. "
        "'pmeans spaces fetch fasttext-crawl-de' downloads it."
    )


def test_a_name_near_one_of_the_catalogue_says_how_to_get_that():
    with pytest.raises(
        StorageError, match=r"Did you mean 'glove-840b'\? 'pmeans spaces fetch glov"
    ):
        find_space("glove840b")


def test_a_path_that_is_not_there_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="no file"):
        find_space(tmp_path / "none.safetensors")
