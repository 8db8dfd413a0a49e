"""Retrieval by CSLS."""

import numpy as np
import pytest

from pmeans.errors import InputError
from pmeans_lab.training import csls
from pmeans_lab.training.csls import csls_neighbours


def naive(queries, targets, k, top):
    q = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    t = targets / np.linalg.norm(targets, axis=1, keepdims=True)
    cosines = q @ t.T
    r_query = np.sort(cosines, axis=1)[:, -k:].mean(axis=1, keepdims=True)
    r_target = np.sort(cosines, axis=0)[-k:].mean(axis=0)
    return np.argsort(-(2 * cosines - r_query - r_target), axis=1)[:, :top]


@pytest.mark.parametrize("top", [1, 3])
def test_ranks_are_those_of_the_published_formula(top):
    rng = np.random.default_rng(1)
    queries, targets = rng.normal(size=(40, 6)), rng.normal(size=(30, 6))
    np.testing.assert_array_equal(
        csls_neighbours(queries, targets, 5, top), naive(queries, targets, 5, top)
    )


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    queries, targets = rng.normal(size=(40, 6)), rng.normal(size=(30, 6))
    whole = csls_neighbours(queries, targets, top=3)
    monkeypatch.setattr(csls, "_CELLS", 64)
    np.testing.assert_array_equal(csls_neighbours(queries, targets, top=3), whole)


def test_a_hub_loses_to_a_word_that_is_near_to_this_query_only():
    query = np.array([[1, 0.3]])
    targets = np.array([[1, 0], [1, 0.7]])
    assert csls_neighbours(query, targets)[0, 0] == 0  # the nearer by cosine
    assert csls_neighbours(query, targets, k=2, among=np.array([[1, 0], [1, 0]]))[0, 0] == 1


def test_a_zero_vector_is_no_nan():
    assert csls_neighbours(np.zeros((1, 2)), np.eye(2), top=2).tolist() == [[0, 1]]


def test_no_more_targets_than_there_are_come_back():
    assert csls_neighbours(np.eye(2), np.eye(2), top=9).shape == (2, 2)


def test_nothing_to_search_is_refused():
    with pytest.raises(InputError, match="0 targets"):
        csls_neighbours(np.eye(2), np.empty((0, 2)))
