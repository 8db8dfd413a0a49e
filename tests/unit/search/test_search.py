"""The largest cosines, and the files that are searched."""

import json
import subprocess
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.errors import FormatError, InputError, LanguageError, StorageError
from pmeans.languages.resolution import DoubtfulLanguageWarning
from pmeans.mapped import file_of
from pmeans.search import find, open_index, top_k
from toy_identifier import make_identifier

ROWS = np.array([[0, 2], [3, 3], [5, 0], [0, 0], [-1, 0], [0, 9]], dtype=np.float32)
EAST = np.array([[1, 0]], dtype=np.float32)


def test_rows_come_by_cosine_whatever_their_length():
    found, scores = top_k(EAST, ROWS, 3)
    assert found.tolist() == [[2, 1, 0]]
    np.testing.assert_allclose(scores, [[1, np.sqrt(0.5), 0]], rtol=1e-7)
    assert (found.dtype, scores.dtype) == (np.int64, np.float32)


def test_the_smaller_row_number_wins_a_tie():
    assert top_k(EAST, ROWS, 4)[0].tolist() == [[2, 1, 0, 5]]


def test_equal_rows_have_equal_scores_wherever_they_stand():
    rng = np.random.default_rng(0)
    rows = np.tile(rng.normal(size=301).astype(np.float32), (1001, 1))
    found, scores = top_k(rng.normal(size=(3, 301)).astype(np.float32), rows, 1001)
    assert (found == np.arange(1001)).all()
    assert (scores == scores[:, :1]).all()


def test_zero_rows_are_never_found_and_missing_ones_are_minus_one():
    found, scores = top_k(EAST, ROWS, 8)
    assert found.tolist() == [[2, 1, 0, 5, 4, -1, -1, -1]]
    assert np.isneginf(scores[0, 5:]).all()


def test_a_zero_query_finds_nothing_and_leaves_others_alone():
    found, _ = top_k(np.array([[0, 0], [1, 0]], dtype=np.float32), ROWS, 2)
    assert found.tolist() == [[-1, -1], [2, 1]]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8"])
def test_rows_of_every_kind_are_searched(kind):
    assert top_k(EAST, ROWS.astype(kind), 3)[0].tolist() == [[2, 1, 0]]


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_rows_whose_squares_float32_cannot_hold_keep_their_direction(scale):
    np.testing.assert_allclose(
        top_k(EAST, ROWS * np.float32(scale), 3)[1], top_k(EAST, ROWS, 3)[1], rtol=1e-6
    )


def test_more_queries_than_are_answered_at_once_are_all_answered(monkeypatch):
    monkeypatch.setattr("pmeans.search.exact._QUERIES", 2)
    queries = np.array([[1, 0], [0, 1], [0, 0], [-1, 0], [1, 1]], dtype=np.float32)
    assert top_k(queries, ROWS, 1)[0].ravel().tolist() == [2, 0, -1, 4, 1]


