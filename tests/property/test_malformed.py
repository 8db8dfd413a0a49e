"""Malformed input gives a `PmeansError`: what fuzzing has found, case by case."""

import pytest

from pmeans.errors import ConfigError
from pmeans.recipe import Recipe


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
