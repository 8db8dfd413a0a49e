from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import InputError, LanguageError
from pmeans.kernels import Splitting
from pmeans.spaces.edit import count_words, limit, merge, only, prune, quantise, rename
from pmeans.spaces.space import ANY_LANGUAGE, Subwords, WordSpace

WORDS = {"en": ["the", "cat", "sat"], "de": ["die", "katze", "saß", "the"]}


def numbers(n: int, dim: int = 3) -> np.ndarray:
    return np.arange(n * dim, dtype=np.float32).reshape(n, dim) - 4


@pytest.fixture
def space() -> WordSpace:
    subwords = Subwords(numbers(5), 3, 4)
    return WordSpace.from_words("two", WORDS, numbers(7), subwords=subwords, path="here")


def content(space: WordSpace) -> dict[tuple[str, str], list[float]]:
    """Every (language, word) with its vector, found through the hash table."""
    return {
        (lang, word): space.vector(word, lang).tolist()
        for lang in space.languages
        for word in space.words(lang)
    }


def test_limit_keeps_the_first_words_of_each_language(space):
    short = limit(space, 2)
    assert [list(short.words(lang)) for lang in short.languages] == [
        ["the", "cat"],
        ["die", "katze"],
    ]
    assert content(short).items() <= content(space).items()


def test_limit_beyond_the_vocabulary_keeps_all(space):
    assert content(limit(space, 99)) == content(space)


def test_limit_refuses_less_than_a_word(space):
    with pytest.raises(InputError, match="to 0 words; give at least 1"):
        limit(space, 0)


def test_limit_keeps_scales_with_their_rows(space):
    small = quantise(space, "int8")
    assert content(limit(small, 1)).items() <= content(small).items()


def test_a_word_taken_away_is_composed_from_subwords(space):
    assert space.subwords is limit(space, 1).subwords
    composed = limit(space, 1).vector("katze", "de")
    assert composed is not None
    assert composed.tolist() != space.vector("katze", "de").tolist()


def test_edited_spaces_are_no_longer_the_file(space):
    edited = [limit(space, 1), prune(space, {"en": ["cat"]}), rename(space, "x")]
    assert [each.path for each in (*edited, quantise(space, "int8"))] == [""] * 4


def test_prune_keeps_the_words_named_in_row_order(space):
    kept = prune(space, {"de": ["saß", "die", "die", "unbekannt"], "en": ["cat"]})
    assert content(kept).items() <= content(space).items()
    assert {lang: list(kept.words(lang)) for lang in kept.languages} == {
        "en": ["cat"],
        "de": ["die", "saß"],
    }


def test_prune_drops_languages_not_named(space):
    assert prune(space, {"de": ["the"]}).languages == ("de",)


@pytest.mark.parametrize(
    ("case", "stays"),
    [("lower", ["cat"]), ("cased", ["Cat"]), ("cased-then-lower", ["cat", "Cat"])],
)
def test_prune_looks_words_up_as_the_space_does(case, stays):
    space = WordSpace.from_words("s", {"en": ["cat", "Cat", "CAT"]}, numbers(3), case=case)
    assert list(prune(space, {"en": ["Cat"]}).words("en")) == stays


def test_prune_refuses_a_language_the_space_lacks(space):
    with pytest.raises(LanguageError, match="no language 'fr'"):
        prune(space, {"fr": ["chat"]})


def test_prune_refuses_to_empty_a_space(space):
    with pytest.raises(InputError, match="no language of 'two' would stay"):
        prune(space, {})


def test_prune_of_a_space_without_languages_unites_the_lists():
    space = WordSpace.from_words("s", {ANY_LANGUAGE: ["a", "b", "c"]}, numbers(3))
    kept = prune(space, {"en": ["a"], "de": ["c"]})
    assert list(kept.words("en")) == ["a", "c"]


def test_a_corpus_is_counted_in_row_order(space):
    corpus = (line for line in ["the cat", "the dog", "the the sat"])
    counts = count_words(space, corpus, "en", Splitting.WHITESPACE)
    assert list(counts.items()) == [("the", 4), ("cat", 1), ("sat", 1)]


def test_counts_are_within_the_language(space):
    assert count_words(space, ["THE die"], "de", Splitting.WHITESPACE) == {"die": 1, "the": 1}


