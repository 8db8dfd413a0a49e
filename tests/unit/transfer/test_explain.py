"""Each rule by which a decision is divided among words, on numbers one can add up in the head."""

import json

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.znorm import SHARED, Statistics, ZNorm
from pmeans.errors import InputError, LanguageError
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.transfer.explain import Explanation, TokenPush, explain

INF = float("inf")


def space(values, name="s", **rest):
    return WordSpace.from_words(
        name, {"en": list(values)}, np.array(list(values.values()))[:, None], **rest
    )


def column(values, p, *, mean=None, root="signed", tokenizer="whitespace", **rest):
    """An encoder of one column: power p of words with one number each."""
    znorm = None
    if mean is not None:
        znorm = ZNorm("train", {SHARED: Statistics(np.float32([mean]), np.float32([1]), 2)})
    recipe = Recipe(
        (Part("s", (p,)),), root=root, tokenizer=tokenizer, znorm="train" if znorm else "none"
    )
    return PowerMeanEncoder(recipe, {"s": space(values, **rest)}, znorm)


def pushes(encoder, sentence):
    """Contributions where the decision is the row's only column."""
    weights, bias = np.float32([[1], [0]]), np.zeros(2, np.float32)
    found = explain(encoder, weights, bias, ("yes", "no"), sentence, lang="en", label="yes")
    return [token.contribution for token in found.tokens]


def test_a_mean_is_divided_by_the_number_of_known_words():
    encoder = column({"a": 6.0, "b": -3.0, "c": 0.0}, 1)
    assert pushes(encoder, "a b c a unheard") == [1.5, -0.75, 0, 1.5, 0]


@pytest.mark.parametrize(("p", "expected"), [(INF, [0, 6, 0, 0]), (-INF, [0, 0, -3, 0])])
def test_the_first_largest_or_smallest_word_gets_the_whole_column(p, expected):
    encoder = column({"a": 6.0, "b": -3.0, "c": 0.0}, p)
    assert pushes(encoder, "c a b a" if p > 0 else "c a b b") == expected


def test_other_powers_are_divided_in_proportion():
    # The powers are 27 and -19, their mean is 4.
    encoder = column({"a": 3.0, "b": -(19.0 ** (1 / 3))}, 3)
    # rel: the cube root of 19 is stored as float32.
    assert pushes(encoder, "a b") == pytest.approx([27 / 8 * 4 ** (1 / 3), -19 / 8 * 4 ** (1 / 3)])


def test_the_principal_root_turns_the_push_of_negative_words():
    # Mean of powers -8, whose principal root has the real part +1: docs/numerics.md.
    assert pushes(column({"a": -2.0}, 3, root="principal"), "a a") == pytest.approx([0.5, 0.5])


def test_powers_that_nearly_cancel_are_divided_alike():
    encoder = column({"a": 1.0, "b": -0.99}, 3)
    column_value = encoder.encode("a b", lang="en")[0]
    # Euler's shares would be +4.1 and -4.0 for a column of 0.25.
    assert pushes(encoder, "a b") == pytest.approx([column_value / 2] * 2)


@pytest.mark.parametrize("p", [0, -1])
def test_a_column_that_a_zero_makes_zero_gives_nothing(p):
    assert pushes(column({"a": 2.0, "z": 0.0}, p), "a z") == [0, 0]


@pytest.mark.parametrize("p", [1, INF, -INF, 3])
def test_an_average_word_pushes_nowhere(p):
    assert pushes(column({"a": 2.0}, p, mean=2.0), "a a") == [0, 0]


ROOT = 6.5**0.5  # the mean of 9 and 4, to be divided 9 : 4


@pytest.mark.parametrize(
    ("p", "expected"),
    [(1, [0.5, -2]), (INF, [1, 0]), (-INF, [0, -4]), (2, [9 / 13 * ROOT - 1, 4 / 13 * ROOT - 1])],
)
def test_the_mean_of_the_z_norm_goes_with_the_words(p, expected):
    encoder = column({"a": 3.0, "b": -2.0}, p, mean=2.0)
    assert pushes(encoder, "a b") == pytest.approx(expected)


