"""Morph-fitting: what the rules find, and that they serve the objective."""

import numpy as np
import pytest

from pmeans.errors import ConfigError
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space, save_space
from pmeans_lab.training.morph_fit import MORPHOLOGY, MorphFit, Rule, morphological


def pairs(lang, kind, words):
    return getattr(MORPHOLOGY[lang], kind)(words.split())


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", "city cities"),
        ("en", "church churches"),
        ("de", "katze katzen"),
        ("de", "zeitung zeitungen"),
        ("fr", "cheval chevaux"),
        ("fr", "heureux heureuse"),
    ],
)
def test_forms_of_one_word_are_found(lang, words):
    assert pairs(lang, "attract", words) == [tuple(words.split())]


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", "happy unhappy"),
        ("en", "possible impossible"),
        ("en", "legal illegal"),
        ("en", "agree disagree"),
        ("en", "smoker non-smoker"),
        ("en", "careful careless"),
        ("de", "möglich unmöglich"),
        ("de", "direkt indirekt"),
        ("de", "lineare nichtlineare"),
        ("de", "hoffnungsvolle hoffnungslose"),
        ("fr", "possible impossible"),
        ("fr", "ordre désordre"),
        ("fr", "normal anormal"),
        ("fr", "heureux malheureux"),
    ],
)
def test_a_word_and_its_negation_are_found(lang, words):
    assert pairs(lang, "repel", words) == [tuple(words.split())]


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("en", "press impress"),
        ("en", "less unless"),
        ("en", "cover discover"),
        ("en", "form inform"),
        ("de", "fall unfall"),
        ("de", "teil unterteil"),
        ("fr", "poser imposer"),
        ("fr", "penser dépenser"),
    ],
)
def test_what_only_looks_like_a_negation_is_not_found(lang, words):
    assert pairs(lang, "repel", words) == []


def test_a_german_ending_needs_company():
    assert pairs("de", "attract", "spiel spieler") == []
    found = pairs("de", "attract", "klein kleine kleinen kleiner kleines")
    assert ("klein", "kleiner") in found


def test_a_short_base_and_a_word_with_digits_are_passed_over():
    assert pairs("en", "attract", "new news a1bc a1bcs") == []


def test_a_rule_with_too_few_forms_finds_nothing():
    rule = Rule("*e", ("*ed", "*ing"), least=2)
    assert list(rule.pairs(["bake"], {"bake", "baked"})) == []
    assert len(list(rule.pairs(["bake"], {"bake", "baked", "baking"}))) == 2


@pytest.fixture
def path(tmp_path):
    words = {"en": ["kind", "unkind", "kinds", "lucky", "unlucky"], "de": ["kind", "kinds"]}
    vectors = np.random.default_rng(3).normal(size=(7, 5))
    save_space(WordSpace.from_words("s", words, vectors), tmp_path / "s.safetensors")
    return tmp_path / "s.safetensors"


def test_only_the_languages_asked_for_are_searched(path):
    found = morphological(open_space(path), ("en",))
    assert found.attract.tolist() == [[0, 2]]
    assert found.repel.tolist() == [[0, 1], [3, 4]]


def test_negations_move_apart(path):
    def cosine(space):
        a, b = space.vector("lucky", "en"), space.vector("unlucky", "en")
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    fit = MorphFit(name="m", space=str(path), languages=("en",), repel_margin=1.0, epochs=20)
    assert cosine(fit.train(progress=lambda share, words: None)) < cosine(open_space(path))


def test_a_language_without_rules_is_refused():
    with pytest.raises(ConfigError, match="no morphology of 'xx'"):
        MorphFit(name="m", space="s", languages=("xx",))