def test_counts_over_several_blocks_add_up(space, monkeypatch):
    monkeypatch.setattr("pmeans.spaces.edit._SENTENCES", 2)
    assert count_words(space, ["cat"] * 5, "en", Splitting.WHITESPACE) == {"cat": 5}


def test_a_space_pruned_by_a_corpus_has_its_words_and_no_more(space):
    counts = count_words(space, ["the cat", "dog"], "en", Splitting.WHITESPACE)
    assert list(prune(space, {"en": counts}).words("en")) == ["the", "cat"]


def test_merge_joins_languages():
    english = WordSpace.from_words("e", {"en": ["cat"]}, numbers(1), source="A", licence="X")
    german = WordSpace.from_words("g", {"de": ["katze"]}, -numbers(1), source="B", licence="X")
    both = merge([english, german], "both")
    assert content(both) == content(english) | content(german)
    assert (both.name, both.source, both.licence) == ("both", "A; B", "X")


def test_in_a_merge_the_first_space_wins_and_the_rest_is_counted(space):
    other = WordSpace.from_words("o", {"de": ["katze", "neu"], "en": ["cat", "new"]}, -numbers(4))
    merged = merge([space, other], "m")
    assert content(merged) == content(other) | content(space)
    assert list(merged.words("de")) == ["die", "katze", "saß", "the", "neu"]
    assert len(space) + len(other) - len(merged) == 2


def test_merged_int8_spaces_keep_scales_with_their_rows(space):
    one, two = quantise(limit(space, 2), "int8"), quantise(space, "int8")
    merged = merge([one, two], "m")
    assert merged.matrix.dtype == np.int8
    assert content(merged) == content(two)


def test_spaces_of_different_precision_merge_into_float32(space):
    half = quantise(limit(space, 1), "float16")
    merged = merge([half, space], "m")
    assert merged.matrix.dtype == np.float32
    assert content(merged) == content(space)


def test_merge_keeps_shared_subwords_and_drops_others(space):
    assert merge([limit(space, 1), space], "m").subwords is space.subwords
    other = WordSpace.from_words("o", {"fr": ["chat"]}, numbers(1))
    assert merge([space, other], "m").subwords is None
    sharing = replace(other, subwords=quantise(space, "int8").subwords)
    small = replace(quantise(space, "int8"), subwords=sharing.subwords)
    assert merge([small, sharing], "m").subwords is sharing.subwords


def test_merge_refuses_different_dimensions(space):
    wide = WordSpace.from_words("wide", {"fr": ["chat"]}, numbers(1, dim=4))
    with pytest.raises(InputError, match="'two' with 3 columns and 'wide' with 4"):
        merge([space, wide], "m")


def test_merge_refuses_different_case(space):
    with pytest.raises(InputError, match="case 'lower' and 'two' with case 'cased'"):
        merge([space, replace(space, case="cased")], "m")


def test_merge_refuses_nothing():
    with pytest.raises(InputError, match="no space to merge"):
        merge([], "m")


def test_int8_is_the_nearest_of_127_steps_to_the_largest():
    matrix = np.array([[1.27, -0.5, 0.004], [0, 0, 0]], dtype=np.float32)
    small = quantise(WordSpace.from_words("s", {"en": ["a", "zero"]}, matrix), "int8")
    assert small.matrix.tolist() == [[127, -50, 0], [0, 0, 0]]
    assert small.scale.tolist() == [np.float32(1.27) / np.float32(127), 0]


def test_int8_survives_the_smallest_numbers():
    tiny = np.array([[1e-45, 0], [2.662e-43, -2.662e-43]], dtype=np.float32)
    small = quantise(WordSpace.from_words("s", {"en": ["a", "b"]}, tiny), "int8")
    assert (np.sign(small.matrix[1]) == [1, -1]).all()


def test_float16_rounds_to_nearest(space):
    half = quantise(replace(space, matrix=space.matrix / 3), "float16")
    assert (half.matrix == (space.matrix / 3).astype(np.float16)).all()


def test_float16_refuses_what_would_become_infinite(space):
    space.matrix[5, 1] = -70000
    with pytest.raises(InputError, match=r"cannot hold -70000.0, .* of 'saß' \(de\)"):
        quantise(space, "float16")


