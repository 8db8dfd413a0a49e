"""Malformed input gives a `PmeansError`: what fuzzing has found, case by case."""

import numpy as np
import pytest

from pmeans.errors import ConfigError
from pmeans.kernels import index
from pmeans.recipe import Recipe
from pmeans.types import WordTable


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
