"""Translations that a model carries."""

import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, models
from pmeans.encoder.translations import Translations
from pmeans.errors import FormatError

# Characters that some programs take for line ends, and an empty sentence.
PAIRS = {"de": [("a dog\u2028!", "ein Hund\x85"), ("\xa0", "")], "fr": [("yes", "oui")]}
TRANSLATIONS = Translations("en", PAIRS)


def test_what_was_saved_is_loaded(tmp_path):
    TRANSLATIONS.save(tmp_path / "it.tsv")
    assert Translations.load(tmp_path / "it.tsv") == TRANSLATIONS


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: 1 columns, expected 3"),
        (b"lang\ten\ttranslation\nde\ta dog\n", "line 2: 2 columns, expected 3"),
        (b"de\ta dog\tein Hund\n", "its first line is not the header"),
        (b"lang\ten\ttranslation\nde\ta dog\tein H\xfcnd\n", "not valid UTF-8, at byte 34"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, content, message):
    (tmp_path / "it.tsv").write_bytes(content)
    with pytest.raises(FormatError, match=rf"it\.tsv.*{message}"):
        Translations.load(tmp_path / "it.tsv")


@pytest.fixture
def encoder(toy):
    return PowerMeanEncoder(Recipe((Part("toy"),), "toy"), {"toy": toy})


def test_a_model_carries_them_along(encoder, tmp_path):
    models.save(encoder.replace(translations=TRANSLATIONS), tmp_path / "it")
    assert models.load(tmp_path / "it").translations == TRANSLATIONS


def test_a_model_without_them_has_no_file_of_them(encoder, tmp_path):
    models.save(encoder, tmp_path / "it")
    assert models.load(tmp_path / "it").translations is None
    assert sorted(p.name for p in (tmp_path / "it").iterdir()) == ["recipe.toml", "spaces"]


def test_they_are_no_part_of_what_an_encoder_is_known_by(encoder):
    assert encoder.replace(translations=TRANSLATIONS).fingerprint() == encoder.fingerprint()