def test_float16_takes_its_largest_number(space):
    space.matrix[5, 1] = 65519
    assert quantise(space, "float16").matrix[5, 1] == 65504


def test_int8_refuses_infinity(space):
    space.matrix[0, 0] = np.inf
    with pytest.raises(InputError, match=r"no code for inf, .* of 'the' \(en\)"):
        quantise(space, "int8")


def test_ngrams_are_stored_as_the_words_are(space):
    ngrams = np.array([[1.27, -0.5, 0.004], [0, 0, 0]], dtype=np.float32)
    space = replace(space, subwords=Subwords(ngrams, 3, 4))
    small = quantise(space, "int8").subwords
    assert small.ngrams.tolist() == [[127, -50, 0], [0, 0, 0]]
    assert small.scale.tolist() == [np.float32(1.27) / np.float32(127), 0]
    assert (small.minn, small.maxn) == (3, 4)
    half = quantise(space, "float16").subwords
    assert half.scale is None
    np.testing.assert_array_equal(half.ngrams, ngrams.astype(np.float16), strict=True)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_an_unknown_word_is_composed_from_the_decoded_ngrams(space, precision):
    ngrams = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    space = quantise(replace(space, subwords=Subwords(ngrams, 3, 4)), precision)
    sub = space.subwords
    by_hand = sub.ngrams.astype(np.float32) * (1 if sub.scale is None else sub.scale[:, None])
    composed, _ = kernels.compose(["hund"], by_hand, 3, 4)
    assert space.vector("Hund", "de").tolist() == composed[0].tolist()
    # A row's numbers are off by half a step of 1/127 at most, or by 2 ** -11 of their size.
    atol = np.abs(ngrams).max() / 250
    np.testing.assert_allclose(by_hand, ngrams, atol=atol)


def test_ngrams_of_a_quantised_space_are_quantised_where_they_were_not(space):
    old = replace(quantise(space, "int8"), subwords=space.subwords)
    new = quantise(old, "int8")
    assert (new.matrix is old.matrix, new.path) == (True, "")
    assert new.subwords.ngrams.dtype == np.int8


def test_ngrams_that_float16_cannot_hold_are_refused_by_their_bucket(space):
    space.subwords.ngrams[3, 1] = 70000
    with pytest.raises(InputError, match=r"cannot hold 70000.0, .* bucket 3 in 'two'; keep"):
        quantise(space, "float16")


def test_ngrams_quantised_back_decode(space):
    small = quantise(space, "int8")
    back = quantise(small, "float32").subwords
    assert back.scale is None
    np.testing.assert_array_equal(back.ngrams, small.subwords.vectors, strict=True)


def test_quantising_back_decodes(space):
    small = quantise(space, "int8")
    back = quantise(small, "float32")
    assert back.scale is None
    assert content(back) == content(small)


def test_a_block_border_does_not_show(space, monkeypatch):
    whole = quantise(space, "int8")
    monkeypatch.setattr("pmeans.tensors._ROWS", 2)
    assert content(quantise(space, "int8")) == content(whole)


def test_a_space_of_that_precision_is_returned_as_it_is(space):
    assert quantise(space, "float32") is space


def test_an_unknown_precision_is_refused(space):
    with pytest.raises(InputError, match="unknown precision 'int2'"):
        quantise(space, "int2")


def test_rename_changes_the_name_alone(space):
    renamed = rename(space, "other")
    assert (renamed.name, content(renamed)) == ("other", content(space))


def test_rename_refuses_no_name(space):
    with pytest.raises(InputError, match="needs a name"):
        rename(space, "")


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_only_some_languages_stay_with_all_their_words_and_ngrams(space, precision):
    own = Subwords(numbers(10), 3, 4, own={"en": 2, "de": 3})
    small = quantise(replace(space, subwords=own), precision)
    german = only(small, ["de", "fr"])
    assert german.languages == ("de",)
    assert content(german) == {key: v for key, v in content(small).items() if key[0] == "de"}
    assert german.subwords.own == {"de": 3}
    for lang in ("de", "fr"):  # French would take those that are shared
        assert np.array_equal(german.subwords.of(lang), small.subwords.of(lang))


def test_a_space_of_other_languages_stays_as_it_is(space):
    assert only(space, ["en", "de", "fr"]) is space
    assert only(space, ["fr"]) is space
