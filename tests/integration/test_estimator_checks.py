"""scikit-learn's own checks, over the classifier of text and over all ways to fit a map.

The checks give rows of numbers. So these are spelled out in words, each of which has a vector that
is its number: all that the classifier does with texts and labels is then checked as it is.
"""

import functools
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from pmeans import (
    MapTransformer,
    Part,
    PowerMeanEncoder,
    PowerMeanVectorizer,
    Recipe,
    TransferClassifier,
    WordSpace,
)

pytestmark = pytest.mark.integrations

COLUMNS, STEP, FAR = 12, 0.05, 200
PAGE = Path(__file__).parents[2] / "docs" / "scikit-learn.md"

REFUSED = {"check_class_weight_classifiers": "gives a weight for each class"}
"""Checks of the classifier that fail, and why; the page in docs says the same."""


def encoder_of_numbers():
    values = np.arange(-FAR, FAR + 1)
    words = [f"{column}={value}" for column in range(COLUMNS) for value in values]
    vectors = np.kron(np.eye(COLUMNS), values[:, None] * STEP).astype(np.float32)
    space = WordSpace.from_words("numbers", {"mul": words}, vectors)
    return PowerMeanEncoder(Recipe((Part("numbers", (1.0,)),), "numbers"), {"numbers": space})


def spelled(rows):
    values = np.clip(np.rint(rows / STEP), -FAR, FAR).astype(int).tolist()
    return [" ".join(f"{column}={value}" for column, value in enumerate(row)) for row in values]


class OfNumbers:
    """Before an estimator of text: takes rows of numbers, and says so."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in ("predict", "predict_proba", "decision_function", "score", "transform"):
            return found

        @functools.wraps(found)
        def of_numbers(rows, *args, **named):
            if self.__sklearn_is_fitted__():
                rows = spelled(validate_data(self, rows, reset=False))
            return found(rows, *args, **named)

        return of_numbers


class Classifier(OfNumbers, TransferClassifier):
    def fit(self, X, y):  # noqa: N803
        rows, labels = validate_data(self, X, y)
        return super().fit(spelled(rows), labels)


class Vectorizer(OfNumbers, PowerMeanVectorizer):
    def fit(self, X, y=None):  # noqa: N803
        return super().fit(spelled(validate_data(self, X)))

    def fit_transform(self, X, y=None):  # noqa: N803
        return self.fit(X).transform(X)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "encoder_")


def failures(estimator):
    with warnings.catch_warnings(action="ignore"):  # of checks, about their own data
        found = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(found) > 40
    return {each["check_name"]: each["exception"] for each in found if each["status"] == "failed"}


def test_the_classifier_passes_the_checks_that_the_page_does_not_name():
    assert failures(Classifier(encoder_of_numbers())).keys() == REFUSED.keys()
    assert all(name in PAGE.read_text(encoding="utf-8") for name in REFUSED)


def test_the_vectorizer_passes_the_checks():
    assert failures(Vectorizer(encoder_of_numbers())) == {}


@pytest.mark.parametrize("method", ["ridge", "cca", "procrustes"])
@pytest.mark.parametrize("rank", [None, 1])
def test_maps_pass_the_checks(method, rank):
    assert failures(MapTransformer(method, rank=rank)) == {}
