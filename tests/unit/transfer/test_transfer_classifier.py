"""The classifier: what it learns, and what it does with a user's mistakes."""

import numpy as np
import pytest
from opinions import OTHER, make_canonical, make_encoder, opinions
from scipy.stats import binomtest

from pmeans import Part, Recipe, TransferClassifier
from pmeans.errors import InputError, LanguageError, NotFittedError
from pmeans.transfer import (
    AlikeLabelsWarning,
    FewRowsWarning,
    UnknownWordsWarning,
    linear,
    selection,
)
from pmeans.transfer.selection import candidates


@pytest.fixture(scope="module")
def fitted(encoder):
    return TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")


def test_what_is_learned_in_english_holds_in_german(fitted):
    texts, labels = opinions(30, "de", seed=1)
    assert fitted.predict(texts, lang="de").tolist() == labels


def test_a_decision_is_the_product_of_row_and_weights(fitted, encoder):
    texts, _ = opinions(5, "de")
    rows = encoder.encode(texts, lang="de")
    # rtol: the same sum in another order.
    np.testing.assert_allclose(
        fitted.decision_function(texts, lang="de"),
        np.diff(rows @ fitted.weights.T + fitted.bias)[:, 0],
        rtol=1e-4,
    )


def test_rows_may_have_different_languages(fitted):
    english, german = opinions(2, "en"), opinions(2, "de")
    got = fitted.predict(english[0] + german[0], lang=["en", "en", "de", "de"])
    assert got.tolist() == english[1] + german[1]


def test_the_same_seed_gives_the_same_classifier(encoder, fitted):
    again = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    np.testing.assert_array_equal(again.weights, fitted.weights)


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_columns_of_powers_that_were_not_chosen_weigh_nothing(encoder, monkeypatch, scaling):
    def the_mean(*given):
        return [c for c in candidates(*given) if (c.powers, c.scaling) == ((1.0,), scaling)]

    monkeypatch.setattr(selection, "candidates", the_mean)
    classifier = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    by_power = np.abs(classifier.weights.reshape(2, 3, 4)).sum(axis=(0, 2))
    assert (by_power > 0).tolist() == [False, True, False]
    assert classifier.evaluate(*opinions(30, "de"), lang="de").accuracy == 1


def test_scaling_is_folded_into_the_weights(encoder, monkeypatch):
    def standard(*given):
        return [c for c in candidates(*given) if c.scaling == "standard"][:1]

    monkeypatch.setattr(selection, "candidates", standard)
    raw = make_encoder("none")
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(raw).fit(texts, labels, lang="en")
    x = raw.encode(texts, lang="en")
    x /= x.std(axis=0) + (x.std(axis=0) == 0)
    scaled = linear.fit("logistic", x, np.arange(60) % 2, 2, classifier.chosen.penalty).decide(x)
    got = classifier.decision_function(texts, lang="en") / np.diff(scaled)[:, 0]
    # The same up to a temperature, which is one factor. rtol: float32.
    np.testing.assert_allclose(got, np.full_like(got, got[0]), rtol=1e-3)


def test_fewer_powers_and_another_scaling_are_tried(encoder):
    inf = float("inf")
    tried = [(c.powers, c.scaling) for c in candidates(encoder, np.ones(12, np.float32))]
    assert tried == [(p, s) for p in ((-inf, 1, inf), (1,)) for s in ("none", "standard")]


def test_of_canonical_directions_the_first_are_tried():
    tried = candidates(make_canonical(rank=9), np.ones(9, np.float32))
    assert [(c.columns.tolist(), c.scaling) for c in tried] == [
        (list(range(n)), s) for n in (9, 4, 2) for s in ("none", "standard")
    ]
    assert {c.powers for c in tried} == {None}
    few = candidates(make_canonical(rank=1), np.ones(1, np.float32))
    assert [c.columns.tolist() for c in few] == [[0], [0]]