def test_many_rows_compared_again_are_compared_piece_by_piece(monkeypatch):
    expected = top_k(EAST, ROWS, 6)
    monkeypatch.setattr("pmeans.search.exact._PAIRS", 4)
    np.testing.assert_array_equal(top_k(EAST, ROWS, 6), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_row_that_is_not_finite_is_named(bad, monkeypatch):
    monkeypatch.setattr("pmeans.search.exact._BLOCK", 4)  # two rows a block
    rows = ROWS.copy()
    rows[4, 1] = bad
    with pytest.raises(FormatError, match="row 4 of the index has a number that is not finite"):
        top_k(EAST, rows, 1)


@pytest.mark.parametrize(
    ("queries", "rows", "k", "message"),
    [
        (EAST, ROWS, 0, "cannot find 0 rows"),
        (EAST[0], ROWS, 1, r"queries of shape \(2,\) do not fit rows of 2"),
        (np.ones((1, 3), np.float32), ROWS, 1, "do not fit rows of 2 numbers"),
        (EAST * np.nan, ROWS, 1, "a query has a number that is not finite"),
        (EAST, ROWS.astype(np.uint8), 1, "cannot search uint8"),
        (EAST, ROWS[0], 1, "cannot search float32 of shape"),
    ],
)
def test_what_cannot_be_searched_is_refused(queries, rows, k, message):
    with pytest.raises(InputError, match=message):
        top_k(queries, rows, k)


def test_rows_of_a_npy_stay_on_disk(tmp_path):
    np.save(tmp_path / "index.npy", ROWS)
    index = open_index(tmp_path / "index.npy")
    assert file_of(index.rows.array) is not None
    assert top_k(EAST, index.rows, 1)[0].tolist() == [[2]]


def write_parquet(path, vectors, **columns):
    pyarrow.parquet.write_table(
        pyarrow.table({"embedding": vectors, **columns}), path, row_group_size=2
    )
    return path


@pytest.mark.parametrize("kind", ["list", "fixed"])
def test_vectors_of_a_parquet_are_found_across_row_groups(kind, tmp_path):
    length = 2 if kind == "fixed" else -1
    vectors = pyarrow.array(ROWS.tolist(), pyarrow.list_(pyarrow.float32(), length))
    index = open_index(write_parquet(tmp_path / "index.parquet", vectors))
    assert top_k(EAST, index.rows, 4)[0].tolist() == [[2, 1, 0, 5]]


def test_a_parquet_vector_of_another_length_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("pmeans.search.exact._BLOCK", 4)  # two rows a block
    path = write_parquet(tmp_path / "index.parquet", [[1.0, 0.0], [1.0, 0.0], [1.0], None])
    with pytest.raises(FormatError, match="row 2: no vector of 2 numbers"):
        top_k(EAST, open_index(path).rows)


def test_a_parquet_without_vectors_says_what_it_has(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"embeddings": [1]}), tmp_path / "index.parquet")
    with pytest.raises(FormatError, match="Did you mean 'embeddings'"):
        open_index(tmp_path / "index.parquet")
    with pytest.raises(FormatError, match="holds int64, not vectors"):
        open_index(write_parquet(tmp_path / "index.parquet", [1, 2]))


def test_texts_are_those_of_the_rows(tmp_path):
    np.save(tmp_path / "index.npy", ROWS[:3])
    (tmp_path / "texts.csv").write_text('body\n"a, b"\nc\nd\n')
    index = open_index(tmp_path / "index.npy", texts=tmp_path / "texts.csv", text="body")
    assert index.texts_of([0, 2]) == {0: "a, b", 2: "d"}


def test_the_texts_of_a_parquet_stand_beside_its_vectors(tmp_path):
    path = write_parquet(tmp_path / "i.parquet", [[1.0], [2.0]], text=["a", "b"], other=["c", "d"])
    assert open_index(path).texts_of([1]) == {1: "b"}
    assert open_index(path, text="other").texts_of([1]) == {1: "d"}
    with pytest.raises(FormatError, match=r"no column 'txt'\. Did you mean 'text'"):
        open_index(path, text="txt")


@pytest.mark.parametrize("text", ["a\nb\n", "a\nb\nc\nd\n"])
def test_texts_of_another_number_are_refused(text, tmp_path):
    np.save(tmp_path / "index.npy", ROWS[:3])
    (tmp_path / "texts.txt").write_text(text)
    index = open_index(tmp_path / "index.npy", texts=tmp_path / "texts.txt")
    with pytest.raises(FormatError, match=f"there are {text.count(chr(10))} texts for the 3 rows"):
        index.texts_of([0])


def test_files_that_are_no_index_are_refused(tmp_path):
    with pytest.raises(StorageError, match="no file"):
        open_index(tmp_path / "absent.npy")
    (tmp_path / "broken.npy").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"cannot be read as \.npy"):
        open_index(tmp_path / "broken.npy")
    (tmp_path / "index.txt").write_text("1 2")
    with pytest.raises(InputError, match=r"neither \.npy nor \.parquet"):
        open_index(tmp_path / "index.txt")
    np.save(tmp_path / "index.npy", ROWS)
    with pytest.raises(InputError, match="has no columns"):
        open_index(tmp_path / "index.npy", text="text")


def test_a_query_finds_rows_of_another_language(toy, tmp_path):
    part = pmeans.Part(space="toy", powers=(1.0,))
    encoder = pmeans.PowerMeanEncoder(pmeans.Recipe(name="toy", parts=(part,)), {"toy": toy})
    np.save(tmp_path / "index.npy", encoder.encode(["the", "sat", "cat"], lang="en"))
    index = open_index(tmp_path / "index.npy")
    answers = list(find(encoder, index, ["katze", "zzz"], lang="de", k=1))
    assert [(query, [hit.row for hit in hits]) for query, hits in answers] == [
        ("katze", [2]),
        ("zzz", []),
    ]
    with pytest.raises(LanguageError, match="no language 'fr'"):
        next(find(encoder, index, ["chat"], lang="fr"))
    np.save(tmp_path / "index.npy", ROWS)
    with pytest.raises(InputError, match="rows of 2 numbers and the model 'toy' makes 3"):
        next(find(encoder, open_index(tmp_path / "index.npy"), ["katze"], lang="de"))