def test_a_part_that_knows_no_word_gives_nothing_through_the_z_norm():
    recipe = Recipe((Part("s", (1,)), Part("t", (1, INF))), znorm="train")
    spaces = {"s": space({"a": 3.0}), "t": space({"b": 5.0}, "t")}
    znorm = ZNorm("train", {SHARED: Statistics(np.float32([1, 7, 7]), np.ones(3, np.float32), 2)})
    encoder = PowerMeanEncoder(recipe, spaces, znorm)
    weights = np.float32([[1, 1, 1], [0, 0, 0]])
    found = explain(encoder, weights, np.zeros(2, np.float32), ("yes", "no"), "a", lang="en")
    assert [token.contribution for token in found.tokens] == [2]
    assert (found.margin, found.constant) == (2, 0)


def test_a_word_that_one_space_knows_is_known():
    recipe = Recipe((Part("s", (1,)), Part("t", (1,))))
    encoder = PowerMeanEncoder(recipe, {"s": space({"a": 3.0}), "t": space({"b": 5.0}, "t")})
    weights, bias = np.float32([[1, 1], [0, 0]]), np.zeros(2, np.float32)
    found = explain(encoder, weights, bias, ("yes", "no"), "a b x", lang="en")
    assert [(t.contribution, t.known) for t in found.tokens] == [(3, True), (5, True), (0, False)]


def test_a_word_composed_from_subwords_is_known():
    subwords = Subwords(np.full((5, 1), 4.0, np.float32), 3, 3)
    encoder = column({"a": 6.0}, 1, subwords=subwords)
    found = explain(
        encoder, np.float32([[1], [0]]), np.zeros(2, np.float32), ("yes", "no"), "a bcd", lang="en"
    )
    assert [(t.contribution, t.known) for t in found.tokens] == [(3, True), (2, True)]


def test_quantised_vectors_are_decoded():
    encoder = PowerMeanEncoder(
        Recipe((Part("s", (1,)),)),
        {
            "s": WordSpace.from_words(
                "s", {"en": ["a"]}, np.array([[8]], np.int8), scale=np.float32([0.5])
            )
        },
    )
    assert pushes(encoder, "a") == [4]


THREE = np.float32([[1], [2], [0]]), np.float32([0, 0, 1.5]), ("one", "two", "none")


def test_the_predicted_class_is_explained_against_the_runner_up():
    found = explain(column({"a": 2.0}, 1), *THREE, "a", lang="en")
    assert (found.label, found.against, found.margin) == ("two", "one", 2)
    assert found.decisions == {"one": 2, "two": 4, "none": 1.5}


def test_a_class_that_was_asked_for_is_explained_against_the_best_other():
    found = explain(column({"a": 2.0}, 1), *THREE, "a", lang="en", label="none")
    assert (found.label, found.against, found.margin) == ("none", "two", -2.5)
    assert (found.tokens[0].contribution, found.constant) == (-4, 1.5)


def test_tokens_keep_the_spelling_and_place_they_have_in_the_sentence():
    encoder = column({"do": 1.0, "n't": 1.0, "!": 1.0}, 1, tokenizer="words")
    found = explain(encoder, *THREE, "  Don’t!", lang="en")
    assert [(t.text, t.start, t.end, t.known) for t in found.tokens] == [
        ("Do", 2, 4, True), ("n’t", 4, 7, True), ("!", 7, 8, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("Cafe\u0301 gut", ["Cafe\u0301", "gut"]),
        ("u\u0308\u0304 e\u0323\u0302, gut", ["u\u0308\u0304", "e\u0323\u0302", ",", "gut"]),
        ("e\u0301te\u0301’s gut", ["e\u0301te\u0301", "’s", "gut"]),
        ("\u0130 Straße ﬁn gut", ["\u0130", "Straße", "ﬁn", "gut"]),
    ],
)
def test_words_written_with_combining_marks_are_cut_from_the_text_as_it_stands(sentence, words):
    encoder = column({"gut": 1.0}, 1, tokenizer="words")
    found = explain(encoder, *THREE, sentence, lang="en")
    assert [sentence[t.start : t.end] for t in found.tokens] == words
    assert [t.text for t in found.tokens] == words
    assert found.tokens[-1].known


