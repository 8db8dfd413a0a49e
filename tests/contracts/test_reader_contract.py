"""What every reader promises, whatever the format."""

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reader_files import MATRIX, STREAMED, WORDS, WRITERS, main_file

from pmeans.errors import FormatError, InputError, PmeansError, StorageError
from pmeans.spaces.readers import FORMATS, detect_format, read_space
from pmeans.spaces.readers.entries import Policy
from pmeans.spaces.store import open_space, save_space

SKIP = Policy.skipping()
EVERY_FORMAT = pytest.mark.parametrize("kind", list(FORMATS))
STREAMED_FORMAT = pytest.mark.parametrize("kind", STREAMED)


def write_zip(path, data):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.txt", data)


COMPRESSIONS = {
    "gz": lambda path, data: path.write_bytes(gzip.compress(data)),
    "bz2": lambda path, data: path.write_bytes(bz2.compress(data)),
    "xz": lambda path, data: path.write_bytes(lzma.compress(data)),
    "zip": write_zip,
}


def assert_sums_up(report):
    left_out = report.duplicates + report.malformed + report.nonfinite + report.bad_utf8
    assert report.seen == report.kept + left_out + report.not_words


def test_the_contract_covers_every_format():
    assert set(WRITERS) == set(FORMATS)


@EVERY_FORMAT
def test_words_and_numbers_come_back_exactly(kind, tmp_path):
    space, report = read_space(WRITERS[kind](tmp_path), format=kind, lang="en", name="s")
    assert list(space.words("en")) == WORDS
    np.testing.assert_array_equal(space.matrix, MATRIX)
    assert (report.seen, report.kept, report.examples) == (len(WORDS), len(WORDS), ())
    assert (space.name, space.languages, space.case) == ("s", ("en",), "cased")


@EVERY_FORMAT
def test_the_format_is_told_from_the_content(kind, tmp_path):
    assert detect_format(WRITERS[kind](tmp_path)) == kind


@EVERY_FORMAT
def test_what_was_read_can_be_stored(kind, tmp_path):
    space, _ = read_space(WRITERS[kind](tmp_path))
    save_space(space, tmp_path / "stored")
    again = open_space(tmp_path / "stored")
    assert [again.row(word, "en") for word in WORDS] == list(range(len(WORDS)))


@EVERY_FORMAT
def test_a_missing_file_is_named(kind, tmp_path):
    with pytest.raises(StorageError, match="nowhere"):
        read_space(tmp_path / "nowhere", format=kind)


@EVERY_FORMAT
def test_an_empty_file_is_refused(kind, tmp_path):
    path = WRITERS[kind](tmp_path)
    main_file(path).write_bytes(b"")
    with pytest.raises(FormatError):
        read_space(path, format=kind, policy=SKIP)
    with pytest.raises(FormatError):
        read_space(path)


@EVERY_FORMAT
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_is_cut_short_is_refused(kind, share, tmp_path):
    path = WRITERS[kind](tmp_path)
    data = main_file(path).read_bytes()
    main_file(path).write_bytes(data[: int(share * len(data))])
    with pytest.raises(FormatError):
        read_space(path, format=kind)


