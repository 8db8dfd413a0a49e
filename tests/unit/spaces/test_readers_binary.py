"""word2vec's and fastText's binary files, and NumPy matrices."""

import gzip
import struct
from itertools import pairwise

import numpy as np
import pytest

from pmeans.errors import FormatError, StorageError
from pmeans.kernels.numpy_core import ngram_hash, ngram_pieces
from pmeans.spaces.readers import read_space
from pmeans.spaces.readers.entries import Policy
from pmeans.spaces.readers.fasttext_binary import ngram_buckets

SKIP = Policy.skipping()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "v.bin"


def floats(*values):
    return np.array(values, dtype="<f4").tobytes()


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_word2vec_vectors_may_end_with_a_newline(path, end):
    records = [b"the " + floats(1, 2) + end, b"of " + floats(3, 4) + end]
    path.write_bytes(b"2 2\n" + b"".join(records))
    space, _ = read_space(path)
    assert list(space.words("en")) == ["the", "of"]
    np.testing.assert_array_equal(space.matrix, [[1, 2], [3, 4]])


@pytest.mark.parametrize("header", [b"9999999999999999 2\n", b"3 2\n"])
def test_a_word2vec_header_is_not_believed(path, header):
    path.write_bytes(header + b"the " + floats(1, 2) + b"of " + floats(3, 4))
    with pytest.raises(FormatError, match="word 3: the file ends"):
        read_space(path)
    space, report = read_space(path, policy=SKIP)
    assert (len(space), report.truncated) == (2, int(header.split()[0]) - 2)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_an_absurd_dimension_is_refused(path, compress):
    path.write_bytes(compress(b"1 99999999999\nthe " + floats(1, 2)))
    with pytest.raises(FormatError, match="99,999,999,999 dimensions"):
        read_space(path, format="word2vec-binary")


def test_data_behind_the_last_word_is_counted(path):
    path.write_bytes(b"1 2\nthe " + floats(1, 2) + b"of " + floats(3, 4))
    with pytest.raises(FormatError, match="word 2: more data"):
        read_space(path)
    _, report = read_space(path, policy=SKIP)
    assert (report.kept, report.malformed) == (1, 1)


def test_a_character_cut_in_two_words_is_not_utf8(path):
    path.write_bytes(b"3 1\na\xc3 " + floats(1) + b"\xa9b " + floats(2) + b"the " + floats(3))
    space, report = read_space(path, policy=SKIP, format="word2vec-binary")
    assert (list(space.words("en")), report.bad_utf8) == (["the"], 2)


def test_a_word_with_two_problems_is_counted_once(path):
    path.write_bytes(b"2 1\n\xff " + floats(np.nan) + b"the " + floats(3))
    _, report = read_space(path, policy=SKIP, format="word2vec-binary")
    assert (report.nonfinite, report.bad_utf8, report.seen) == (1, 0, 2)


def fasttext(words, rows, ngrams, minn, maxn, labels=(), version=12, pruned=-1, quantised=0):
    """A fastText model, byte by byte."""
    dim = rows.shape[1]
    entries = [(word, 0) for word in words] + [(label, 1) for label in labels]
    data = struct.pack("<2i", 793712314, version)
    data += struct.pack("<12id", dim, 5, 1, 1, 5, 1, 1, 2, len(ngrams), minn, maxn, 100, 1e-4)
    data += struct.pack("<3i2q", len(entries), len(words), len(labels), 1000, pruned)
    data += b"".join(word.encode() + b"\0" + struct.pack("<qb", 9, kind) for word, kind in entries)
    data += struct.pack("<bqq", quantised, len(rows) + len(ngrams), dim)
    return data + rows.astype("<f4").tobytes() + ngrams.astype("<f4").tobytes()


ROWS = np.array([[8, 0], [0, 8], [4, 4]], np.float32)
NGRAMS = np.arange(10, dtype=np.float32).reshape(5, 2) ** 2


def fnv(text):
    """FNV-1a with bytes above 127 taken as negative, written from its description."""
    h = 2166136261
    for byte in text.encode():
        h = ((h ^ ((byte - 256 if byte > 127 else byte) % 2**32)) * 16777619) % 2**32
    return h


def test_a_fasttext_vector_is_the_mean_of_word_and_ngrams(path):
    path.write_bytes(fasttext(["ab", "é", "</s>"], ROWS, NGRAMS, 3, 3))
    space, _ = read_space(path)
    ab = (ROWS[0] + NGRAMS[fnv("<ab") % 5] + NGRAMS[fnv("ab>") % 5]) / 3
    e = (ROWS[1] + NGRAMS[fnv("<é>") % 5]) / 2
    np.testing.assert_allclose(space.matrix, [ab, e, ROWS[2]], rtol=1e-6)
    unknown = (NGRAMS[fnv("<xy") % 5] + NGRAMS[fnv("xy>") % 5]) / 2
    np.testing.assert_allclose(space.vector("xy", "en"), unknown, rtol=1e-6)
    assert (space.subwords.minn, space.subwords.maxn) == (3, 3)


