"""Languages that nobody named, in a classifier; and named ones that the text is not in."""

import numpy as np
import pytest
from opinions import GERMAN, make_encoder, opinions

from pmeans import TransferClassifier
from pmeans.languages.resolution import DoubtfulLanguageWarning
from pmeans.transfer import UnknownWordsWarning
from toy_identifier import make_identifier

WORDS = {"en": list(GERMAN), "de": list(GERMAN.values()), "fi": ["kissa", "ja"]}


@pytest.fixture(scope="module")
def encoder():
    return make_encoder().replace(identifier=make_identifier(WORDS))


@pytest.fixture(scope="module")
def classifier(encoder):
    return TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")


def mixed(n):
    (english, labels), (german, more) = opinions(n, "en"), opinions(n, "de", seed=1)
    return english + german, labels + more, ["en"] * n + ["de"] * n


def test_a_classifier_learns_the_same_from_languages_that_are_found(encoder):
    texts, labels, langs = mixed(30)
    found = TransferClassifier(encoder).fit(texts, labels)
    named = TransferClassifier(encoder).fit(texts, labels, lang=langs)
    np.testing.assert_array_equal(found.weights, named.weights)


def test_predictions_are_the_same_where_the_language_is_found(classifier):
    texts, labels, langs = mixed(20)
    expected = classifier.predict_proba(texts, lang=langs)
    np.testing.assert_array_equal(classifier.predict_proba(texts), expected)
    np.testing.assert_array_equal(classifier.predict_proba(texts, lang="auto"), expected)
    assert classifier.evaluate(texts, labels).accuracy == 1


def test_an_explanation_finds_the_language(classifier):
    text = "die gut suppe"
    assert classifier.explain(text).as_json() == classifier.explain(text, lang="de").as_json()


def test_doubts_are_one_warning(classifier):
    with pytest.warns(DoubtfulLanguageWarning, match=r"of 8 texts, 1 in none") as caught:
        classifier.predict([*["the good dog"] * 6, "the die", "ja"])
    assert [each.category for each in caught].count(DoubtfulLanguageWarning) == 1


def test_a_wrong_language_is_recognised_where_words_are_unknown(classifier):
    texts, _ = opinions(20, "de")
    with pytest.warns(
        UnknownWordsWarning, match=r"Is the language right\? The text looks like de\."
    ):
        classifier.predict(texts, lang="en")


def test_a_language_that_the_encoder_lacks_is_recognised(classifier):
    with pytest.warns(UnknownWordsWarning, match="looks like none of those that the model has"):
        classifier.predict(["kissa ja kissa"], lang="en")


def test_without_an_identifier_nothing_is_guessed(classifier, encoder):
    plain = TransferClassifier(encoder.replace(identifier=None)).fit(*opinions(60, "en"), lang="en")
    with pytest.warns(UnknownWordsWarning, match=r"Is the language right\?$"):
        plain.predict(opinions(20, "de")[0], lang="en")
