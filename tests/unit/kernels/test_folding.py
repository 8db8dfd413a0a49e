"""Spellings that are one word, and names that sound alike."""

import pytest

from pmeans.kernels.folding import aliases, folded, skeleton


@pytest.mark.parametrize(
    ("word", "plain"),
    [("Łódź", "lodz"), ("счёт", "schet"), ("straße", "strasse"), ("È", "e"), ("cat", "cat")],
)
def test_folded_words_have_no_accents_and_latin_letters(word, plain):
    assert folded(word) == plain


@pytest.mark.parametrize(
    "names",
    [
        ("Tschaikowski", "Tchaikovsky", "Čajkovskij", "Чайковский"),
        ("Zidane", "Зидан"),
        ("Nagelsmann", "Нагельсман"),
        ("Selenskyj", "Zelensky", "Зеленский"),
        ("Centaur", "Zentaur"),
        ("Copenhagen", "Kopenhagen", "Копенгаген"),
        ("Szewczenko", "Shevchenko", "Шевченко"),
        ("Warszawa", "Warsaw", "Варшава"),
    ],
)
def test_names_that_sound_alike_have_one_skeleton(names):
    assert len({skeleton(name) for name in names}) == 1
    assert skeleton(names[0])


@pytest.mark.parametrize("word", ["cat", "1990", "x1", "", "l'", "Io"])
def test_words_with_few_consonants_have_no_skeleton(word):
    assert skeleton(word) == ""


@pytest.mark.parametrize(
    ("word", "others"),
    [("für", {"fuer", "fur"}), ("счёт", {"счет", "schet"}), ("cat", set()), ("й", {"i"})],
)
def test_a_word_has_the_spellings_of_poorer_keyboards(word, others):
    assert aliases(word) == others