@pytest.mark.parametrize("kind", ["text", "mapped", "word2vec-binary"])
def test_the_good_part_of_a_cut_file_can_be_kept(kind, tmp_path):
    path = WRITERS[kind](tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    space, report = read_space(path, format=kind, policy=SKIP)
    assert list(space.words("en")) == WORDS[: len(space)]
    assert report.kept + report.truncated == len(WORDS)
    assert "10 words are announced" in report.examples[0]


@EVERY_FORMAT
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_found(kind, value, tmp_path):
    matrix = MATRIX.copy()
    matrix[2, 1] = value
    path = WRITERS[kind](tmp_path, matrix=matrix)
    with pytest.raises(FormatError, match=r"'House.* has a value that is nan"):
        read_space(path, format=kind)
    space, report = read_space(path, format=kind, policy=SKIP)
    assert (report.nonfinite, report.kept, len(space)) == (1, len(WORDS) - 1, len(WORDS) - 1)
    assert space.row("House", "en") == -1
    assert_sums_up(report)


@EVERY_FORMAT
def test_of_equal_words_the_first_is_kept(kind, tmp_path):
    path = WRITERS[kind](tmp_path, words=[*WORDS[:5], "the", *WORDS[6:]])
    space, report = read_space(path, format=kind)
    np.testing.assert_array_equal(space.vector("the", "en"), MATRIX[0])
    assert (report.duplicates, report.kept) == (1, len(WORDS) - 1)
    assert_sums_up(report)
    with pytest.raises(FormatError, match="came before"):
        read_space(path, format=kind, policy=Policy(duplicates="fail"))


@pytest.mark.parametrize("kind", [name for name in FORMATS if name != "model2vec"])
@pytest.mark.parametrize("word", [b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xc0\xaf"])
def test_a_word_that_is_not_utf8_is_found(kind, word, tmp_path):
    path = WRITERS[kind](tmp_path, words=[*WORDS[:5], word, *WORDS[6:]])
    with pytest.raises(FormatError, match="not UTF-8"):
        read_space(path, format=kind)
    _, report = read_space(path, format=kind, policy=SKIP)
    assert (report.bad_utf8, report.kept) == (1, len(WORDS) - 1)
    assert_sums_up(report)


@pytest.mark.parametrize("kind", ["text", "word2vec-binary", "fasttext-binary", "npy"])
def test_an_empty_word_is_malformed(kind, tmp_path):
    path = WRITERS[kind](tmp_path, words=["the", "", *WORDS[2:]])
    with pytest.raises(FormatError, match=r"Policy\(malformed="):
        read_space(path, format=kind)
    _, report = read_space(path, format=kind, policy=SKIP)
    assert (report.malformed, report.kept) == (1, len(WORDS) - 1)
    assert_sums_up(report)


@EVERY_FORMAT
def test_the_limit_keeps_the_first_words(kind, tmp_path):
    space, report = read_space(WRITERS[kind](tmp_path), limit=3)
    assert list(space.words("en")) == WORDS[:3]
    np.testing.assert_array_equal(space.matrix, MATRIX[:3])
    assert (report.seen, report.kept) == (3, 3)
    with pytest.raises(InputError, match="limit"):
        read_space(WRITERS[kind](tmp_path), limit=0)


@STREAMED_FORMAT
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_compressed_file_reads_as_if_it_were_not(kind, compression, tmp_path):
    path = WRITERS[kind](tmp_path)
    packed = tmp_path / "packed"  # no ending: the content decides
    COMPRESSIONS[compression](packed, path.read_bytes())
    assert detect_format(packed) == kind
    space, _ = read_space(packed)
    assert list(space.words("en")) == WORDS
    np.testing.assert_array_equal(space.matrix, MATRIX)


@STREAMED_FORMAT
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_cut_archive_is_refused(kind, compression, tmp_path):
    words = [f"word{i}" for i in range(5000)]
    matrix = np.random.default_rng(0).normal(size=(5000, 4)).astype(np.float32)
    path = WRITERS[kind](tmp_path, words, matrix)
    packed = tmp_path / "packed"
    COMPRESSIONS[compression](packed, path.read_bytes())
    packed.write_bytes(packed.read_bytes()[:-100])
    with pytest.raises(FormatError):
        read_space(packed, format=kind)


@EVERY_FORMAT
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damage_gives_our_error_or_a_sound_space(kind, data, tmp_path):
    path = WRITERS[kind](tmp_path)
    damaged = bytearray(main_file(path).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        change = data.draw(st.binary(max_size=4))
        damaged[at : at + data.draw(st.integers(0, 4))] = change
    main_file(path).write_bytes(damaged)
    try:
        space, report = read_space(path, format=kind, policy=SKIP)
    except PmeansError:
        return
    assert np.isfinite(space.matrix).all()
    assert sum(map(len, space.tables.values())) == len(space) == report.kept
    assert_sums_up(report)
