"""Confidence in other languages: words of one column, which translation blurs.

The column is the log odds of a word. German and French words have the column of the English word,
and noise: what German decisions should be divided by is known.
"""

import dataclasses

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, WordSpace
from pmeans.encoder.translations import Translations
from pmeans.errors import FormatError
from pmeans.tensors import map_tensors, write_tensors
from pmeans.transfer import cross_lingual_calibration as calibration
from pmeans.transfer.linear import Calibration

N = 6000
LANGUAGES = ("en", "de", "fr")
RNG = np.random.default_rng(0)
ODDS = RNG.standard_normal(N) * 2
NOISE = {"en": 0.0, "de": 2.0, "fr": 4.0}
RIGHT = RNG.random(N) < 1 / (1 + np.exp(-ODDS))
LABELS = ["yes" if right else "no" for right in RIGHT]
WORDS = {lang: [f"{lang}{i}" for i in range(N)] for lang in LANGUAGES}
TRAINED, PAIRED, TESTED = slice(0, 2000), slice(2000, 4000), slice(4000, N)


def pairs(lang):
    return list(zip(WORDS["en"][PAIRED], WORDS[lang][PAIRED], strict=True))


def make_encoder(translations):
    columns = [ODDS + NOISE[lang] * RNG.standard_normal(N) for lang in LANGUAGES]
    space = WordSpace.from_words("odds", WORDS, np.concatenate(columns)[:, None].astype(np.float32))
    recipe = Recipe((Part("odds", (1,)),), "odds", tokenizer="words")
    return PowerMeanEncoder(recipe, {"odds": space}, translations=translations)


def raised(space, lang, by):
    """Return a space with something added to the vectors of one language."""
    added = [np.full(N, by if each == lang else 0) for each in LANGUAGES]
    matrix = space.matrix + np.concatenate(added)[:, None]
    return WordSpace.from_words("odds", WORDS, matrix.astype(np.float32))


@pytest.fixture(scope="module")
def encoder():
    return make_encoder(Translations("en", {"de": pairs("de"), "fr": pairs("fr")}))


def fitted(encoder, lang="en", labels=LABELS):
    return TransferClassifier(encoder).fit(WORDS[lang][TRAINED], labels[TRAINED], lang=lang)


@pytest.fixture(scope="module")
def classifier(encoder):
    return fitted(encoder)


def overconfidence(classifier, lang):
    got = classifier.classify(WORDS[lang][TESTED], lang=lang)
    right = np.equal(got.labels, LABELS[TESTED])
    return np.mean(got.probabilities) - np.mean(right)


@pytest.mark.parametrize("lang", ["de", "fr"])
def test_a_made_up_shift_is_undone(encoder, classifier, lang):
    assert overconfidence(fitted(encoder.replace(translations=None)), lang) > 0.1
    # 0.03: the accuracy of 2,000 rows has a deviation of 0.01.
    assert abs(overconfidence(classifier, lang)) < 0.03


def test_the_language_of_training_keeps_its_calibration(encoder, classifier):
    alone = fitted(encoder.replace(translations=None))
    assert all(map(np.array_equal, classifier.weights_for("en"), alone.weights_for("en")))


def test_labels_stay_as_they_are_where_one_is_given(encoder, classifier):
    alone = fitted(encoder.replace(translations=None))
    texts = WORDS["fr"][TESTED]
    predicted = classifier.predict(texts, lang="fr")
    np.testing.assert_array_equal(predicted, alone.predict(texts, lang="fr"))


def test_without_translations_nothing_is_changed(encoder):
    alone = fitted(encoder.replace(translations=None))
    assert alone.calibrated == ()
    assert all(map(np.array_equal, alone.weights_for("de"), (alone.weights, alone.bias)))


def test_translations_that_are_encoded_alike_change_nothing(encoder):
    same = Translations("en", {"de": [(word, word) for word in WORDS["en"][PAIRED]]})
    space = encoder.spaces["odds"]
    twice = WordSpace.from_words("odds", {"en": WORDS["en"], "de": WORDS["en"]},
                                 np.concatenate([space.matrix[:N]] * 2))  # fmt: skip
    alike = PowerMeanEncoder(encoder.recipe, {"odds": twice}, translations=same)
    slope = fitted(alike).fitted.calibrated["de"].slope
    np.testing.assert_allclose(slope, 1, rtol=0.05)  # 1,000 of the 2,000 rows are looked at


def test_a_shift_that_all_translations_share_is_no_blur(encoder, classifier):
    linear = classifier.fitted.linear_for("en")
    moved = encoder.replace(spaces={"odds": raised(encoder.spaces["odds"], "de", 5)})
    one, other = (
        calibration._decided(each, linear, ("en", "de"), pairs("de"), np.ones(200,
                        int), np.random.default_rng(0))
        for each in (encoder, moved)
    )  # fmt: skip
    decisions = one[0]
    np.testing.assert_allclose(
        calibration._translated(decisions, *one),
        calibration._translated(decisions, *other),
        atol=1e-4,  # float32, of numbers up to 20
    )