def test_what_is_learned_of_canonical_directions_holds_in_german(monkeypatch):
    def a_quarter(*given):
        return candidates(*given)[-1:]

    monkeypatch.setattr(selection, "candidates", a_quarter)
    classifier = TransferClassifier(make_canonical(8)).fit(*opinions(60, "en"), lang="en")
    assert (classifier.chosen.powers, classifier.chosen.columns) == (None, 2)
    assert classifier.weights.any(axis=0).tolist() == [True] * 2 + [False] * 6
    assert classifier.evaluate(*opinions(30, "de", seed=1), lang="de").accuracy == 1


@pytest.mark.parametrize("rank", [1, 8])  # fewer columns than classes, and more
def test_decisions_are_those_of_the_mapped_rows(rank):
    encoder = make_canonical(rank)
    classifier = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    texts = opinions(30, "de", seed=1)[0]
    rows, (weights, bias) = encoder.encode(texts, lang="de"), classifier.weights_for("de")
    # rtol: sums of float32 in another order.
    expected = np.diff(rows @ weights.T + bias)[:, 0]
    np.testing.assert_allclose(classifier.decision_function(texts, lang="de"), expected, rtol=1e-4)


@pytest.mark.parametrize("znorm", ["none", "per_language"])
def test_probabilities_sum_to_1(znorm):
    classifier = TransferClassifier(make_encoder(znorm)).fit(*opinions(60, "en"), lang="en")
    p = classifier.predict_proba(opinions(9, "de")[0], lang="de")
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-6)


def test_below_the_threshold_nothing_is_predicted(encoder):
    # Words of both kinds: hardly more likely the one than the other.
    classifier = TransferClassifier(encoder, unsure=0.9)
    classifier.fit(*opinions(60, "en"), lang="en")
    largest = classifier.predict_proba(["good bad"], lang="en").max()
    classifier.unsure = float(largest) + 1e-3
    assert classifier.predict(["good bad"], lang="en").tolist() == [None]
    classifier.unsure = float(largest) - 1e-3
    assert classifier.predict(["good bad"], lang="en").tolist() != [None]


@pytest.mark.filterwarnings("ignore::pmeans.transfer.UnknownWordsWarning")
@pytest.mark.parametrize("empty", ["", None, float("nan"), "xyzzy"])
def test_a_text_without_known_words_is_predicted_by_the_shares_of_training(encoder, empty):
    texts, labels = opinions(60, "en")
    texts, labels = texts[1:] + ["nice"] * 20, labels[1:] + ["pos"] * 20
    classifier = TransferClassifier(encoder).fit(texts, labels, lang="en")
    found = classifier.classify([empty, "bad"], lang="en")
    assert found.empty.tolist() == [True, False]
    assert found.labels == ["pos", "neg"]
    # atol: float32.
    assert found.probabilities[0] == pytest.approx(labels.count("pos") / len(labels), abs=1e-6)


def test_balanced_classes_have_equal_shares(encoder):
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(encoder, class_weight="balanced")
    classifier.fit(texts + ["nice"] * 30, labels + ["pos"] * 30, lang="en")
    np.testing.assert_allclose(classifier.predict_proba([""], lang="en"), [[0.5, 0.5]], rtol=1e-6)


def test_rows_without_known_words_are_left_out_of_training(encoder):
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(encoder).fit([*texts, ""], [*labels, "other"], lang="en")
    assert classifier.classes_.tolist() == ["neg", "pos"]
    assert (classifier.chosen.rows, classifier.chosen.empty) == (60, 1)


def test_one_row_a_class_is_enough(encoder):
    with pytest.warns(FewRowsWarning, match="2 different training texts in all"):
        classifier = TransferClassifier(encoder).fit(["good", "bad"], ["pos", "neg"], lang="en")
    assert classifier.chosen.score is None
    assert (classifier.chosen.held_out, classifier.chosen.interval) == (0, None)
    assert classifier.predict(["schlecht", "gut"], lang="de").tolist() == ["neg", "pos"]


