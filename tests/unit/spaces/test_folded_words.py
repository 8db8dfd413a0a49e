"""Unknown words of a space with folded n-grams: what they are composed of, and aliases."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.errors import FormatError
from pmeans.kernels.index import alias_rows
from pmeans.kernels.numpy_core import ngram_hash
from pmeans.spaces import edit
from pmeans.spaces.neighbours import neighbours
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import open_space, save_space
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training.composed_words import merge_spellings

WORDS = {
    "de": ["für", "fur", "straße", "grün", "gruen", "hauptstrasse"],
    "ru": ["счёт", "дом", "дема"],
    "pl": ["łódź", "dom"],
}
NGRAMS = np.random.default_rng(0).standard_normal((97, 3)).astype(np.float32)


@pytest.fixture
def space() -> WordSpace:
    matrix = np.random.default_rng(1).standard_normal((11, 3)).astype(np.float32)
    return WordSpace.from_words("toy", WORDS, matrix, subwords=Subwords(NGRAMS, 3, 4, folded=True))


def summed(*pieces: str) -> np.ndarray:
    rows = [NGRAMS[ngram_hash(piece.encode()) % 97] for piece in pieces]
    return np.sum(rows, axis=0) / np.sqrt(len(rows))


def encoder(space: WordSpace) -> PowerMeanEncoder:
    return PowerMeanEncoder(Recipe((Part(space.name, (1,)),), "mean"), {space.name: space})


def test_a_word_is_the_sum_of_the_ngrams_of_its_two_spellings_over_the_root_of_their_number(space):
    # folded: bask; skeleton: BSK, of which n-grams have four characters at least.
    pieces = ["<ba", "<bas", "bas", "bask", "ask", "ask>", "sk>", "<BSK", "BSK>"]
    # rtol: nine float32 additions.
    np.testing.assert_allclose(space.vector("bąšk", "pl"), summed(*pieces), rtol=1e-5)


def test_a_word_without_a_skeleton_has_the_ngrams_of_the_folded_word(space):
    expected = summed("<ka", "<kat", "kat", "kat>", "at>")
    np.testing.assert_allclose(space.vector("кат", "ru"), expected, rtol=1e-5)


def test_spellings_that_fold_to_one_word_have_one_vector_in_all_languages(space):
    np.testing.assert_array_equal(space.vector("Ñandu", "de"), space.vector("nandu", "pl"))


@pytest.mark.parametrize(
    ("alias", "word", "lang"),
    [
        ("fuer", "für", "de"),
        ("Fuer", "für", "de"),
        ("strasse", "straße", "de"),
        ("счет", "счёт", "ru"),
        ("schet", "счёт", "ru"),
        ("lodz", "łódź", "pl"),
        ("дёма", "дема", "ru"),
        ("Hauptstraße", "hauptstrasse", "de"),
    ],
)
def test_an_alias_has_the_vector_of_its_word(space, alias, word, lang):
    np.testing.assert_array_equal(space.vector(alias, lang), space.vector(word, lang))


def test_a_word_of_the_table_is_no_alias(space):
    assert space.vector("fur", "de").tolist() == space.rows(np.array([1]))[0].tolist()
    assert not {"fur", "gruen"} & alias_rows(space.table("de")).keys()
    # Also where a table's own words are composed, to see what their n-grams are worth.
    composed, _ = space.composed(["gruen"], "de")
    assert not np.array_equal(composed[0], space.vector("grün", "de"))


def test_an_accent_that_makes_another_word_is_not_dropped_to_find_one(space):
    assert not np.array_equal(space.vector("fûr", "de"), space.vector("fur", "de"))


def test_two_spellings_of_a_word_get_the_mean_of_their_vectors_by_their_shares():
    vectors = np.eye(4, dtype=np.float32)
    merge_spellings(["счет", "дом", "счёт", "все"], np.array([0.3, 0.4, 0.1, 0.2]), vectors)
    merged = [0.75, 0, 0.25, 0]
    np.testing.assert_allclose(vectors, [merged, np.eye(4)[1], merged, np.eye(4)[3]])


def test_spellings_that_no_text_has_are_averaged_alike():
    vectors = np.eye(2, dtype=np.float32)
    merge_spellings(["für", "fuer"], np.zeros(2), vectors)
    np.testing.assert_allclose(vectors, [[0.5, 0.5]] * 2)


def test_the_first_word_in_row_order_has_the_alias():
    space = WordSpace.from_words("toy", {"en": ["the"], "fr": ["là", "lá"]}, np.eye(3))
    assert alias_rows(space.table("fr")) == {"la": 1}


def test_aliases_are_those_of_the_language(space):
    assert not np.array_equal(space.vector("fuer", "pl"), space.vector("für", "de"))


@pytest.mark.parametrize(
    ("case", "alias", "same"),
    [("cased", "Fuer", False), ("cased", "fuer", True), ("cased-then-lower", "Fuer", True)],
)
def test_aliases_have_the_case_that_words_have(space, case, alias, same):
    space = replace(space, case=case)
    assert np.array_equal(space.vector(alias, "de"), space.vector("für", "de")) == same


@pytest.mark.parametrize("word", ["привет", "你好", "🙂"])
def test_a_word_in_a_foreign_script_that_is_no_alias_has_no_vector(space, word):
    assert space.vector(word, "de") is None


def test_an_alias_is_known_in_coverage_and_has_the_words_row(space):
    made = encoder(space)
    found = made.coverage(["fuer gruenes", "привет für"], lang="de")
    assert found.known.tolist() == [[2, 1]]
    assert found.unknown_words == {"toy": {"привет": 1}}
    np.testing.assert_array_equal(made.encode("fuer", lang="de"), made.encode("für", lang="de"))


def test_the_word_itself_is_the_nearest_neighbour_of_its_alias(space):
    (lang, word, cosine), *_ = neighbours(space, "schet", "ru", k=1)
    assert (lang, word) == ("ru", "счёт")
    assert cosine == pytest.approx(1)


def test_without_folding_words_are_composed_as_fasttext_does(space):
    plain = replace(space, subwords=Subwords(NGRAMS, 3, 4))
    pieces = ["<fu", "<fue", "fue", "fuer", "uer", "uer>", "er>"]
    mean = summed(*pieces) / np.sqrt(7)
    np.testing.assert_allclose(plain.vector("fuer", "de"), mean, rtol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
def test_folded_ngrams_are_stored_and_opened(space, tmp_path, precision):
    small = edit.quantise(space, precision)
    save_space(small, tmp_path / "s.safetensors")
    back = open_space(tmp_path / "s.safetensors")
    assert back.subwords.folded
    assert back.digest() == small.digest()
    for word in ("fuer", "gruenes"):
        np.testing.assert_array_equal(back.vector(word, "de"), small.vector(word, "de"))


def test_a_file_with_folded_ngrams_is_refused_by_programs_that_do_not_know_them(space, tmp_path):
    save_space(space, tmp_path / "s.safetensors")
    save_space(replace(space, subwords=Subwords(NGRAMS, 3, 4)), tmp_path / "plain.safetensors")
    versions = [map_tensors(path)[1]["version"] for path in sorted(tmp_path.iterdir())]
    assert versions == ["1", "4"]


def test_folded_ngrams_that_misfit_are_refused(space, tmp_path):
    save_space(space, tmp_path / "s.safetensors")
    tensors, old = map_tensors(tmp_path / "s.safetensors")
    write_tensors(tmp_path / "hurt.safetensors", tensors, old | {"folded_ngrams": "yes"})
    with pytest.raises(FormatError, match="folded n-grams are 'yes'"):
        open_space(tmp_path / "hurt.safetensors")


def test_a_copy_by_pickle_composes_the_same(space):
    space.vector("fuer", "de")  # what has been remembered is not pickled
    back = pickle.loads(pickle.dumps(space))
    assert "_known_aliases" not in vars(back)
    np.testing.assert_array_equal(back.vector("fuer", "de"), space.vector("fuer", "de"))
    np.testing.assert_array_equal(back.vector("gruenes", "de"), space.vector("gruenes", "de"))


def test_edited_spaces_stay_folded_and_have_the_aliases_of_the_words_that_stay(space):
    first = edit.limit(space, 1)
    assert first.subwords.folded
    # "fur" was a word; now it is an alias of the one that stayed.
    np.testing.assert_array_equal(first.vector("fur", "de"), space.vector("für", "de"))
    oil = np.ones((1, 3), np.float32)
    more = WordSpace.from_words("oil", {"de": ["öl"]}, oil, subwords=space.subwords)
    assert edit.merge([space, more], "more").vector("oel", "de").tolist() == [1, 1, 1]
    assert edit.merge([space, edit.rename(space, "o")], "m").subwords is space.subwords
    assert edit.quantise(space, "int8").subwords.folded
