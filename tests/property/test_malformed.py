"""Malformed input gives a `PmeansError`: what fuzzing has found, case by case."""

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.kernels import index
from pmeans.recipe import Recipe
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import map_tensors, open_space, save_space, write_tensors
from pmeans.types import WordTable
from pmeans.znorm import Statistics, ZNorm


@pytest.mark.parametrize(
    "toml",
    [
        "parts = " + "[" * 5000,
        f"parts = {'9' * 5000}",
        f"parts = 0x{'f' * 5000}",
        f"root = 0x{'f' * 5000}\nparts = []",
        f"[[parts]]\nspace = 's'\npowers = [{'9' * 400}]",
        f"[[parts]]\nspace = 's'\npowers = [0x{'f' * 5000}]",
    ],
)
def test_a_recipe_of_absurd_size_is_refused(tmp_path, toml):
    (tmp_path / "absurd.toml").write_text(toml)
    with pytest.raises(ConfigError, match=r"absurd\.toml"):
        Recipe.from_toml(tmp_path / "absurd.toml")


def test_a_slot_with_a_number_beyond_the_table_finds_nothing():
    whole = index.word_table(["the"])
    slots = whole.slots.copy()
    slots[slots[:, 1] != index.EMPTY, 1] |= np.uint64(5)
    # The last byte taken off, these bytes spell the word.
    words = np.frombuffer(b"theX", np.uint8)
    assert index.find(WordTable(words, whole.offsets, slots), ["the"]).tolist() == [-1]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("count.en", np.array(3)),
        ("count.en", np.array([], dtype=np.int64)),
        ("count.en", np.array([np.nan], dtype=np.float32)),
        ("mean.en", np.array([0, np.inf], dtype=np.float32)),
        ("mean.en", np.array([0, 1], dtype=np.int8)),
        ("std.en", np.array([1, np.nan], dtype=np.float32)),
        ("std.en", np.array([1, -1], dtype=np.float32)),
    ],
)
def test_statistics_that_are_none_are_refused(tmp_path, name, array):
    fitted = Statistics(np.zeros(2, np.float32), np.ones(2, np.float32), 9)
    ZNorm("per_language", {"en": fitted}).save(tmp_path / "znorm")
    tensors, metadata = map_tensors(tmp_path / "znorm")
    write_tensors(tmp_path / "changed", tensors | {name: array}, metadata)
    with pytest.raises(FormatError, match="statistics of 'en'"):
        ZNorm.load(tmp_path / "changed", "per_language", 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"languages": "[" * 100_000}, "damaged"),
        ({"minn": "2", "maxn": str(2**40)}, "n-gram lengths"),
        ({"minn": "2", "maxn": "65"}, "n-gram lengths"),
    ],
)
def test_metadata_beyond_all_measure_are_refused(tmp_path, changed, message):
    rows = np.ones((2, 3), np.float32)
    space = WordSpace.from_words("s", {"en": ["a", "b"]}, rows, subwords=Subwords(rows, 2, 3))
    save_space(space, tmp_path / "x")
    tensors, metadata = map_tensors(tmp_path / "x")
    write_tensors(tmp_path / "y", tensors, metadata | changed)
    with pytest.raises(FormatError, match=message):
        open_space(tmp_path / "y")


def test_a_store_without_words_cannot_claim_a_width_that_fills_the_memory(tmp_path):
    space = WordSpace.from_words("s", {"en": []}, np.empty((0, 2**40), np.float32))
    save_space(space, tmp_path / "x")
    with pytest.raises(FormatError, match="columns"):
        open_space(tmp_path / "x")


def test_no_n_gram_may_be_longer_than_any_word():
    rows = np.ones((2, 3), np.float32)
    with pytest.raises(InputError, match="64"):
        kernels.compose(["word"], rows, 2, 65)
    assert kernels.compose(["a" * 100], rows, 64, 64)[1].tolist() == [39]


def test_n_grams_whose_sum_overflows_do_not_warn():
    rows = np.full((2, 3), 3e38, np.float32)
    assert np.isinf(kernels.compose(["word"], rows, 2, 3)[0]).all()


def test_a_language_without_words_is_still_a_language():
    space = WordSpace.from_words("s", {"en": ["a"], "de": []}, np.ones((1, 3), np.float32))
    assert space.row("a", "de") == -1
    assert list(space.words("de")) == []
