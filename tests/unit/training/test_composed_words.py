"""Words and sentences by vectors of their own and of n-grams."""

from itertools import product

import numpy as np
import pytest

from pmeans.encoder.postprocess import unit_rows
from pmeans.training.composed_words import ComposedWords, fitted_ngrams, ngram_averages
from pmeans.training.students import Lessons


@pytest.fixture
def words():
    """Two sentences of three words: one with a vector of its own, one with n-grams, one of both."""
    lessons = Lessons(
        ids=np.array([0, 1, 2], np.int32),
        offsets=np.array([0, 2, 3]),
        pairs=np.array([[0, 1]]),
        langs=np.array([1]),
        targets=np.eye(1, 2),
        own=np.array([0, -1, 1]),
        ngrams=np.array([0, 1, 0, 1, 1, 1], np.int32),
        borders=np.array([0, 0, 2, 6]),
    )
    own, rows = np.float32([[2, 0], [0, 3]]), np.float32([[1, 0], [0, 1]])
    return ComposedWords(own, rows, lessons)


def test_ngrams_are_divided_by_the_root_of_their_number(words):
    vectors = words.vectors(np.array([0, 1, 2]))
    root = 0.5**0.5
    np.testing.assert_allclose(vectors, [[2, 0], [root, root], [0.5, 4.5]], rtol=1e-6)  # float32


def test_words_with_a_vector_of_their_own_have_their_ngrams_added_in(words):
    np.testing.assert_allclose(words.with_ngrams(), [[2, 0], [0.5, 4.5]], rtol=1e-6)  # float32


def test_what_is_left_is_at_right_angles_to_the_mean_of_the_words(words):
    left = words.left_over(np.array([0, 1]), np.array([[0.6, 0.8], [1, 0]]))
    means = words.means(np.array([0, 1]))
    np.testing.assert_allclose(np.einsum("ij,ij->i", left, means), 0, atol=1e-6)  # float32
    assert np.linalg.norm(left, axis=1).min() > 0.1


def test_other_axes_turn_all_words_alike(words):
    turn = np.float32([[0, 1], [-1, 0]])
    every = np.arange(3)
    np.testing.assert_allclose(
        words.turned(turn).vectors(every), words.vectors(every) @ turn, rtol=1e-6
    )


# Words of three syllables, each of which adds its meaning.
SYLLABLES = ["ba", "do", "fi", "gu", "le", "mo"]
MEANINGS = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
SPELLED = ["".join(SYLLABLES[i] for i in ids) for ids in product(range(6), repeat=3)]
VECTORS = np.array([MEANINGS[list(ids)].sum(axis=0) for ids in product(range(6), repeat=3)])
LEFT_OUT = np.arange(len(SPELLED)) % 9 == 0


def composed(penalty, *, as_folded=False):
    """Return what the n-grams of the other words make of those left out, (n, 5)."""
    averages = ngram_averages(SPELLED, 500, 2, 5, as_folded=as_folded)
    ngrams = fitted_ngrams(
        averages[~LEFT_OUT], VECTORS[~LEFT_OUT], penalty, lambda share, text: None
    )
    return averages[LEFT_OUT] @ ngrams


@pytest.mark.parametrize("as_folded", [False, True])
def test_words_left_out_get_the_vectors_that_their_parts_suggest(as_folded):
    vectors = composed(0.01, as_folded=as_folded)
    cosines = np.einsum("ij,ij->i", unit_rows(vectors), unit_rows(VECTORS[LEFT_OUT]))
    assert cosines.mean() > 0.9


def test_a_larger_penalty_gives_shorter_vectors():
    long, short = (np.linalg.norm(composed(penalty)) for penalty in (0.01, 10.0))
    assert short < long
