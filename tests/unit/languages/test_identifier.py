"""Languages that are found: among those of the encoder, none of them, or in doubt."""

import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, kernels, models
from pmeans.errors import FormatError, LanguageError
from pmeans.kernels import GramWeights
from pmeans.languages.identifier import Identifier
from pmeans.languages.resolution import Detection, DoubtfulLanguageWarning
from pmeans.tensors import map_tensors, write_tensors
from toy_identifier import make_identifier

WORDS = {"fi": ["kissa", "ja"], "en": ["the", "cat", "sat"], "de": ["die", "katze"]}


@pytest.fixture
def encoder(toy):
    """Of English and German; the identifier knows Finnish as well."""
    recipe = Recipe((Part("toy", (1,)),), "toy", tokenizer="words")
    return PowerMeanEncoder(recipe, {"toy": toy}, identifier=make_identifier(WORDS))


@pytest.fixture(scope="module")
def default():
    return pmeans.load()


def test_a_language_is_found_with_its_probability(encoder):
    found = encoder.detect(["the cat sat", "Die Katze!"])
    assert [each.lang for each in found] == ["en", "de"]
    assert all(0.8 < each.probability <= 1 for each in found)


def test_a_text_of_another_language_is_in_none_of_them(encoder):
    (found,) = encoder.detect(["kissa ja kissa"])
    assert found.lang is None
    assert found.probability > 0.8


@pytest.mark.parametrize("text", ["", " ", "2024", "3,5 % + 7", "😀👍🏽", "?!", "\u200d\ufe0f"])
def test_a_text_without_letters_is_in_none_of_them(encoder, text):
    assert encoder.detect([text]) == [Detection(None, 1.0)]


def test_of_one_text_there_is_one_answer(encoder):
    assert encoder.detect("the cat") == encoder.detect(["the cat"])[0]


def test_texts_without_a_language_are_encoded_by_the_one_that_is_found(encoder):
    texts = ["the cat sat", "die katze", "the cat"]
    expected = encoder.encode(texts, lang=["en", "de", "en"])
    for lang in (None, "auto"):
        np.testing.assert_array_equal(encoder.encode(texts, lang=lang), expected)
    np.testing.assert_array_equal(encoder.encode(iter(texts)), expected)
    np.testing.assert_array_equal(encoder.encode(texts[1]), expected[1])


def test_a_language_that_is_given_is_not_looked_for(encoder, monkeypatch):
    monkeypatch.setattr(kernels, "identify", None)
    encoder.encode(["the cat"], lang="de")
    encoder.encode(["the cat"], lang=["en"])
    encoder.coverage(["the cat"], lang="en")


def test_doubts_are_counted_in_one_warning(encoder):
    texts = ["kissa", "the cat", "the die"] * 3000
    said = r"of 9,000 texts, 3,000 in none of the model's languages, 3,000 doubtful"
    with pytest.warns(DoubtfulLanguageWarning, match=said) as caught:
        encoder.encode(texts)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_text_in_none_of_the_languages_is_encoded_by_the_likeliest(encoder):
    with pytest.warns(DoubtfulLanguageWarning):
        rows = encoder.encode(["kissa kissa ja katze"])
    expected = encoder.encode(["kissa kissa ja katze"], lang="de")
    np.testing.assert_array_equal(rows, expected)


def test_coverage_tells_doubtful_sentences_and_those_in_no_language(encoder):
    texts = ["kissa", "the cat", "the die"]
    coverage = encoder.coverage(texts)
    assert coverage.none.tolist() == [True, False, False]
    assert coverage.doubtful.tolist() == [False, False, True]
    _, same = encoder.encode_covered(texts)
    assert same.none.tolist() == coverage.none.tolist()
    assert not encoder.coverage(texts, lang="en").none.any()


def test_a_view_of_one_language_needs_no_name_and_looks_for_nothing(encoder, monkeypatch):
    expected = encoder.encode(["die katze"], lang="de")
    monkeypatch.setattr(kernels, "identify", None)
    german = encoder.for_language("de")
    assert german.languages == ("de",)
    np.testing.assert_array_equal(german.encode(["die katze"]), expected)
    np.testing.assert_array_equal(german.encode(["die katze"], lang="auto"), expected)
    assert german.coverage(["die katze"]).known.tolist() == [[2]]
    assert german.fingerprint() == encoder.fingerprint()
    with pytest.raises(LanguageError, match="no language 'en' among de"):
        german.encode(["the cat"], lang="en")


