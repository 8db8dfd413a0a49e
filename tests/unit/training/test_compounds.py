"""Compounds: how words are split, which are added, what they mean."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space
from pmeans.training.bivcd import LanguageText
from pmeans.training.compounds import Compounds, Splitter, compounded

GERMAN = [
    "haus", "arbeit", "kranken", "versicherung", "schule", "kind", "stau", "becken", "staub",
    "ecken", "amt", "hofgarten", "garten", "donau", "dampf", "schiff", "süden", "amerika", "kinder",
]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("krankenversicherung", ("kranken", "versicherung")),
        ("arbeitshaus", ("arbeit", "haus")),
        ("schulgarten", ("schule", "garten")),
        ("südamerika", ("süden", "amerika")),
        ("kindergarten", ("kinder", "garten")),
        ("donaudampfschiff", ("donau", "dampf", "schiff")),
        ("staubecken", ("stau", "becken")),
        ("arbeitsamt", ()),
        ("versicherung", ()),
        ("häuser", ()),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_german_is_split_into_the_longest_and_then_the_most_frequent_words(word, parts):
    assert Splitter("de", GERMAN).split(word) == parts


def test_dutch_and_swedish_have_endings_of_their_own():
    dutch = Splitter("nl", ["verzekering", "maatschappij", "hond", "school"])
    assert dutch.split("verzekeringsmaatschappij") == ("verzekering", "maatschappij")
    swedish = Splitter("sv", ["kvinna", "läkare", "skola", "barn"])
    assert swedish.split("kvinnoläkare") == ("kvinna", "läkare")
    assert swedish.split("skolbarn") == ("skola", "barn")


def test_a_language_without_rules_is_refused():
    with pytest.raises(InputError, match="no rules for compounds of 'fr'; there are de, nl, sv"):
        Splitter("fr", [])


def test_a_compound_points_where_its_parts_do_and_is_as_long_as_the_longest():
    found = compounded(np.array([[3, 0], [0, 4]], dtype=np.float32))
    np.testing.assert_allclose(found, [4 * 0.6, 4 * 0.8], rtol=1e-6)


@pytest.fixture
def trainer(tmp_path):
    space = WordSpace.from_words("s", {"de": GERMAN}, np.eye(len(GERMAN)))
    save_space(space, tmp_path / "s.safetensors")
    (tmp_path / "t.txt").write_text(
        "Das Arbeitshaus, das Arbeitshaus, das Arbeitshaus.\n"
        "Krankenversicherung Krankenversicherung. Kinderhaus, Haus Haus.\n"
    )
    text = LanguageText(str(tmp_path / "t.txt"), lang="de")
    return Compounds("c", str(tmp_path / "s.safetensors"), (text,))


def train(trainer):
    return trainer.train(progress=lambda share, words: None)


def test_compounds_come_after_the_words_of_the_space_by_frequency(trainer):
    space = train(trainer)
    assert list(space.words("de")) == [*GERMAN, "arbeitshaus", "krankenversicherung"]
    np.testing.assert_array_equal(space.rows(slice(0, len(GERMAN))), np.eye(len(GERMAN)))
    half = np.float32(0.5**0.5)
    np.testing.assert_allclose(space.vector("Arbeitshaus", "de")[:2], half, rtol=1e-6)


def test_rarer_words_are_added_where_they_are_wanted(trainer):
    assert train(replace(trainer, min_count=1)).row("kinderhaus", "de") >= 0


def test_no_more_words_are_added_than_wanted(trainer):
    assert len(train(replace(trainer, words=1))) == len(GERMAN) + 1


def test_rare_words_of_the_space_are_not_parts(trainer):
    space = train(replace(trainer, common=3))
    assert list(space.words("de")) == [*GERMAN, "arbeitshaus"]


def test_a_text_without_compounds_is_an_error(trainer, tmp_path):
    (tmp_path / "t.txt").write_text("Haus Haus\n")
    with pytest.raises(InputError, match=r"t\.txt: no word occurs 2 times that 's' lacks"):
        train(trainer)


@pytest.mark.parametrize(
    "bad", [{"texts": ()}, {"words": 0}, {"common": 0}, {"min_count": 0}], ids=str
)
def test_settings_that_cannot_be_meant_are_refused(bad, trainer):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        replace(trainer, **bad)