def test_a_text_that_is_repeated_tells_nothing_about_others(encoder):
    # The labels of nine texts are drawn at random. Each text stands there six times.
    texts = [f"the {word} {other}" for word in ("good", "bad", "sad") for other in OTHER]
    labels = np.random.default_rng(0).permutation(np.repeat(["a", "b", "c"], 3)).tolist()
    spelled = [each for text in texts for each in (text, text.upper(), f" {text}  ") * 2]
    classifier = TransferClassifier(encoder).fit(spelled, np.repeat(labels, 6), lang="en")
    assert (classifier.chosen.rows, classifier.chosen.held_out) == (54, 9)
    assert classifier.chosen.score < 0.8


def test_how_sure_the_score_is_depends_on_the_different_texts(fitted):
    chosen = fitted.chosen
    assert (chosen.rows, chosen.score) == (60, 1)
    assert chosen.held_out == len(set(opinions(60, "en")[0])) == 18
    low, high = chosen.interval
    expected = binomtest(18, 18).proportion_ci(method="wilson")
    # rel: z is written with seven digits.
    assert (low, high) == pytest.approx((expected.low, expected.high), rel=1e-6)


def test_only_an_accuracy_has_an_interval(encoder):
    classifier = TransferClassifier(encoder, class_weight="balanced")
    chosen = classifier.fit(*opinions(60, "en"), lang="en").chosen
    assert (chosen.measure, chosen.interval) == ("macro-f1", None)


def test_classes_of_one_or_two_texts_are_named(encoder):
    texts, labels = opinions(60, "en")
    extra = ["the soup", "THE  soup", "the dog", "the house"]
    with pytest.warns(FewRowsWarning, match=r"1 of 3 classes have one or two .*: 'thing'\. Give"):
        TransferClassifier(encoder).fit([*texts, *extra[:3]], [*labels, *["thing"] * 3], lang="en")
    TransferClassifier(encoder).fit([*texts, *extra], [*labels, *["thing"] * 4], lang="en")


def test_rows_may_have_several_labels_or_none(encoder):
    texts, labels = opinions(90, "en")
    several = [
        {*([label] if label == "pos" else []), *(["animal"] if "dog" in text else [])}
        for text, label in zip(texts, labels, strict=True)
    ]
    classifier = TransferClassifier(encoder).fit(texts, several, lang="en")
    assert classifier.multi_label
    got = classifier.predict(["die gut hund", "die übel suppe"], lang="de")
    assert got == [("animal", "pos"), ()]


def test_a_label_unseen_in_training_is_wrong_and_named(fitted):
    found = fitted.evaluate(["the good", "the dog"], ["pos", "neutral"], lang="en")
    assert found.accuracy == 0.5
    assert found.unseen == {"neutral": 1}
    assert found.confusion_rows == ("neg", "pos", "neutral")
    assert found.confusion.sum() == 2


def test_unknown_words_are_counted_and_the_commonest_named(fitted):
    with pytest.warns(UnknownWordsWarning, match=r"50% of the words \('en'\).*'zebra', 'gnu'"):
        fitted.predict(["good zebra", "bad zebra", "nice gnu"], lang="en")


def test_punctuation_is_no_unknown_word(fitted):
    fitted.predict(["the good dog, the bad dog ... !"], lang="en")


def test_few_unknown_words_are_no_reason_to_warn(fitted):
    fitted.predict(["the good dog the soup the dog zebra"], lang="en")


