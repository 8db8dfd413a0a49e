"""The most telling words: of those that all parts know, the ones a class wins by most."""

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.transfer import explain
from pmeans.transfer.explain import most_telling

WORDS = {"fine": 2.0, "bad": -3.0, "!": 9.0, "good": 4.0, "don't": 8.0, "so": 0.5, "rare": 7.0}
CLASSIFIER = np.float32([[1], [-1]]), np.zeros(2, np.float32), ("yes", "no")


def encoder(*names):
    spaces = {
        name: WordSpace.from_words(
            name,
            {"en": [w for w in WORDS if w != "rare" or name == "first"]},
            [[v] for w, v in WORDS.items() if w != "rare" or name == "first"],
        )
        for name in names
    }
    parts = tuple(Part(name, (1,)) for name in names)
    return PowerMeanEncoder(Recipe(parts, tokenizer="words"), spaces)


def test_words_stand_by_how_far_they_put_their_class_ahead():
    assert most_telling(encoder("first"), *CLASSIFIER, lang="en", k=3) == {
        "yes": [("rare", 14), ("good", 8), ("fine", 4)],
        "no": [("bad", 6)],
    }


def test_punctuation_and_what_is_cut_into_several_tokens_are_left_out():
    found = most_telling(encoder("first"), *CLASSIFIER, lang="en")["yes"]
    assert {"!", "don't"}.isdisjoint(word for word, _ in found)


def test_every_space_must_know_the_word():
    weights, bias, classes = CLASSIFIER
    both = np.repeat(weights, 2, axis=1)
    found = most_telling(encoder("first", "second"), both, bias, classes, lang="en")["yes"]
    assert [word for word, _ in found] == ["good", "fine", "so"]


def test_only_the_commonest_words_are_tried(monkeypatch):
    monkeypatch.setattr(explain, "COMMONEST", 2)
    found = most_telling(encoder("first"), *CLASSIFIER, lang="en")
    assert found == {"yes": [("fine", 4)], "no": [("bad", 6)]}


def test_the_other_class_is_the_best_of_several():
    weights, bias = np.float32([[1], [-1], [0]]), np.float32([0, 0, 1])
    found = most_telling(encoder("first"), weights, bias, ("yes", "no", "none"), lang="en", k=1)
    assert found == {"yes": [("rare", 6)], "no": [("bad", 2)], "none": [("so", 0.5)]}


def test_a_classifier_of_other_rows_is_refused():
    with pytest.raises(InputError, match="another encoder's rows"):
        most_telling(encoder("first", "second"), *CLASSIFIER, lang="en")