def test_a_view_of_a_language_that_is_not_covered_is_refused(encoder):
    with pytest.raises(LanguageError, match="no language 'fi'"):
        encoder.for_language("fi")


def test_an_encoder_without_an_identifier_says_so(encoder):
    plain = encoder.replace(identifier=None)
    for ask in (plain.encode, plain.detect, plain.coverage):
        with pytest.raises(LanguageError, match="covers de, en, and has nothing to tell"):
            ask(["the cat"])


def test_a_language_that_the_identifier_does_not_know_is_named(encoder):
    other = encoder.replace(identifier=make_identifier({"en": ["the"], "fi": ["ja"]}))
    with pytest.raises(LanguageError, match="does not know de"):
        other.encode(["the cat"])


def test_an_identifier_is_stored_with_its_model(encoder, tmp_path):
    models.save(encoder, tmp_path / "enc")
    back = models.load(tmp_path / "enc")
    assert back.detect(["die katze"]) == encoder.detect(["die katze"])
    assert back.identifier.digest() == encoder.identifier.digest()


def damaged(tensors, metadata, what):
    if what == "another kind of file":
        return tensors, metadata | {"format": "pmeans-znorm"}
    if what == "too many languages":
        return tensors, metadata | {"languages": " ".join(f"l{i}" for i in range(99))}
    if what == "no sharpness":
        return {name: a for name, a in tensors.items() if name != "sharpness"}, metadata
    if what == "a sharpness of nothing":
        return tensors | {"sharpness": np.zeros(1, dtype=np.float32)}, metadata
    return tensors | {"weights": tensors["weights"][:, :7].copy()}, metadata


@pytest.mark.parametrize(
    "what",
    [
        "another kind of file",
        "too many languages",
        "no sharpness",
        "a sharpness of nothing",
        "seven columns",
    ],
)
def test_a_damaged_identifier_is_refused(tmp_path, what):
    make_identifier(WORDS).save(tmp_path / "a.safetensors")
    write_tensors(
        tmp_path / "b.safetensors", *damaged(*map_tensors(tmp_path / "a.safetensors"), what)
    )
    with pytest.raises(FormatError, match=r"identifier|damaged"):
        Identifier.load(tmp_path / "b.safetensors")


def test_somebody_must_be_wanted():
    known = make_identifier(WORDS)
    with pytest.raises(ValueError, match="0 of 3 languages"):
        GramWeights(known.letters, known.weights, np.zeros(3, dtype=bool), 1.0)


def test_the_model_in_the_package_tells_its_languages_apart(default):
    texts = {
        "en": "Where is the library?",
        "de": "Wo ist die Bibliothek?",
        "fr": "Où est la bibliothèque ?",
    }
    assert [each.lang for each in default.detect(texts.values())] == list(texts)


@pytest.mark.parametrize(
    "text",
    [
        "¿Dónde está la biblioteca, por favor?",  # Spanish
        "Где находится библиотека?",  # Russian
        "Missä on kirjasto, kiitos?",  # Finnish
        "Kütüphane nerede acaba?",  # Turkish
        "Hol van a könyvtár, kérem?",  # Hungarian
        "Unde este biblioteca, vă rog?",  # Romanian
        "Πού είναι η βιβλιοθήκη;",  # Greek, seen as an unknown script
        "図書館はどこですか",
        "ห้องสมุดอยู่ที่ไหน",  # Thai, which was not seen at all
    ],
)
def test_the_model_in_the_package_knows_when_it_is_none_of_them(default, text):
    assert default.detect([text])[0].lang is None


@pytest.mark.parametrize(
    ("word", "lang"),
    [("cat", "en"), (" dog ", "en"), ("Sun", "en"), ("perro", None), ("casa", None), ("12", None)],
)
def test_a_single_common_word_has_a_language(default, word, lang):
    (found,) = default.detect([word])
    assert found.lang == lang
    assert 0 <= found.probability <= 1


def test_a_sentence_of_another_language_stays_in_none(default):
    assert default.detect(["el perro casa"])[0].lang is None
