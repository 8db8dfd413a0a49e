"""Word pairs: what a file may look like, and which pairs are kept."""

import gzip

import numpy as np
import pytest

from pmeans.errors import ConfigError, FormatError, InputError, LanguageError
from pmeans.spaces.space import WordSpace
from pmeans.training.constraints import WordPairFile, gather


@pytest.fixture
def space() -> WordSpace:
    words = {"en": ["big", "large", "small", "Paris"], "de": ["groß", "klein"]}
    return WordSpace.from_words("s", words, np.eye(6), case="cased-then-lower")


def pair_file(tmp_path, name, text, *languages):
    (tmp_path / name).write_bytes(text.encode())
    return WordPairFile(str(tmp_path / name), languages or ("en",))


def as_set(pairs):
    return {tuple(sorted(pair)) for pair in pairs.tolist()}


def test_tabs_blanks_and_bare_carriage_returns_all_separate(tmp_path):
    assert pair_file(tmp_path, "tabs", "a b\tc\n").read() == [("a b", "c")]
    assert pair_file(tmp_path, "blanks", "big large \n").read() == [("big", "large")]
    assert pair_file(tmp_path, "mac", "a\tb\t1\rc\td\t2\n").read() == [("a", "b"), ("c", "d")]


def test_a_compressed_file_is_read(tmp_path):
    (tmp_path / "p.gz").write_bytes(gzip.compress(b"a\tb\n"))
    assert WordPairFile(str(tmp_path / "p.gz"), ("en",)).read() == [("a", "b")]


def test_a_line_of_one_word_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FormatError, match=r"line 2.*'lonely'"):
        pair_file(tmp_path, "p", "a\tb\nlonely\n").read()


def test_three_languages_for_two_columns_are_refused():
    with pytest.raises(ConfigError, match="one for both columns, or two"):
        WordPairFile("p", ("en", "de", "fr"))


def test_unknown_and_identical_words_and_second_mentions_are_dropped(space, tmp_path):
    text = "big\tlarge\nlarge\tbig\nbig\tbig\nbig\tunheard-of\nBIG\tsmall\n"
    found = gather(space, [pair_file(tmp_path, "p", text)], [])
    assert as_set(found.attract) == {(0, 1), (0, 2)}
    assert len(found.attract) == 2


def test_a_pair_that_attracts_and_repels_repels(space, tmp_path):
    attract = pair_file(tmp_path, "a", "big\tsmall\nbig\tlarge\n")
    found = gather(space, [attract], [pair_file(tmp_path, "r", "small\tbig\n")])
    assert as_set(found.attract) == {(0, 1)}
    assert as_set(found.repel) == {(0, 2)}


def test_columns_of_two_languages_are_looked_up_in_each(space, tmp_path):
    found = gather(space, [pair_file(tmp_path, "p", "big\tgroß\ngroß\tbig\n", "en", "de")], [])
    assert as_set(found.attract) == {(0, 4)}


def test_pairs_to_do_without_leave_both_kinds_and_are_counted(space, tmp_path):
    attract = pair_file(tmp_path, "a", "big\tlarge\nlarge\tsmall\n")
    repel = pair_file(tmp_path, "r", "big\tsmall\n")
    test = pair_file(tmp_path, "t", "word1\tword2\tscore\nlarge\tbig\t9\nsmall\tbig\t0\n")
    found = gather(space, [attract], [repel], [test])
    assert as_set(found.attract) == {(1, 2)}
    assert len(found.repel) == 0
    assert found.left_out == 2
    assert str(found) == "1 attract and 0 repel pairs, 2 left out"


def test_an_empty_file_is_an_error(space, tmp_path):
    with pytest.raises(InputError, match="no pairs of words"):
        gather(space, [pair_file(tmp_path, "p", "\n")], [])


def test_a_language_that_the_space_lacks_is_an_error(space, tmp_path):
    with pytest.raises(LanguageError, match="'fr'"):
        gather(space, [pair_file(tmp_path, "p", "a\tb\n", "fr")], [])


def test_rows_are_found_as_the_space_treats_case(space):
    assert space.find(["Paris", "paris", "Big", "no"], "en").tolist() == [3, -1, 0, -1]
