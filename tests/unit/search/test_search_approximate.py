"""The approximate index: what it finds, and when it is built anew."""

import json
import os
import sys
from hashlib import sha256

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


DAMAGE = {
    "a bit": lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:],
    "the end is missing": lambda data: data[:-1],
    "nothing but the header": lambda data: data[:256],
    "more at the end": lambda data: data + b"\0",
    "noise": lambda data: data[:256] + bytes(np.random.default_rng(0).bytes(len(data) - 256)),
    "zeros": lambda data: data[:256] + bytes(len(data) - 256),
}


def overwrite(path, data):
    """Put another file in the place of one, whose pages may still be mapped."""
    path.unlink()
    path.write_bytes(data)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_graph_is_refused_before_usearch_sees_it(path, damage, monkeypatch):
    graph = open_counting(path)[0].path
    overwrite(graph, DAMAGE[damage](graph.read_bytes()))
    from usearch.index import Index

    def restore(*args, **kwargs):
        raise AssertionError("it would crash")

    monkeypatch.setattr(Index, "restore", restore)
    with pytest.raises(FormatError, match=r"usearch' is damaged: remove it, and the next"):
        open_counting(path)


@pytest.mark.parametrize("header", [b"", b"{", b"[]", b"\xff", b'{"rows": []}', b"[" * 300])
def test_a_graph_whose_header_is_damaged_is_refused_and_stays(path, header):
    graph = open_counting(path)[0].path
    overwrite(graph, header)
    content = graph.read_bytes()
    with pytest.raises(InputError, match=r"not a graph of pmeans, or damaged: move it away"):
        open_counting(path)
    assert graph.read_bytes() == content


def test_a_graph_of_other_rows_than_it_says_is_refused(path, tmp_path):
    """Its checksum is right, and its header tells of this matrix: as of a program with a fault."""
    mine = open_counting(path)[0].path
    for rows in (ROWS[:, :15], np.concatenate([ROWS, ROWS])):
        np.save(tmp_path / "other.npy", np.ascontiguousarray(rows))
        other = open_counting(tmp_path / "other.npy")[0].path.read_bytes()
        header = json.loads(mine.read_bytes()[:256]) | {"sha256": sha256(other[256:]).hexdigest()}
        overwrite(mine, json.dumps(header).encode().ljust(255) + b"\n" + other[256:])
        with pytest.raises(FormatError, match="is damaged"):
            open_counting(path)


def test_a_row_that_is_not_finite_is_named_when_it_is_looked_at(path):
    index = open_counting(path)[0]
    stat = path.stat()
    rows = ROWS.copy()
    rows[123] = np.nan
    np.save(path, rows)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    index, built = open_counting(path)
    assert not built
    with pytest.raises(FormatError, match="row 123 of the index has a number that is not finite"):
        index.top_k(ROWS[123:124], 5)