def test_the_blur_of_the_original_is_not_added_to_rows_that_have_it():
    rng = np.random.default_rng(0)
    meant = 2 * rng.standard_normal((20_000, 1))
    first, second = (meant + rng.standard_normal(meant.shape) for _ in range(2))
    rows = 2 * rng.standard_normal(meant.shape) + rng.standard_normal(meant.shape)
    # 2 %: of 20,000 draws the deviation is known to half a per cent.
    assert calibration._translated(rows, first, second).std() == pytest.approx(
        second.std(), rel=0.02
    )


def test_no_language_is_surer_than_the_one_of_training():
    found = Calibration(np.array([2, 0.5], np.float32), np.array([1, 1], np.float32))
    kept = calibration._no_surer(found)
    assert (kept.slope.tolist(), kept.offset.tolist()) == ([1, 0.5], [0, 1])


def test_translations_are_raw_text_whatever_the_texts_of_the_task_are(encoder, classifier):
    raw = {"de": [(f"{a}.", f"{b}.") for a, b in pairs("de")]}
    tokens = dataclasses.replace(encoder.recipe, tokenizer="whitespace")
    task = fitted(encoder.replace(recipe=tokens, translations=Translations("en", raw)))
    slope = classifier.fitted.calibrated["de"].slope
    np.testing.assert_array_equal(task.fitted.calibrated["de"].slope, slope)


def test_the_noisier_language_is_trusted_less(classifier):
    slopes = {lang: found.slope[0] for lang, found in classifier.fitted.calibrated.items()}
    assert slopes["fr"] < slopes["de"] < 1


def test_a_language_that_is_not_the_pivot_may_be_the_one_of_training(encoder):
    german = fitted(encoder, "de")
    assert german.calibrated == ("fr",)
    alone = fitted(encoder.replace(translations=None), "de")
    assert abs(overconfidence(german, "fr")) < abs(overconfidence(alone, "fr"))


def test_decisions_about_longer_texts_differ_less(encoder, classifier):
    linear = classifier.fitted.linear_for("en")
    decided = [
        calibration._decided(encoder, linear, ("en", "de"), pairs("de"), np.full(500,
                        n), np.random.default_rng(0))
        for n in (1, 25)
    ]  # fmt: skip
    short, long = ((second - first).std() for first, second in decided)
    assert long == pytest.approx(short / 5, rel=0.2)  # as of a mean of 25; 80 times 25 are all


def test_few_pairs_are_not_enough(encoder):
    few = Translations("en", {"de": pairs("de")[: calibration.FEWEST - 1], "fr": pairs("fr")})
    assert fitted(encoder.replace(translations=few)).calibrated == ("fr",)


def test_a_language_that_the_encoder_lacks_is_passed_over(encoder):
    more = Translations("en", {"it": pairs("de"), "de": pairs("de")})
    assert fitted(encoder.replace(translations=more)).calibrated == ("de",)


def test_a_language_whose_z_norm_is_not_fitted_is_passed_over(encoder):
    recipe = dataclasses.replace(encoder.recipe, znorm="per_language")
    partly = encoder.replace(recipe=recipe)
    for lang in ("en", "fr"):
        partly = partly.fit_znorm(WORDS[lang][PAIRED], lang=lang)
    assert fitted(partly).calibrated == ("fr",)


def test_each_of_several_labels_is_calibrated_by_itself(encoder):
    chance = np.random.default_rng(1).random(N) < 0.5
    labels = [["yes"] * bool(a) + ["any"] * bool(b) for a, b in zip(RIGHT, chance, strict=True)]
    several = fitted(encoder, labels=labels)
    p = several.predict_proba(WORDS["fr"][TESTED], lang="fr")[:, 1]
    before = fitted(encoder.replace(translations=None), labels=labels)
    q = before.predict_proba(WORDS["fr"][TESTED], lang="fr")[:, 1]
    assert several.classes_.tolist() == ["any", "yes"]
    assert (several.fitted.calibrated["fr"].slope <= 1).all()
    right = RIGHT[TESTED]
    assert np.mean((p - right) ** 2) < np.mean((q - right) ** 2) - 0.02


def test_explanations_add_up_to_the_calibrated_decision(classifier):
    text = " ".join(WORDS["de"][4000:4003])
    yes = classifier.explain(text, lang="de", label="yes")
    decision = classifier.decision_function(text, lang="de")
    np.testing.assert_allclose(yes.margin, decision, rtol=1e-5)  # float32


def test_a_stored_classifier_is_calibrated_alike_and_carries_no_text(classifier, tmp_path):
    classifier.save(tmp_path / "it")
    again = TransferClassifier.load(tmp_path / "it")
    texts = WORDS["fr"][TESTED]
    np.testing.assert_array_equal(
        again.predict_proba(texts, lang="fr"), classifier.predict_proba(texts, lang="fr")
    )
    assert again.calibrated == ("de", "fr")
    assert again.encoder.translations is None


@pytest.mark.parametrize("value", [np.ones(3, np.float32), np.full(2, np.nan, np.float32)])
def test_a_damaged_calibration_is_an_error(classifier, tmp_path, value):
    classifier.save(tmp_path / "it")
    path = tmp_path / "it" / "classifier.safetensors"
    tensors, metadata = map_tensors(path)
    write_tensors(path, {k: v.copy() for k, v in tensors.items() if "pad" not in k}
                  | {"slope.de": value}, metadata)  # fmt: skip
    with pytest.raises(FormatError, match=r"'slope.de' does not fit 2 classes"):
        TransferClassifier.load(tmp_path / "it")
