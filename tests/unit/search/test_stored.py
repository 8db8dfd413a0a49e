"""Rows in a temporary file: they are searched as others are."""

import errno
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmeans.errors import StorageError
from pmeans.search import top_k
from pmeans.search.stored import BATCH, StoredRows


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


@given(st.lists(st.integers(0, 9), max_size=5), st.integers(1, 12))
def test_rows_that_come_in_pieces_are_searched_as_one_matrix(sizes, k):
    store, whole = StoredRows(5), rows(sum(sizes))
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        store.append(whole[end - size : end])
    assert len(store) == len(store.array) == len(whole)
    found = store.nearest(rows(7, seed=1), k)
    expected = top_k(rows(7, seed=1), np.array(store.array), k)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_more_queries_than_fit_a_batch_are_all_answered():
    store = StoredRows(5)
    store.append(rows(30))
    queries = rows(2 * BATCH + 3, seed=2)
    np.testing.assert_array_equal(store.nearest(queries, 2)[0], top_k(queries, rows(30), 2)[0])


def test_a_graph_proposes_and_the_rows_decide():
    exact, graph = StoredRows(5), StoredRows(5, approximate=True)
    some = np.concatenate([rows(20), np.zeros((1, 5), dtype=np.float32), rows(1)])
    queries = np.concatenate([some[:3], np.zeros((1, 5), dtype=np.float32)])
    assert graph.nearest(queries, 2)[0].tolist() == [[-1, -1]] * 4
    for store in (exact, graph):
        store.append(some)
    for k in (1, 25):
        for one, other in zip(graph.nearest(queries, k), exact.nearest(queries, k), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_full_disk_names_the_folder_to_change(monkeypatch):
    store = StoredRows(5)

    class Full:
        def seek(self, *_):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, "_file", Full())
    with pytest.raises(StorageError, match=r"No space left on device\..* set TMPDIR"):
        store.append(rows(2))


def test_the_file_is_closed_with_the_store():
    store = StoredRows(5)
    file = store._file
    del store
    gc.collect()
    assert file.closed