@pytest.mark.parametrize(("minn", "maxn"), [(1, 2), (2, 4), (3, 6), (0, 3), (5, 5)])
def test_ngrams_of_known_words_are_those_of_unknown_ones(minn, maxn):
    words = ["ab", "Größe", "日本語", "x", "a\u0301", "\U0001f600!", "", "aujourd'hui"]
    buckets, borders = ngram_buckets([word.encode() for word in words], 1000, minn, maxn)
    got = [buckets[a:b].tolist() for a, b in pairwise(borders)]
    assert got == [
        [ngram_hash(piece) % 1000 for piece in ngram_pieces(word, minn, maxn)] for word in words
    ]


@pytest.mark.parametrize(("minn", "maxn", "n"), [(0, 0, 5), (3, 6, 0), (4, 3, 5)])
def test_a_fasttext_model_without_ngrams_has_plain_words(path, minn, maxn, n):
    path.write_bytes(fasttext(["ab", "cd", "ef"], ROWS, NGRAMS[:n], minn, maxn))
    space, _ = read_space(path)
    np.testing.assert_array_equal(space.matrix, ROWS)
    assert space.subwords is None


def test_labels_are_no_words(path):
    path.write_bytes(fasttext(["ab", "cd", "ef"], ROWS, NGRAMS, 0, 0, labels=["__label__x"]))
    space, report = read_space(path)
    assert list(space.words("en")) == ["ab", "cd", "ef"]
    assert (report.seen, report.kept, report.not_words) == (4, 3, 1)


def test_the_limit_keeps_the_subwords(path):
    path.write_bytes(fasttext(["ab", "cd", "ef"], ROWS, NGRAMS, 3, 3))
    whole, _ = read_space(path)
    space, _ = read_space(path, limit=2)
    np.testing.assert_array_equal(space.matrix, whole.matrix[:2])
    np.testing.assert_array_equal(space.subwords.ngrams, NGRAMS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"version": 11}, "version 11"),
        ({"quantised": 1}, "quantised"),
        ({"pruned": 0}, "quantised or pruned"),
    ],
)
def test_other_kinds_of_fasttext_model_are_refused(path, changes, message):
    path.write_bytes(fasttext(["ab", "cd", "ef"], ROWS, NGRAMS, 3, 3, **changes))
    with pytest.raises(FormatError, match=message):
        read_space(path, policy=SKIP)


def test_nan_in_an_ngram_is_refused_whatever_the_policy(path):
    ngrams = NGRAMS.copy()
    ngrams[4, 0] = np.nan
    path.write_bytes(fasttext(["ab", "cd", "ef"], ROWS, ngrams, 3, 3))
    with pytest.raises(FormatError, match="n-gram row 4"):
        read_space(path, policy=SKIP)


def test_a_text_file_is_no_fasttext_model(path):
    path.write_bytes(b"2 2\nthe 1 2\nof 3 4\n")
    with pytest.raises(FormatError, match="not a fastText model"):
        read_space(path, format="fasttext-binary")


@pytest.mark.parametrize("name", ["v.npy", "v.f16.npy", "v.f32.npy"])
def test_a_matrix_is_mapped_and_keeps_its_type(tmp_path, name):
    matrix = np.ones((2, 3), np.float16)
    np.save(tmp_path / name, matrix)
    (tmp_path / "v.words.txt").write_bytes(b"New York\r\nof")
    space, _ = read_space(tmp_path / name)
    assert (space.matrix.dtype, space.name) == (np.float16, "v")
    assert list(space.words("en")) == ["New York", "of"]
    owner = space.matrix
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert isinstance(owner, np.memmap)


@pytest.mark.parametrize("words", [b"a\n", b"a\nb\nc\n"])
def test_words_and_rows_must_be_as_many(tmp_path, words):
    np.save(tmp_path / "v.npy", np.ones((2, 3), np.float32))
    (tmp_path / "v.words.txt").write_bytes(words)
    with pytest.raises(FormatError, match="words for 2 vectors"):
        read_space(tmp_path / "v.npy")
    _, report = read_space(tmp_path / "v.npy", policy=SKIP)
    assert (report.kept, report.truncated) == (min(2, words.count(b"\n")), 1)


def test_a_matrix_needs_its_words(tmp_path):
    np.save(tmp_path / "v.npy", np.ones((2, 3), np.float32))
    with pytest.raises(StorageError, match=r"v\.words\.txt"):
        read_space(tmp_path / "v.npy")


@pytest.mark.parametrize(
    "matrix", [np.ones((2, 3)), np.ones(3, np.float32), np.array([{}, {}], dtype=object)]
)
def test_other_arrays_are_refused(tmp_path, matrix):
    np.save(tmp_path / "v.npy", matrix)
    (tmp_path / "v.words.txt").write_bytes(b"a\nb\n")
    with pytest.raises(FormatError):
        read_space(tmp_path / "v.npy")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_words", "dim", "case"),
    [
        ("glove-6b-100d.en", 120_000, 100, "lower"),
        ("googlenews-w2v-300d.en", 31_530, 300, "cased"),
    ],
)
def test_the_real_vectors_are_whole(data_dir, name, n_words, dim, case):
    space, report = read_space(data_dir / "vectors" / f"{name}.f16.npy", lang=name[-2:])
    assert (space.matrix.shape, space.case) == ((n_words, dim), case)
    assert report.seen == report.kept == n_words
