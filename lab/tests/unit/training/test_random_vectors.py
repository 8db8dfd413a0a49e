import numpy as np
import pytest

from pmeans.errors import InputError
from pmeans.spaces.store import save_space
from pmeans_lab.training.random_vectors import RandomVectors


def test_words_stay_and_numbers_are_drawn_as_large_as_they_were(toy, tmp_path):
    save_space(toy, tmp_path / "toy.safetensors")
    path = str(tmp_path / "toy.safetensors")
    made = RandomVectors("random", path, dim=400, seed=1).train(progress=lambda share, words: None)
    assert {lang: list(made.words(lang)) for lang in made.tables} == {
        "en": ["the", "cat", "sat"],
        "de": ["die", "katze"],
    }
    size = np.sqrt(np.square(toy.matrix).mean())
    # rtol: of 2000 numbers, the deviation is known to two digits.
    np.testing.assert_allclose(np.sqrt(np.square(made.matrix).mean()), size, rtol=0.05)
    again = RandomVectors("random", path, dim=400, seed=2).train(progress=lambda share, words: None)
    assert not np.array_equal(made.matrix, again.matrix)


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="dim must be at least 1"):
        RandomVectors("random", "toy", dim=0)
    with pytest.raises(InputError, match="seed must be at least 0, not -1"):
        RandomVectors("random", "toy", seed=-1)
