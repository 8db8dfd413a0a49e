"""Sums of word vectors."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.errors import InputError
from pmeans.models.baselines import plain_mean
from pmeans.spaces.space import Subwords
from pmeans_lab.baselines.cvm_add.encoder import SumEncoder

WORDS = ["a", "dog", "cat", "hot dog"]
VECTORS = np.array([[1, 2], [3, 5], [-7, 11], [100, 100]], dtype=np.float32)


@pytest.fixture
def space():
    return WordSpace.from_words("toy", {"en": WORDS}, VECTORS)


def test_a_row_is_the_sum_of_its_known_words(space):
    encoder = SumEncoder("sum", plain_mean(space, "sum", "words"))
    rows = encoder.encode(["a dog, a cat", "dog", "unheard", ""], lang="en")
    np.testing.assert_allclose(rows, [[-2, 20], [3, 5], [0, 0], [0, 0]], rtol=1e-6)


def test_neither_phrases_nor_n_grams_take_part(space):
    ngrams = Subwords(np.ones((9, 2), dtype=np.float32), 3, 5)
    composing = WordSpace.from_words("toy", {"en": WORDS}, VECTORS, subwords=ngrams)
    for each in (space, composing):
        encoder = SumEncoder("sum", plain_mean(each, "sum", "words"))
        np.testing.assert_array_equal(encoder.encode(["hot dog"], lang="en"), [[3, 5]])


def test_a_stored_sum_gives_the_same_bits(space, tmp_path):
    encoder = SumEncoder("sum", plain_mean(space, "sum", "words"))
    models.save(encoder, tmp_path / "sum")
    back = models.load(tmp_path / "sum")
    assert back.fingerprint() == encoder.fingerprint()
    texts = ["a dog a cat cat", "a"]
    np.testing.assert_array_equal(back.encode(texts, lang="en"), encoder.encode(texts, lang="en"))


def test_other_means_cannot_be_summed(space):
    other = PowerMeanEncoder(Recipe((Part("toy", (2,)),), "two"), {"toy": space})
    with pytest.raises(InputError, match="plain mean of one word space"):
        SumEncoder("sum", other)
