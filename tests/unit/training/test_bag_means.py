"""Means of words that are fitted to targets: the gradient, the averages, the steps, a pass."""

import numpy as np
import pytest

from pmeans.training.bag_means import averaging, gradients, pass_over, step
from pmeans.training.bags import BagReader


def test_the_gradient_is_the_slope_of_the_loss():
    rng = np.random.default_rng(1)
    means, targets = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    _, d_means = gradients(means, targets, 0.3)
    for at in np.ndindex(means.shape):
        moved = means.copy()
        moved[at] += 1e-5
        above = gradients(moved, targets, 0.3)[0]
        moved[at] -= 2e-5
        below = gradients(moved, targets, 0.3)[0]
        # Central differences of 1e-5 are good to about 1e-8.
        assert d_means[at] == pytest.approx((above - below) / 2e-5, abs=1e-7)


def test_means_that_point_to_their_targets_have_no_loss_without_contrast():
    loss, d_means = gradients(3 * np.eye(4), np.eye(4), 0.0)
    assert loss == pytest.approx(0)
    np.testing.assert_allclose(d_means, 0, atol=1e-12)


def test_words_are_averaged_by_sentence_and_a_sentence_without_any_is_zero():
    rows, averages = averaging(np.array([7, 2, 2, 7]), np.array([0, 0, 0, 2]), 3)
    assert rows.tolist() == [2, 7]
    # float32 thirds
    np.testing.assert_allclose(averages.toarray(), [[2 / 3, 1 / 3], [0, 0], [0, 1]], rtol=1e-6)


def test_a_first_step_is_as_long_as_the_rate_and_the_next_ones_are_shorter():
    vectors, squares = np.zeros((3, 2), np.float32), np.zeros(3, np.float32)
    gradient = np.array([[3, 4]], dtype=np.float32)
    step(vectors, squares, np.array([1]), gradient, 0.5)
    np.testing.assert_allclose(vectors, [[0, 0], [-0.3, -0.4], [0, 0]], rtol=1e-6)
    step(vectors, squares, np.array([1]), gradient, 0.5)
    moved = np.linalg.norm(vectors[1]) - 0.5
    assert moved == pytest.approx(0.5 / 2**0.5, rel=1e-6)


def test_a_pass_brings_means_to_their_targets_and_leaves_other_words_alone():
    reader = BagReader("en")
    for sentence in ("a b", "b c", "c a"):
        reader.add(sentence)
    _, bags = reader.bags({"en": ["a", "b", "c", "nowhere"]})
    targets = np.eye(3, dtype=np.float32)
    vectors = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    start, squares, losses = vectors.copy(), np.zeros(4, np.float32), []
    for epoch in range(50):
        pass_over(
            vectors, squares, bags, targets, np.random.default_rng(epoch),
            lambda share, text: losses.append(float(text.removeprefix("loss "))),
            rate=0.5, dropout=0.0,
        )  # fmt: skip
    assert losses[-1] < 0.05 < losses[0]
    np.testing.assert_array_equal(vectors[3], start[3])


def test_a_sentence_of_the_pivot_counts_once_whatever_its_translations():
    reader = BagReader("en")
    assert reader.add("a dog", "de", "ein hund")
    assert reader.add("a dog", "fr", "un chien")
    assert not reader.add("a cat", "fr", "")
    vocabulary, bags = reader.bags(reader.words({}, 0, 10, 0))
    assert vocabulary.words == {"en": ["a", "dog"], "de": ["ein", "hund"], "fr": ["un", "chien"]}
    assert (bags.targets.tolist(), np.diff(bags.offsets).tolist()) == ([0, 0, 0], [2, 2, 2])
