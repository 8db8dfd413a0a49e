from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import InputError, LanguageError
from pmeans.spaces.edit import quantise
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.space import Subwords, WordSpace

WORDS = {"en": ["cat", "dog", "zero", "cats"], "de": ["katze", "hund", "cat"]}
MATRIX = np.array([[1, 0], [0, 1], [0, 0], [3, 1], [2, 0], [-1, 1], [1, 1]], dtype=np.float32)


@pytest.fixture
def space() -> WordSpace:
    return WordSpace.from_words("s", WORDS, MATRIX)


def test_neighbours_come_nearest_first_with_their_cosine(space):
    found = neighbours(space, "cat", "en", k=3)
    assert [(lang, word) for lang, word, _ in found] == [
        ("de", "katze"),
        ("en", "cats"),
        ("de", "cat"),
    ]
    # float64 arithmetic on exact inputs: a few units in the last place.
    assert [c for *_, c in found] == pytest.approx([1, 3 / 10**0.5, 0.5**0.5], rel=1e-15)


def test_the_word_itself_is_left_out_and_its_namesake_is_not(space):
    keys = [(lang, word) for lang, word, _ in neighbours(space, "cat", "en", k=99)]
    assert ("en", "cat") not in keys
    assert ("de", "cat") in keys


def test_zero_vectors_are_no_neighbours(space):
    assert "zero" not in [word for _, word, _ in neighbours(space, "cat", "en", k=99)]


def test_into_looks_in_one_language(space):
    found = neighbours(space, "cat", "en", into="de")
    assert [word for _, word, _ in found] == ["katze", "cat", "hund"]


def test_equal_cosines_keep_row_order(space):
    same = replace(space, matrix=np.ones_like(MATRIX))
    assert [word for _, word, _ in neighbours(same, "dog", "en", k=3)] == ["cat", "zero", "cats"]


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_block_size_does_not_show(space, monkeypatch, rows):
    whole = neighbours(space, "dog", "en", k=4)
    monkeypatch.setattr("pmeans.spaces.neighbours._ROWS", rows)
    found = neighbours(space, "dog", "en", k=4)
    assert [key[:2] for key in found] == [key[:2] for key in whole]


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_coded_spaces_are_decoded(space, precision):
    found = neighbours(quantise(space, precision), "cat", "en", k=2)
    assert [word for _, word, _ in found] == ["katze", "cats"]


def test_large_numbers_do_not_overflow(space):
    large = replace(space, matrix=MATRIX * np.float32(1e38))
    assert neighbours(large, "cat", "en", k=1) == [("de", "katze", 1.0)]


def test_a_composed_word_has_neighbours(space):
    subwords = Subwords(np.array([[1, 0]], dtype=np.float32), 3, 3)
    found = neighbours(replace(space, subwords=subwords), "catty", "en", k=2)
    assert [word for _, word, _ in found] == ["cat", "katze"]


def test_an_unknown_word_is_refused_with_close_spellings(space):
    with pytest.raises(InputError, match=r"no word 'catz' \(en\)\. Close spellings: 'cat', 'cats'"):
        neighbours(space, "catz", "en")


def test_an_unknown_word_like_no_other_is_refused_plainly(space):
    with pytest.raises(InputError, match=r"no word 'ωmega' \(en\)\.$"):
        neighbours(space, "ωmega", "en")


def test_the_empty_word_is_refused_plainly(space):
    with pytest.raises(InputError, match=r"no word '' \(en\)\.$"):
        neighbours(space, "", "en")


def test_a_zero_vector_has_no_neighbours(space):
    with pytest.raises(InputError, match=r"the vector of 'zero' .* is zero"):
        neighbours(space, "zero", "en")


def test_fewer_than_one_neighbour_is_refused(space):
    with pytest.raises(InputError, match="cannot return 0 neighbours"):
        neighbours(space, "cat", "en", k=0)


def test_an_unknown_target_language_is_refused(space):
    with pytest.raises(LanguageError, match="no language 'fr'"):
        neighbours(space, "cat", "en", into="fr")
