from __future__ import annotations

import numpy as np
import pytest

from pmeans.errors import FormatError, InputError
from pmeans.spaces.edit import quantise
from pmeans.spaces.export import to_text, to_word2vec_binary
from pmeans.spaces.space import WordSpace

MATRIX = np.array([[0.1, -2], [1 / 3, 1e-45]], dtype=np.float32)


@pytest.fixture
def space() -> WordSpace:
    return WordSpace.from_words("s", {"en": ["cat", "naïve"]}, MATRIX)


@pytest.fixture
def bilingual() -> WordSpace:
    return WordSpace.from_words("s", {"en": ["cat"], "de": ["katze"]}, MATRIX)


def test_text_has_a_header_and_the_shortest_decimals(space, tmp_path):
    to_text(space, tmp_path / "s.vec")
    written = (tmp_path / "s.vec").read_bytes()
    assert written == "2 2\ncat 0.1 -2.0\nnaïve 0.33333334 1e-45\n".encode()


def test_without_a_header_it_is_glove(space, tmp_path):
    to_text(space, tmp_path / "s.txt", header=False)
    assert (tmp_path / "s.txt").read_bytes().startswith(b"cat 0.1 -2.0\n")


def test_text_read_again_gives_identical_float32(tmp_path):
    bits = np.random.default_rng(5).integers(0, 2**32, size=(500, 8), dtype=np.uint32)
    matrix = np.where(np.isfinite(bits.view(np.float32)), bits.view(np.float32), 0)
    space = WordSpace.from_words("s", {"en": [f"w{i}" for i in range(500)]}, matrix)
    to_text(space, tmp_path / "s.txt", header=False)
    lines = (tmp_path / "s.txt").read_text().splitlines()
    again = np.array([line.split()[1:] for line in lines], dtype=np.float64).astype(np.float32)
    assert (again == matrix).all()


def test_rows_keep_their_words_across_blocks(space, tmp_path, monkeypatch):
    to_text(space, tmp_path / "whole.vec")
    monkeypatch.setattr("pmeans.spaces.export._ROWS", 1)
    to_text(space, tmp_path / "blocks.vec")
    assert (tmp_path / "whole.vec").read_bytes() == (tmp_path / "blocks.vec").read_bytes()


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_codes_are_written_decoded(space, tmp_path, precision):
    small = quantise(space, precision)
    to_text(small, tmp_path / "s.txt", header=False)
    numbers = (tmp_path / "s.txt").read_text().split()[1:3]
    assert np.array(numbers, dtype=np.float32).tolist() == small.rows(slice(0, 1))[0].tolist()


def test_the_suffix_names_the_language(bilingual, tmp_path):
    to_text(bilingual, tmp_path / "s.txt", header=False, suffix=True)
    words = [line.split()[0] for line in (tmp_path / "s.txt").read_text().splitlines()]
    assert words == ["cat_en", "katze_de"]


@pytest.mark.parametrize("write", [to_text, to_word2vec_binary])
def test_several_languages_need_the_suffix(bilingual, tmp_path, write):
    with pytest.raises(InputError, match=r"2 languages \(en, de\).*suffix=True"):
        write(bilingual, tmp_path / "s")


def test_binary_is_words_and_little_endian_float32(space, tmp_path):
    to_word2vec_binary(space, tmp_path / "s.bin")
    first, second = (row.astype("<f4").tobytes() for row in MATRIX)
    written = (tmp_path / "s.bin").read_bytes()
    assert written == b"2 2\ncat " + first + b"\nna\xc3\xafve " + second + b"\n"


def test_binary_takes_the_suffix_too(bilingual, tmp_path):
    to_word2vec_binary(bilingual, tmp_path / "s.bin", suffix=True)
    assert b"\nkatze_de " in (tmp_path / "s.bin").read_bytes()


@pytest.mark.parametrize(
    ("write", "word"),
    [
        (to_text, "line\nfeed"),
        (to_text, "\nfeed"),
        (to_text, " cat"),
        (to_text, "cat\t"),
        (to_text, ""),
        (to_word2vec_binary, ""),
        (to_word2vec_binary, "New York City Hall"),
        (to_word2vec_binary, "line\nfeed"),
    ],
)
def test_a_word_the_format_cannot_hold_is_named_before_anything_is_written(tmp_path, write, word):
    space = WordSpace.from_words("s", {"en": ["cat", word]}, MATRIX)
    (tmp_path / "s").write_text("old")
    with pytest.raises(FormatError) as caught:
        write(space, tmp_path / "s")
    assert repr(word) in str(caught.value)
    assert (tmp_path / "s").read_text() == "old"


def test_text_holds_words_with_spaces_that_are_no_phrases(tmp_path):
    space = WordSpace.from_words("s", {"en": [". . . .", "cat"]}, MATRIX)
    to_text(space, tmp_path / "s.txt", header=False)
    assert (tmp_path / "s.txt").read_bytes().startswith(b". . . . 0.1 -2.0\n")
