"""Forms of words: which are added, and what they mean."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space
from pmeans.training.forms import Forms

for package in ("wordfreq", "simplemma"):
    pytest.importorskip(package, reason="pip install 'pmeans[train]'")

WORDS = {"en": ["child", "walk", "walks"], "ru": ["дом", "ассамблея"]}


@pytest.fixture
def trainer(tmp_path):
    save_space(WordSpace.from_words("s", WORDS, np.eye(5)), tmp_path / "s.safetensors")
    return Forms("f", str(tmp_path / "s.safetensors"), words=20_000)


def train(trainer):
    return trainer.train(progress=lambda share, words: None)


def test_forms_have_the_vector_of_their_lemma_in_every_script(trainer):
    space = train(trainer)
    for lang, form, lemma in (("en", "children", "child"), ("ru", "ассамблеи", "ассамблея")):
        assert space.row(form, lang) >= 0
        np.testing.assert_array_equal(space.vector(form, lang), space.vector(lemma, lang))


def test_the_words_of_the_space_stay_as_they_are_and_come_first(trainer):
    space = train(trainer)
    for lang, words in WORDS.items():
        assert list(space.words(lang))[: len(words)] == words
    np.testing.assert_array_equal(space.vector("walks", "en"), np.eye(5)[2])


def test_words_whose_lemma_the_space_lacks_are_not_added(trainer):
    assert train(trainer).row("houses", "en") < 0


def test_only_common_words_are_looked_at(trainer):
    space = train(replace(trainer, words=1000))
    assert (space.row("children", "en") >= 0, space.row("ассамблеи", "ru") >= 0) == (True, False)


def test_a_space_that_has_all_forms_is_an_error(trainer):
    with pytest.raises(InputError, match="'s' lacks no common form of its words in en, ru"):
        train(replace(trainer, words=3))


def test_a_language_that_nobody_lists_is_named(trainer, tmp_path):
    odd = WordSpace.from_words("s", {"tlh": ["tlhIngan"]}, np.eye(1))
    save_space(odd, tmp_path / "s.safetensors")
    with pytest.raises(InputError, match="no forms of 'tlh'"):
        train(trainer)


def test_a_number_of_words_that_cannot_be_meant_is_refused(trainer):
    with pytest.raises(ConfigError, match="words must be at least 1"):
        replace(trainer, words=0)
