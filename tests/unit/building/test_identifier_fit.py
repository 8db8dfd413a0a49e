"""An identifier is fitted on words and sentences of toy languages."""

import numpy as np
import pytest

from pmeans.building import identifier_fit
from pmeans.building.identifier_fit import LanguageTexts
from pmeans.errors import ConfigError, FormatError
from pmeans.training.corpus import PairFile

WORDS = {
    "en": "the and cat dog house with this where walk water",
    "de": "die und katze hund haus mit dies wo geht wasser",
    "fi": "ja kissa koira talo missä tämä kävelee vesi",
    "und": "και σκύλος σπίτι γάτα",
}


@pytest.fixture(autouse=True)
def _few_samples(monkeypatch):
    monkeypatch.setattr(identifier_fit, "_WITH_TEXT", 400)
    monkeypatch.setattr(identifier_fit, "_WITHOUT", 200)
    monkeypatch.setattr(identifier_fit, "_HELD_OUT", 50)


@pytest.fixture
def texts(tmp_path):
    """Words of four languages, sentences of two, of which the last ones are held out."""
    listed = "".join(f"{lang}\t{words}\n" for lang, words in WORDS.items())
    (tmp_path / "words.txt").write_text(listed, encoding="utf-8")
    rng = np.random.default_rng(0)
    drawn = [[" ".join(rng.choice(WORDS[k].split(), 5)) for k in ("en", "de")] for _ in range(200)]
    (tmp_path / "pairs.tsv").write_text("".join("\t".join(pair) + "\n" for pair in drawn))
    pairs = PairFile(str(tmp_path / "pairs.tsv"), "en", "de")
    return LanguageTexts(str(tmp_path / "words.txt"), (pairs,))


def test_the_languages_of_the_words_are_told_apart(texts):
    fitted = texts.fit()
    assert fitted.languages == tuple(WORDS)
    found = fitted.find(["the dog", "hund und haus", "koira ja vesi", "σπίτι"], ("en", "de"))
    assert [each.lang for each in found.detections()] == ["en", "de", None, None]


def test_letters_of_an_unseen_script_are_foreign(texts):
    (found,) = texts.fit().find(["ห้องสมุด"], ("en", "de")).detections()
    assert found.lang is None


def test_the_same_texts_give_the_same_identifier(texts):
    assert texts.fit().digest() == texts.fit().digest()


def test_a_language_with_texts_must_have_words(texts, tmp_path):
    (tmp_path / "words.txt").write_text("en\tthe and\n")
    with pytest.raises(ConfigError, match="no words of 'de'"):
        texts.fit()


@pytest.mark.parametrize("line", ["the and cat", "en\t", "en\t \n"])
def test_a_line_without_a_code_or_words_is_refused(texts, tmp_path, line):
    (tmp_path / "words.txt").write_text(f"de\tund die\n{line}")
    with pytest.raises(FormatError, match="line 2: expected a code, a tab, and words"):
        texts.fit()
