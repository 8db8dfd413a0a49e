"""Word vectors in four bits a number do what those in eight do."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from pmeans import kernels
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.errors import FormatError, InputError
from pmeans.kernels import coded, numpy_core
from pmeans.spaces.edit import limit, merge, prune, quantise, rename
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import open_space, problems, save_space
from pmeans.tables.writers import coded_rows
from pmeans.tensors import decoded, map_tensors, precision_of, quantised, write_tensors
from pmeans.types import TokenBatch

WORDS = {"en": ["the", "cat", "sat"], "de": ["die", "katze"]}


def vectors(n, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


@pytest.fixture
def full():
    return WordSpace.from_words(
        "s", WORDS, vectors(5, 6), subwords=Subwords(vectors(9, 6, seed=1), 2, 3)
    )


@pytest.fixture
def small(full):
    return quantise(full, "int4")


def test_two_columns_lie_in_a_byte_the_first_in_the_lower_half():
    codes = np.array([[1, -1, 7, -7]], dtype=np.int8)
    assert coded.packed(codes).tolist() == [[0xF1, 0x97]]
    assert coded.unpacked(coded.packed(codes)).tolist() == codes.tolist()


def test_int4_is_the_nearest_of_seven_steps_to_the_largest_if_nothing_is_cut_off():
    rows = np.array([[7, -7, 7, 3.4, 0, -1.6], [0] * 6], dtype=np.float32)
    stored, scale = quantised(rows, None, "int4", str)
    assert coded.unpacked(stored).tolist() == [[7, -7, 7, 3, 0, -2], [0] * 6]
    assert scale.tolist() == [1, 0]


def test_int4_cuts_off_one_large_number_where_that_is_the_lesser_error():
    row = np.full((1, 100), 0.25, dtype=np.float32)
    row[0, 0] = 1
    _, scale = quantised(row, None, "int4", str)
    # 0.25 is 1.75 steps of 1 / 7, and 1.94 of 0.9 / 7, for which 0.1 of the largest is lost.
    assert scale[0] == np.float32(0.9) / np.float32(7)


@pytest.mark.parametrize("size", [1e-44, 1e-30, 1.0, 1e38])
def test_int4_stored_again_is_the_same(size):
    stored, scale = quantised(vectors(300, 30) * np.float32(size / 10), None, "int4", str)
    again, same_scale = quantised(decoded(stored, scale), None, "int4", str)
    np.testing.assert_array_equal(again, stored)
    np.testing.assert_array_equal(same_scale, scale)


def test_int4_is_never_further_off_than_steps_to_the_largest():
    rows = vectors(300, 64)
    scale = np.abs(rows).max(axis=1, keepdims=True) / 7
    plain = ((rows - np.rint(rows / scale) * scale) ** 2).sum(axis=1)
    best = ((rows - decoded(*quantised(rows, None, "int4", str))) ** 2).sum(axis=1)
    # rtol: both sums are of float32.
    assert (best <= plain * (1 + 1e-5)).all()
    assert best.sum() < 0.95 * plain.sum()


def test_int4_needs_an_even_number_of_columns():
    with pytest.raises(InputError, match=r"even number of columns, not 3; take int8"):
        quantised(vectors(2, 3), None, "int4", str)


def test_int4_refuses_infinity(full):
    full.matrix[1, 0] = np.inf
    with pytest.raises(InputError, match=r"int4 has no code for inf, .* of 'cat' \(en\)"):
        quantise(full, "int4")


def test_a_space_in_int4_has_its_columns_and_says_its_precision(small):
    assert (small.dim, small.precision, small.matrix.shape) == (6, "int4", (5, 3))
    assert "6 d int4" in repr(small)
    assert precision_of(small.subwords.ngrams) == "int4"


def test_words_and_ngrams_are_read_as_codes_times_scale(small):
    codes = coded.unpacked(small.matrix).astype(np.float32)
    expected = codes * small.scale[:, None]
    np.testing.assert_array_equal(small.vectors(["cat"], "en")[0], expected[1:2])
    ngrams = decoded(small.subwords.ngrams, small.subwords.scale)
    composed, _ = kernels.compose(["hund"], ngrams, 2, 3)
    np.testing.assert_array_equal(small.vector("Hund", "de"), composed[0])


def test_a_space_can_be_made_of_codes_and_a_scale(small):
    made = WordSpace.from_words("s", WORDS, small.matrix, scale=small.scale)
    assert made.precision == "int4"
    np.testing.assert_array_equal(made.rows(slice(None)), small.rows(slice(None)))
    assert WordSpace.from_words("s", WORDS, small.matrix).precision == "float32"


def test_int4_is_stored_and_mapped(small, tmp_path):
    save_space(small, tmp_path / "s")
    back = open_space(tmp_path / "s")
    assert (back.precision, back.digest()) == ("int4", small.digest())
    assert map_tensors(tmp_path / "s")[1]["version"] == "5"
    assert not back.matrix.flags.owndata
    assert list(problems(back)) == []
    assert pickle.loads(pickle.dumps(back)).digest() == small.digest()


@pytest.mark.parametrize("coded", ["words", "ngrams"])
def test_words_and_ngrams_may_differ_in_precision(full, small, coded, tmp_path):
    mixed = replace(small if coded == "words" else full, subwords=None)
    mixed = replace(mixed, subwords=(full if coded == "words" else small).subwords)
    save_space(mixed, tmp_path / "s")
    assert open_space(tmp_path / "s").digest() == mixed.digest()
    assert map_tensors(tmp_path / "s")[1]["version"] == "5"


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"scale": None}, "the matrix: int8 or int4 and a scale go together"),
        ({"matrix": np.zeros((5, 6), np.float32)}, "int8 or int4 and a scale go together"),
        ({"scale": np.full(5, np.inf, np.float32)}, "a scale is not a finite number"),
        ({"scale": np.ones(4, np.float32)}, "scale misfits"),
        ({"matrix": np.zeros((5, 2), np.uint8)}, r"the n-gram vectors misfit: \(9, 3\)"),
        ({"matrix": np.zeros((4, 3), np.uint8), "scale": np.ones(4, np.float32)}, "5 words for 4"),
        ({"ngram_scale": None}, "n-grams: int8 or int4 and a scale go together"),
    ],
)
def test_a_damaged_file_is_refused(small, changes, error, tmp_path):
    save_space(small, tmp_path / "s")
    tensors, metadata = map_tensors(tmp_path / "s")
    tensors = {name: value for name, value in (tensors | changes).items() if value is not None}
    write_tensors(tmp_path / "damaged", tensors, metadata)
    with pytest.raises(FormatError, match=error):
        open_space(tmp_path / "damaged")


def test_editing_keeps_the_codes(small):
    for edited in (rename(small, "t"), limit(small, 2), prune(small, {"en": ["cat", "the"]})):
        assert edited.precision == "int4"
        np.testing.assert_array_equal(edited.vector("cat", "en"), small.vector("cat", "en"))
    parts = [prune(small, {lang: words}) for lang, words in WORDS.items()]
    merged = merge(parts, "s")
    np.testing.assert_array_equal(merged.matrix, small.matrix)
    np.testing.assert_array_equal(merged.scale, small.scale)


def test_merged_with_another_precision_it_becomes_float32(full, small):
    merged = merge([small, quantise(full, "int8")], "m")
    assert (merged.precision, merged.scale) == ("float32", None)
    np.testing.assert_array_equal(merged.matrix, small.rows(slice(None)))


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_int4_can_be_stored_in_more_bits(small, precision):
    other = quantise(small, precision)
    assert (other.precision, other.dim) == (precision, 6)
    # An int8 number is off by half of 1 / 127 of the row's largest.
    np.testing.assert_allclose(other.rows(slice(None)), small.rows(slice(None)), atol=0.02)


def test_the_digest_tells_int4_from_other_bytes(full, small):
    assert len({s.digest() for s in (full, small, quantise(full, "int8"))}) == 3


def test_composed_words_stand_beside_int4_rows(small):
    batch = TokenBatch(np.array([0, 5, 2], np.int32), np.array([0, 3]), np.zeros(1, np.int32))
    composed = vectors(1, 6, seed=3)
    powers = [-np.inf, 1, np.inf]
    got = kernels.power_means(small.matrix, batch, powers, scale=small.scale, composed=composed)
    rows = np.concatenate([small.rows(slice(None)), composed])
    np.testing.assert_array_equal(got, kernels.power_means(rows, batch, powers))


@pytest.mark.parametrize("core", [kernels.core, numpy_core])
def test_int4_rows_are_finite(core):
    assert core.first_not_finite(np.full((3, 2), 255, np.uint8), 1) == -1


def test_a_damaged_scale_of_an_int4_word_is_found(small):
    batch = TokenBatch(np.array([0, 1], np.int32), np.array([0, 2]), np.zeros(1, np.int32))
    scale = np.array([1, np.nan, 1, 1, 1], np.float32)
    with pytest.raises(InputError, match="word vector 1 has NaN or infinity"):
        kernels.power_means(np.full((5, 3), 17, np.uint8), batch, [np.inf], scale=scale)
    with pytest.raises(InputError, match="int4 word vectors need a scale"):
        kernels.power_means(small.matrix, batch, [1])


def test_maps_and_finished_rows_are_not_stored_as_int4():
    maps = Alignment("en", {"de": LanguageMap((vectors(4, 4),), "")})
    with pytest.raises(InputError, match="maps cannot be stored as 'int4'; take float32"):
        maps.stored_as("int4")
    with pytest.raises(InputError, match="dtype is one of float32, float16, int8, not 'int4'"):
        coded_rows(vectors(2, 4), "int4")