def test_searching_loads_nothing_that_is_not_needed():
    program = (
        "import json, sys, pmeans.search\n"
        "print(json.dumps(sorted({'usearch', 'pyarrow', 'sklearn', 'scipy'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


def test_the_language_of_a_query_is_found(tmp_path, toy):
    words = {"en": ["the", "cat", "sat"], "de": ["die", "katze"]}
    recipe = Recipe((Part("toy", (1,)),), "toy", tokenizer="words")
    encoder = PowerMeanEncoder(recipe, {"toy": toy}, identifier=make_identifier(words))
    np.save(tmp_path / "rows.npy", encoder.encode(["cat", "sat", "katze"], lang=["en", "en", "de"]))
    index = open_index(tmp_path / "rows.npy")
    with pytest.warns(DoubtfulLanguageWarning, match="of 3 texts, 1 in none"):
        answers = [hits for _, hits in find(encoder, index, ["katze", "sat", "42"], k=1)]
    assert [[hit.row for hit in hits] for hits in answers] == [[2], [1], []]


def zipped(path):
    with open(path, "wb") as file:
        np.savez(file, ROWS)


def with_header(text):
    def write(path):
        header = text.encode().ljust(117) + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)

    return write


NO_MATRICES = {
    "objects": (lambda path: np.save(path, np.array([["a", None]], object)), "Python objects"),
    "text": (lambda path: np.save(path, np.array([["a", "b"]])), "cannot search <U1"),
    "whole numbers": (lambda path: np.save(path, ROWS.astype(np.int32)), "cannot search int32"),
    "complex": (lambda path: np.save(path, ROWS.astype(np.complex64)), "cannot search complex64"),
    "records": (lambda path: np.save(path, np.zeros(3, "f4, f4")), "cannot search"),
    "one row": (lambda path: np.save(path, ROWS[0]), r"shape \(2,\): expected"),
    "three axes": (lambda path: np.save(path, ROWS[None]), r"shape \(1, 6, 2\): expected"),
    "by columns": (lambda path: np.save(path, np.asfortranarray(ROWS)), "Fortran order"),
    "npz": (zipped, "cannot be read as .npy"),
    "empty": (lambda path: path.write_bytes(b""), "cannot be read as .npy"),
    "absurd shape": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}"),
        "cannot be read as .npy",
    ),
    "negative shape": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4)}"),
        "cannot be read as .npy",
    ),
    "no shape": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': ('a', 4)}"),
        "cannot be read as .npy",
    ),
    "of Python 2": (
        with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L)}"),
        "cannot be read as .npy: Reading",
    ),
    "no header": (with_header("{'descr': ("), "cannot be read as .npy"),
}


@pytest.mark.parametrize("kind", NO_MATRICES)
def test_a_npy_that_is_no_matrix_of_rows_is_refused_by_our_error(tmp_path, kind):
    write, message = NO_MATRICES[kind]
    write(tmp_path / "index.npy")
    with pytest.raises((FormatError, InputError), match=message) as caught:
        open_index(tmp_path / "index.npy")
    assert "index.npy" in str(caught.value)


def test_a_npy_that_was_cut_short_is_refused(tmp_path):
    np.save(tmp_path / "index.npy", ROWS)
    content = (tmp_path / "index.npy").read_bytes()
    (tmp_path / "index.npy").write_bytes(content[:-4])
    with pytest.raises(FormatError, match=r"cannot be read as \.npy"):
        open_index(tmp_path / "index.npy")


def test_texts_in_parquet_are_counted_when_the_index_is_opened(tmp_path):
    np.save(tmp_path / "index.npy", ROWS[:3])
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b"]}), tmp_path / "texts.parquet")
    with pytest.raises(FormatError, match=r"2 texts in .* for 3 rows of .*the very file"):
        open_index(tmp_path / "index.npy", texts=tmp_path / "texts.parquet")


def test_the_delimiter_of_no_file_is_refused(tmp_path):
    np.save(tmp_path / "index.npy", ROWS)
    for option in ({"delimiter": ";"}, {"encoding": "utf-8"}):
        with pytest.raises(InputError, match="is that of a file of texts: name it, texts="):
            open_index(tmp_path / "index.npy", **option)
