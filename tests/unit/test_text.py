"""What each language changes about the tokens of raw text."""

import unicodedata

import pytest

from pmeans.errors import LanguageError
from pmeans.text import tokenize


def words(text: str, lang: str) -> str:
    return " ".join(tokenize(text, "words", lang))


def test_italian_elisions_are_cut_after_either_apostrophe():
    text = "L'amico dell’arte: un'altra, c’è un'e-mail"
    assert words(text, "it") == "L' amico dell' arte : un' altra , c' è un' e-mail"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Disse-me", "Disse -me"),
        ("fazê-lo", "fazê -lo"),
        ("dar\u2010lhes", "dar -lhes"),
        ("SENTOU-SE", "SENTOU -SE"),
    ],
)
def test_portuguese_pronouns_are_split_off_verbs(text, tokens):
    assert words(text, "pt") == tokens


@pytest.mark.parametrize("word", ["guarda-chuva", "segunda-feira", "dia-a-dia", "dar-lhe-ei"])
def test_portuguese_compounds_stay_whole(word):
    assert words(word, "pt") == word


def test_inverted_marks_of_spanish_are_tokens_of_their_own():
    assert words("¿Dónde está? ¡Aquí!", "es") == "¿ Dónde está ? ¡ Aquí !"


@pytest.mark.parametrize(
    ("text", "lang"),
    [
        ("zo'n foto's auto's", "nl"),
        ("кто-то по-русски ещё еще", "ru"),
        ("Chuck'a żółć", "pl"),
        ("chcete-li příliš", "cs"),
        ("e-postadress åäö", "sv"),
        ("Iğdır İzmir", "tr"),
    ],
)
def test_other_languages_keep_their_words_as_they_stand(text, lang):
    assert words(text, lang) == text


@pytest.mark.parametrize("text", ["está mañana", "żółć příliš", "ещё мой Йод", "Việt ngữ"])
def test_decomposed_letters_become_those_of_word_spaces(text):
    assert words(unicodedata.normalize("NFD", text), "es") == text


def test_text_that_is_tokenised_already_keeps_its_characters():
    decomposed = unicodedata.normalize("NFD", "está disse-me")
    assert tokenize(decomposed, "whitespace", "pt") == decomposed.split()


@pytest.mark.parametrize("lang", ["zh", "ja", "th", "lo", "km", "my", "bo", "zh-TW", "zh_CN"])
def test_a_language_without_spaces_is_refused_by_name(lang):
    with pytest.raises(LanguageError, match=rf"'{lang}'\) is written without spaces"):
        tokenize("text", "words", lang)


def test_a_language_without_spaces_is_taken_when_it_is_split_already():
    assert tokenize("我 爱 你", "whitespace", "zh") == ["我", "爱", "你"]
