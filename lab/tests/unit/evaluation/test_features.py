"""Which rows a z-norm may see, scope by scope."""

import numpy as np
import pytest

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.features import Features

WORDS = {"en": ["a", "b", "c", "d"], "de": ["e", "f", "g", "h"]}
MATRIX = np.arange(8, dtype=np.float32)[:, None] ** 2


def encoder(scope):
    space = WordSpace.from_words("toy", WORDS, MATRIX)
    return PowerMeanEncoder(Recipe((Part("toy", (1.0,)),), znorm=scope), {"toy": space})


DATASET = Dataset(
    "toy",
    ("no", "yes"),
    "accuracy",
    True,
    {
        "en": {"all": Examples(("a", "b", "c", "d"), np.array([0, 1, 0, 1]))},
        "de": {"all": Examples(("e", "f", "g", "h"), np.array([0, 1, 0, 1]))},
    },
)
EN, DE = MATRIX[:4, 0], MATRIX[4:, 0]
SEEN = {"en": np.array([0, 1, 2]), "de": np.array([0, 1, 2])}


def view(scope):
    return Features(encoder(scope), DATASET).view("en", "all", SEEN)


def z(values, rows):
    return ((values - rows.mean()) / rows.std())[:, None]


@pytest.mark.parametrize(
    ("scope", "english", "german"),
    [
        ("none", EN[:, None], DE[:, None]),
        ("train", z(EN, EN[:3]), z(DE, EN[:3])),
        ("per_language", z(EN, EN[:3]), z(DE, DE[:3])),
        ("all", z(EN, EN), z(DE, EN)),
    ],
)
def test_a_scope_fits_on_its_rows_alone(scope, english, german):
    seen = view(scope)
    np.testing.assert_allclose(seen.matrix("en", "all"), english, rtol=1e-5)
    np.testing.assert_allclose(seen.matrix("de", "all"), german, rtol=1e-5)


def test_statistics_that_an_encoder_brings_are_kept():
    fitted = encoder("per_language").fit_znorm(["a", "d"], lang="en")
    got = Features(fitted, DATASET).view("en", "all", SEEN).matrix("en", "all")
    np.testing.assert_allclose(got, z(EN, EN[[0, 3]]), rtol=1e-5)


@pytest.mark.parametrize(("adapt", "german"), [("rows", DE[:2]), ("test", DE[2:])])
def test_adapting_fits_anew_on_rows_outside_the_test_set_or_on_the_test_rows(adapt, german):
    fitted = (
        encoder("per_language").fit_znorm(["a", "d"], lang="en").fit_znorm(["e", "h"], lang="de")
    )
    seen = {"en": np.array([0, 1]), "de": np.array([0, 1])}
    adapted = Features(fitted, DATASET, adapt).view("en", "all", seen)
    np.testing.assert_allclose(adapted.matrix("en", "all"), z(EN, EN[:2]), rtol=1e-5)
    np.testing.assert_allclose(adapted.matrix("de", "all"), z(DE, german), rtol=1e-5)


def test_adapting_keeps_the_alignment():
    fitted = encoder("per_language").fit_znorm([*"abcd"], lang="en")
    fitted = fitted.fit_znorm([*"efgh"], lang="de")
    pairs = list(zip("abcd", "efgh", strict=True))
    aligned = fitted.fit_alignment({"de": pairs}, pivot="en", method="ridge", penalty=1)
    got = Features(aligned, DATASET, "rows").view("en", "all", SEEN).matrix("de", "all")
    (factor,) = aligned.alignment.maps["de"].factors
    np.testing.assert_allclose(got, z(DE, DE[:3]) @ factor, rtol=1e-5)


@pytest.mark.parametrize(("scope", "same"), [("none", True), ("all", True), ("train", False)])
def test_only_what_depends_on_the_split_is_encoded_again(scope, same):
    features = Features(encoder(scope), DATASET)
    first = features.view("en", "all", SEEN).matrix("en", "all")
    assert (features.view("en", "all", SEEN).matrix("en", "all") is first) == same


def test_a_language_with_test_rows_alone_cannot_have_a_z_norm_of_its_own():
    rows = DATASET.rows["en"]["all"]
    parts = {"en": {"train": rows, "test": rows}, "de": {"test": DATASET.rows["de"]["all"]}}
    dataset = Dataset("toy", DATASET.classes, "accuracy", True, parts)
    with pytest.raises(InputError, match="nothing but test rows in 'de'"):
        Features(encoder("per_language"), dataset).check("en", ["en", "de"])
    Features(encoder("train"), dataset).check("en", ["en", "de"])


def test_a_plain_encoder_needs_no_recipe():
    class Lengths:
        name, dim = "lengths", 1

        def encode(self, sentences, *, lang=None):
            return np.array([[len(s)] for s in sentences], dtype=np.float64)

    got = Features(Lengths(), DATASET).view("en", "all", SEEN).matrix("de", "all")
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.ones((4, 1)))
