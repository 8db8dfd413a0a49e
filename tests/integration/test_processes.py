"""Encoders and classifiers go to other processes: a pool of fresh ones, and joblib's."""

import multiprocessing

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import pmeans
from pmeans.estimators import PowerMeanVectorizer
from pmeans.transfer import TransferClassifier

pytestmark = pytest.mark.integrations

TEXTS = [
    "I love this wonderful film", "a delightful, happy story", "the best book of the year",
    "great music and a lovely evening", "what a beautiful day", "she was very kind to us",
    "I hate this terrible film", "a boring, sad story", "the worst book of the year",
    "awful music and a dreadful evening", "what an ugly day", "she was very rude to us",
]  # fmt: skip
LABELS = ["good"] * 6 + ["bad"] * 6
GERMAN = ["ein wunderbarer Film", "ein schrecklicher Film"]


def _rows(encoder):
    return encoder.encode(GERMAN, lang="de")


@pytest.fixture(scope="module")
def encoder():
    loaded = pmeans.load()
    loaded.encode(TEXTS)  # in use: with open files and all that is kept
    return loaded


def test_an_encoder_in_use_goes_to_a_pool_of_fresh_processes(encoder):
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        answers = pool.map_async(_rows, [encoder] * 3).get(timeout=300)
    for rows in answers:
        np.testing.assert_array_equal(rows, _rows(encoder))


def test_a_classifier_in_use_goes_to_a_pool_of_fresh_processes(encoder):
    classifier = TransferClassifier(encoder).fit(TEXTS, LABELS, lang="en")
    expected = classifier.predict_proba(GERMAN, lang="de")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        answer = pool.apply_async(classifier.predict_proba, (GERMAN,), {"lang": "de"})
        np.testing.assert_array_equal(answer.get(timeout=300), expected)


@pytest.mark.parametrize("model", ["by name", "in use"])
def test_classifiers_are_cross_validated_by_two_processes(encoder, model):
    classifier = TransferClassifier("default" if model == "by name" else encoder, lang="en")
    expected = cross_val_score(classifier, TEXTS, LABELS, cv=2)
    scores = cross_val_score(classifier, TEXTS, LABELS, cv=2, n_jobs=2)
    np.testing.assert_array_equal(scores, expected)


def test_pipelines_are_cross_validated_by_two_processes(encoder):
    pipeline = make_pipeline(PowerMeanVectorizer(encoder, lang="en"), LogisticRegression())
    expected = cross_val_score(pipeline, TEXTS, LABELS, cv=2)
    np.testing.assert_array_equal(
        cross_val_score(pipeline, TEXTS, LABELS, cv=2, n_jobs=2), expected
    )
