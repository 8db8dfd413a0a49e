"""The approximate index: what it finds, and when it is built anew."""

import os
import sys

import numpy as np
import pytest

from pmeans.errors import FormatError, InputError
from pmeans.search import ApproximateIndex, open_index, top_k

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(500, 16)).astype(np.float32)
ROWS[[3, 77]] = 0
QUERIES = RNG.normal(size=(20, 16)).astype(np.float32)

usearch = pytest.importorskip("usearch", reason="needs the extra [search]")


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "index.npy", ROWS)
    return tmp_path / "index.npy"


def open_counting(path):
    """Open the approximate index of a file, and return whether it was built for that."""
    reports = []
    index = ApproximateIndex(open_index(path), lambda done, total: reports.append(done))
    return index, bool(reports)


def test_most_of_the_exact_answer_is_found_with_the_exact_scores(path):
    found, scores = open_counting(path)[0].top_k(QUERIES, 5)
    expected, values = top_k(QUERIES, ROWS, 5)
    same = found == expected
    assert same.mean() > 0.9  # of 500 rows, 128 are candidates; all 100 are found as a rule
    np.testing.assert_array_equal(scores[same], values[same])


def test_zero_rows_are_not_found_even_when_all_are_asked_for(path):
    found, scores = open_counting(path)[0].top_k(QUERIES[:1], 600)
    assert not {3, 77} & set(found[0].tolist())
    assert (found[0, 498:] == -1).all()
    assert np.isneginf(scores[found == -1]).all()


def test_a_zero_query_finds_nothing(path):
    assert (open_counting(path)[0].top_k(QUERIES * 0, 3)[0] == -1).all()


def test_rows_of_any_length_keep_their_direction(path):
    lengths = RNG.choice(np.float32([1e-30, 1, 1e30]), (len(ROWS), 1))
    np.save(path, ROWS * lengths)
    found, _ = open_counting(path)[0].top_k(QUERIES, 1)
    assert (found == top_k(QUERIES, ROWS, 1)[0]).mean() > 0.9


def test_the_index_is_built_once_and_lies_beside_the_rows(path):
    first, built = open_counting(path)
    assert built
    assert first.path == path.with_name("index.npy.usearch")
    again, built = open_counting(path)
    assert not built
    np.testing.assert_array_equal(again.top_k(QUERIES, 5)[0], first.top_k(QUERIES, 5)[0])


def test_the_index_of_rows_that_have_changed_is_built_anew(path):
    open_counting(path)
    np.save(path, ROWS[::-1])  # as many bytes as before
    os.utime(path, ns=(0, 1))
    index, built = open_counting(path)
    assert built
    assert (index.top_k(QUERIES, 1)[0] == top_k(QUERIES, ROWS[::-1], 1)[0]).mean() > 0.9


def test_the_index_of_another_usearch_is_built_anew(path, monkeypatch):
    open_counting(path)
    monkeypatch.setattr(usearch, "__version__", "0.0.1")
    assert open_counting(path)[1]


def test_rows_that_are_not_finite_are_refused_and_nothing_is_left(path):
    rows = ROWS.copy()
    rows[7, 0] = np.nan
    np.save(path, rows)
    with pytest.raises(FormatError, match="row 7"):
        open_counting(path)
    assert list(path.parent.iterdir()) == [path]


def test_no_rows_are_searched_in_vain(path):
    np.save(path, ROWS[:0])
    assert (open_counting(path)[0].top_k(QUERIES, 3)[0] == -1).all()


def test_without_usearch_the_error_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    with pytest.raises(InputError, match=r"pip install 'pmeans\[search\]'"):
        open_counting(path)


def test_a_parquet_is_refused(tmp_path):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "index.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"embedding": ROWS.tolist()}), path)
    with pytest.raises(InputError, match=r"embed into a \.npy"):
        open_counting(path)
