"""A classifier adapts to a language by unlabelled texts of it."""

import copy

import numpy as np
import pytest
from opinions import make_canonical, make_encoder, opinions

from pmeans import TransferClassifier
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.transfer import FewTextsWarning


@pytest.fixture(scope="module")
def fitted(encoder):
    return TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")


@pytest.mark.parametrize(
    "encoder",
    [make_encoder("none"), make_encoder(), make_canonical()],
    ids=["no z-norm", "z-norm", "canonical"],
)
def test_adapting_to_the_training_texts_changes_nothing(encoder):
    texts, labels = opinions(60, "en")
    classifier = TransferClassifier(encoder).fit(texts, labels, lang="en")
    before = classifier.decision_function(texts, lang="en")
    after = classifier.adapt(texts * 2, lang="en").decision_function(texts, lang="en")
    # rtol, atol: the statistics go through float32 twice.
    np.testing.assert_allclose(after, before, rtol=1e-3, atol=1e-3)


def test_adapting_repairs_a_shift_of_one_language(encoder):
    texts, labels = opinions(60, "de", seed=2)
    shifted = encoder.znorm.statistics["de"].mean + 5 * encoder.znorm.statistics["de"].std
    statistics = dict(encoder.znorm.statistics)
    statistics["de"] = type(statistics["de"])(shifted, statistics["de"].std, 1)
    znorm = type(encoder.znorm)("per_language", statistics)
    broken = PowerMeanEncoder(encoder.recipe, encoder.spaces, znorm)
    classifier = TransferClassifier(broken).fit(*opinions(60, "en"), lang="en")
    assert classifier.evaluate(texts, labels, lang="de").accuracy < 0.8
    classifier.adapt(texts * 20, lang="de")
    assert classifier.evaluate(texts, labels, lang="de").accuracy == 1


@pytest.mark.filterwarnings("ignore::pmeans.transfer.FewTextsWarning")
def test_adapting_one_language_leaves_the_others_as_they_are(encoder):
    texts = opinions(20, "en")[0]
    classifier = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    before = classifier.decision_function(texts, lang="en")
    classifier.adapt(["die gut hund", "die gut suppe"], lang="de")
    np.testing.assert_array_equal(classifier.decision_function(texts, lang="en"), before)
    mixed = classifier.decision_function([texts[0], "die gut hund"], lang=["en", "de"])
    # rtol, atol: BLAS multiplies two rows in another order than twenty.
    np.testing.assert_allclose(mixed[0], before[0], rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore::pmeans.transfer.FewTextsWarning")
@pytest.mark.parametrize("given", [["die gut hund"], ["die gut hund", "die toll suppe"]])
def test_adapting_to_few_texts_does_no_harm(encoder, given):
    texts, labels = opinions(60, "de", seed=2)
    classifier = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    before = classifier.decision_function(texts, lang="de")
    assert classifier.adapt(given, lang="de").evaluate(texts, labels, lang="de").accuracy == 1
    # rtol: one or two texts of a hundred and two move a decision by some per cent.
    np.testing.assert_allclose(
        classifier.decision_function(texts, lang="de"), before, rtol=0.15, atol=0.15
    )


def test_adapting_to_few_texts_is_warned_of(fitted):
    with pytest.warns(FewTextsWarning, match=r"'de' is adapted to 2 texts.*Give 100 or more"):
        copy.copy(fitted).adapt(["die gut hund", "die toll suppe", "xyzzy"], lang="de")
    with pytest.warns(FewTextsWarning, match="to 1 text with"):
        copy.copy(fitted).adapt(["die gut hund"], lang="de")


def test_a_thousand_texts_count_ten_times_what_the_training_rows_do(fitted, encoder):
    texts = opinions(1000, "de", seed=3)[0]
    rows = encoder.encode(texts, lang="de").astype(np.float64)
    got = copy.copy(fitted).adapt(texts, lang="de").fitted.adapted["de"]
    centre, spread = fitted.fitted.centre, fitted.fitted.spread
    mean = (1000 * rows.mean(axis=0) + 100 * centre) / 1100
    variance = (1000 * rows.var(axis=0) + 100 * spread.astype(np.float64) ** 2) / 1100
    # rtol, atol: what is stored is float32.
    np.testing.assert_allclose(got.mean, mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got.std, np.sqrt(variance), rtol=1e-5, atol=1e-6)


def test_adapting_needs_a_known_word(fitted):
    with pytest.raises(InputError, match="no known word in 2 texts to adapt to"):
        fitted.adapt(["xyzzy", ""], lang="de")


@pytest.mark.filterwarnings("ignore::pmeans.transfer.FewTextsWarning")
def test_the_weights_of_an_adapted_language_are_for_its_rows(encoder):
    texts, _ = opinions(20, "de")
    classifier = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    classifier.adapt(texts, lang="de")
    weights, bias = classifier.weights_for("de")
    rows = encoder.encode(texts, lang="de")
    got = classifier.decision_function(texts, lang="de")
    # rtol, atol: the same sum in another order.
    np.testing.assert_allclose(np.diff(rows @ weights.T + bias)[:, 0], got, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore::pmeans.transfer.FewTextsWarning")
@pytest.mark.parametrize("make", [make_encoder, make_canonical])
def test_words_and_constant_add_up_to_the_decision_of_an_adapted_language(make):
    classifier = TransferClassifier(make()).fit(*opinions(60, "en"), lang="en")
    classifier.adapt(opinions(9, "de")[0], lang="de")
    found = classifier.explain("die gut suppe", lang="de")
    decision = classifier.decision_function("die gut suppe", lang="de")
    assert (found.label, found.against) == ("pos", "neg")
    # abs: float32, of decisions up to about 10.
    assert found.margin == pytest.approx(decision, abs=1e-4)
    total = sum(token.contribution for token in found.tokens) + found.constant
    assert total == pytest.approx(found.margin, abs=1e-4)