def test_invisible_characters_and_letter_forms_are_marked_where_they_stand():
    encoder = column({"good": 1.0, "fine": 2.0}, 1, tokenizer="words")
    sentence = "\ufeffgo\xadod\u200b ﬁne ｇｏｏｄ！"
    found = explain(encoder, *THREE, sentence, lang="en")
    expected = [("go\xadod", 1, True), ("ﬁne", 8, True), ("ｇｏｏｄ", 12, True), ("！", 16, False)]
    assert [(t.text, t.start, t.known) for t in found.tokens] == expected
    assert [sentence[t.start : t.end] for t in found.tokens] == [text for text, _, _ in expected]


def test_a_sentence_without_words_is_decided_by_the_constant():
    found = explain(column({"a": 2.0}, 1), *THREE, " ", lang="en")
    assert (found.tokens, found.label, found.margin, found.constant) == ((), "none", 1.5, 1.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "tow"}, "no class 'tow' among the classifier's 3. Did you mean 'two'"),
        ({"weights": np.zeros((3, 7), np.float32)}, r"weights \(3, 7\).*another encoder's rows"),
        ({"bias": np.zeros(2, np.float32)}, r"bias \(2,\) do not fit 3 classes"),
        ({"classes": ("one",)}, r"two classes or more, not \['one'\]"),
    ],
)
def test_what_does_not_fit_says_so(change, message):
    weights, bias, classes = THREE
    given = {"weights": weights, "bias": bias, "classes": classes, "sentence": "a", "lang": "en"}
    with pytest.raises(InputError, match=message):
        explain(column({"a": 2.0}, 1), **(given | change))


def test_a_language_that_the_encoder_lacks_is_refused():
    with pytest.raises(LanguageError, match="no language 'de'"):
        explain(column({"a": 2.0}, 1), *THREE, "a", lang="de")


SHOWN = Explanation(
    "fine, \x1b[2J zz", "en", "good", "bad", {"bad": -1.0, "good": 0.25},
    (
        TokenPush("fine", 0, 4, 1.0, True),
        TokenPush(",", 4, 5, -0.5, True),
        TokenPush("\x1b[2J", 6, 10, 0.25, True),
        TokenPush("zz", 11, 13, 0.0, False),
    ),
    0.5,
)  # fmt: skip


def test_the_text_shows_a_bar_for_each_word_in_order():
    assert SHOWN.as_text(40).splitlines() == [
        "good rather than bad: +1.250 (words +0.750, constant +0.500)",
        "fine   +1.000             |++++++++++++",
        "   ,   -0.500       ------|",
        "�[2J   +0.250             |+++",
        "  zz  unknown             |",
    ]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_no_line_of_words_is_wider_than_the_terminal(width):
    tokens = (TokenPush("x" * 200, 0, 200, 3.0, True), TokenPush("y", 201, 202, -3.0, True))
    text = Explanation("", "en", "a", "b", {"a": 1.0, "b": 0.0}, tokens, 1.0).as_text(width)
    assert max(map(len, text.splitlines()[1:])) <= width


def test_json_holds_everything_as_plain_values():
    plain = SHOWN.as_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["margin"] == 1.25
    assert plain["tokens"][1] == {
        "text": ",", "start": 4, "end": 5, "contribution": -0.5, "known": True,
    }  # fmt: skip