MISTAKES = {
    "one class": ((["good", "nice"], ["pos", "pos"]), {}, "only one class, 'pos'"),
    "no rows": (([], []), {}, "no rows"),
    "lengths": ((["good", "bad"], ["pos"]), {}, "2 texts, but 1 label: give"),
    "all empty": ((["", None], ["pos", "neg"]), {}, "no known word in 2 texts"),
    "one string": (("good", ["pos"]), {}, "got one str"),
    "a number": (([1, 2], ["pos", "neg"]), {}, "text 0 is int"),
    "mixed labels": ((["good", "bad"], ["pos", ["neg"]]), {}, "row 1 has the label"),
    "labels of fractions": ((["good", "bad"], [1.5, 2.0]), {}, "1.5, which is no str, int or bool"),
    "labels of two types": ((["good", "bad"], [1, True]), {}, "row 1 has the label True"),
    "a table of labels": ((["good", "bad"], np.eye(2, dtype=int)), {}, "Give one column"),
    "a table of texts": ((np.array([["good"], ["bad"]]), ["pos", "neg"]), {}, "column of texts"),
    "languages": ((["good", "bad"], ["pos", "neg"]), {"lang": ["en"]}, "1 language: give"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_training_says_what_is_wrong(encoder, name):
    given, options, message = MISTAKES[name]
    with pytest.raises(InputError, match=message):
        TransferClassifier(encoder).fit(*given, **({"lang": "en"} | options))


def test_a_language_that_the_encoder_lacks_is_named(fitted):
    with pytest.raises(LanguageError, match="no language 'it' among de, en"):
        fitted.predict(["buono"], lang="it")


def test_nothing_is_predicted_before_training(encoder):
    with pytest.raises(NotFittedError, match="call fit first"):
        TransferClassifier(encoder).predict(["good"], lang="en")


@pytest.mark.parametrize(
    "options",
    [{"unsure": 2}, {"unsure": "0.5"}, {"class_weight": "heavy"}, {"lang": ["en"]}, {"encoder": 3}],
)
def test_options_are_checked_before_anything_is_encoded(encoder, options):
    with pytest.raises(InputError, match=next(iter(options))):
        TransferClassifier(**{"encoder": encoder} | options).fit(["xyzzy"], ["pos"], lang="en")


def test_several_labels_a_row_have_no_threshold(encoder):
    classifier = TransferClassifier(encoder).fit(
        ["good", "bad", "dog"], [["a"], ["b"], []], lang="en"
    )
    classifier.unsure = 0.6
    with pytest.raises(InputError, match="unsure is for one label a row"):
        classifier.predict(["good"], lang="en")


def test_one_of_several_labels_is_explained_against_not_having_it(encoder):
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(encoder).fit(texts, [[label] for label in labels], lang="en")
    found = classifier.explain("die gut hund", lang="de", label="neg")
    assert (found.label, found.against, found.margin < 0) == ("neg", "not neg", True)
    decision = classifier.decision_function(["die gut hund"], lang="de")[0, 0]
    assert found.margin == pytest.approx(decision, abs=1e-4)  # abs: float32
    with pytest.raises(InputError, match="say which one to explain, among 'neg', 'pos'"):
        classifier.explain("die gut hund", lang="de")


def test_without_a_known_word_the_shares_of_training_are_explained(encoder):
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(encoder).fit(
        texts[:40] + texts[40::2], labels[:40] + labels[40::2], lang="en"
    )
    found = classifier.explain("xyzzy", lang="de")
    assert found.label == "neg"
    assert found.margin == pytest.approx(np.log(30 / 20), abs=1e-6)  # abs: float32
    assert found.verdict().endswith("(no known word, constant +0.405)")


def test_labels_that_differ_in_case_or_blanks_alone_are_pointed_out(encoder):
    texts, labels = opinions(60, "en")
    labels[0] = " NEG "
    with pytest.warns(AlikeLabelsWarning, match="' NEG ' and 'neg' are two classes"):
        classifier = TransferClassifier(encoder).fit(texts, labels, lang="en")
    assert classifier.classes_.tolist() == [" NEG ", "neg", "pos"]


def test_a_row_whose_powers_cancel_is_not_empty():
    encoder = make_encoder("none")
    encoder = encoder.replace(recipe=Recipe((Part("opinions", (0,)),), tokenizer="words"))
    texts, labels = opinions(60, "en")
    found = TransferClassifier(encoder).fit(texts, labels, lang="en").classify(texts, lang="en")
    assert not encoder.encode("good bad", lang="en").all()
    assert not found.empty.any()


def test_a_fit_says_how_far_it_is(encoder):
    told = []
    classifier = TransferClassifier(encoder)
    classifier.fit(*opinions(60, "en"), lang="en", progress=lambda *step: told.append(step))
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert len(told) >= 4


def test_a_frame_in_place_of_texts_is_refused(fitted):
    with pytest.raises(InputError, match="pass list"):
        fitted.predict({"text": ["the good dog"]}, lang="en")
