"""Names and figures across languages: the lists, the measures and the page."""

from pathlib import Path

import numpy as np
import pytest

from pmeans import PowerMeanEncoder, WordSpace
from pmeans.encoder.recipe import Part, Recipe

STUDIES = Path(__file__).parents[3] / "studies"
LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pt", "pl", "ru", "sv", "cs"]


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(STUDIES)
    import names_and_numbers

    return names_and_numbers


@pytest.mark.parametrize("name", ["names", "figures"])
def test_a_list_has_a_hundred_texts_in_eleven_languages_each_once(study, name):
    texts = study.read_texts(name)
    assert list(texts) == LANGUAGES
    assert {lang: len(set(filter(str.strip, texts[lang]))) for lang in texts} == dict.fromkeys(
        LANGUAGES, 100
    )


def test_every_figure_has_the_digits_of_the_english_one(study):
    texts = study.read_texts("figures")

    def digits(text: str) -> list[str]:
        return sorted(char for char in text if char.isdigit())

    # Dates may have a month by number or in another place, and an English clock has 12 hours.
    clocks = {i for i, text in enumerate(texts["en"]) if text.endswith((" am.", " pm."))}
    dates = {i for i, text in enumerate(texts["en"]) if "/" in text}
    assert (len(clocks), len(dates)) == (5, 5)
    for i in set(range(100)) - clocks - dates:
        assert {lang: digits(texts[lang][i]) for lang in LANGUAGES} == dict.fromkeys(
            LANGUAGES, digits(texts["en"][i])
        )


@pytest.mark.parametrize(
    ("lang", "separators"),
    [("en", ",."), ("de", ".,"), ("fr", "\u202f,"), ("pl", "\u00a0,"), ("ru", "\u00a0,")],
)
def test_figures_have_the_separators_of_their_language(study, lang, separators):
    thousands, decimal = separators
    price = next(text for text in study.read_texts("figures")[lang] if "699" in text)
    assert f"3{thousands}699{decimal}99" in price


def test_russian_is_in_its_own_letters(study):
    letters = set("".join(study.read_texts("names")["ru"])) - set(" -',")
    assert all("а" <= char.lower() <= "ё" for char in letters)


def test_the_measures_are_those_of_pairs_and_of_the_nearest(study):
    words = {"en": ["red", "blue", "green"], "de": ["rot", "blau", "grün"]}
    space = WordSpace.from_words("toy", words, np.tile(np.eye(3, dtype=np.float32), (2, 1)))
    encoder = PowerMeanEncoder(Recipe((Part("toy", (1.0,)),), "toy"), {"toy": space})
    texts = {"en": ["red", "blue", "green"], "de": ["rot rot blau", "blau", "rot"]}
    # The cosines are 2 / sqrt(5), 1 and 0. Red and green find others, and only blue its own.
    assert study.score(encoder, texts, "de") == pytest.approx(
        {"cosine": 100 * (2 / 5**0.5 + 1) / 3, "alike": 200 / 3, "found": 100 / 3}
    )


def test_the_page_has_a_dash_for_a_language_that_a_model_lacks_and_says_where_it_is_worst(study):
    low = {"cosine": 50.0, "alike": 40.0, "found": 30.0}
    high = {"cosine": 90.0, "alike": 80.0, "found": 70.0}
    page = study.page({"ours": {name: {"de": high, "ru": low} for name in study.SETS}})
    assert (
        "From English, `ours` finds 50 % of the names (fewest: 30 % in Russian) and 50 % of the "
        "figures (fewest: 30 % in Russian), on average of its languages."
    ) in page
    rows = [line for line in page.splitlines() if line.startswith("| ours |")]
    assert rows[0] == "| ours | 90.0 |" + " – |" * 6 + " 50.0 | – | – | – |"
    assert len(rows) == 6


def test_names_that_are_written_as_in_english_are_counted(study):
    page = study.page(
        {"ours": {name: {"de": dict.fromkeys(study.MEASURES, 0.0)} for name in study.SETS}}
    )
    (row,) = [line for line in page.splitlines() if line.startswith("| of the 100 |")]
    texts = study.read_texts("names")
    german = sum(a == b for a, b in zip(texts["en"], texts["de"], strict=True))
    assert 0 < german < 100
    assert row.split(" | ")[1] == str(german)
    assert row.split(" | ")[8] == "0"  # Russian has other letters
