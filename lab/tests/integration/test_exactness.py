"""The protocols against the plain torch reference, fit by fit, on real sentences.

Both add up the same float32 products in different orders. The last bit of a weight may therefore
differ, and very rarely the class of a development sentence that lies on the border; a fit can then
stop at another round. So nearly all fits must agree to the letter, and the scores closely.
"""

import numpy as np
import pytest

import oracle
from pmeans import kernels
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.spaces.readers import read_space
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.dataset import Dataset, Examples
from pmeans_lab.evaluation.features import Features
from pmeans_lab.evaluation.protocol import Job, Trainer
from pmeans_lab.evaluation.protocols import evaluate, senteval_2018, ukp_subsample
from pmeans_lab.evaluation.random_splits import stratified_folds

INF = float("inf")


@pytest.fixture(scope="module")
def encoder(data_dir):
    space, _ = read_space(data_dir / "vectors" / "glove-6b-100d.en.f16.npy")
    return PowerMeanEncoder(Recipe((Part("glove", (-INF, 1.0, INF)),)), {"glove": space})


def run(protocol, dataset, encoder):
    """Return the scores, and the development score and epochs of every fit."""
    fits = []

    def train(groups, rule):
        found = kernels.train_classifiers(groups, rule)
        fits.extend((f.score, f.epochs) for members in found for f in members)
        return found

    features = Features(encoder, dataset)
    job = Job(dataset, features, "en", ["en"], Trainer(train, 1), lambda *_: None)
    return protocol.run(job), fits


def agreement(ours, theirs):
    assert len(ours) == len(theirs)
    return np.mean([a == b for a, b in zip(ours, theirs, strict=True)])


@pytest.mark.data
def test_the_subsamples_of_ac_agree_with_the_reference(data_dir, encoder):
    dataset = tasks.load(tasks.find("AC"), data_dir, ["en"])
    rows = dataset.rows["en"]["all"]
    scores, fits = run(ukp_subsample.UKP_SUBSAMPLE, dataset, encoder)
    x = encoder.encode(rows.sentences, lang="en")
    expected = oracle.ukp({"en": x}, rows.labels, "en")
    theirs = sorted(expected.fits, key=lambda f: (f.split, -f.setting))
    assert agreement(fits, [(f.dev, f.epochs) for f in theirs]) >= 0.98
    assert scores[0].chosen == {"rate": expected.reported[0].setting}
    differences = [
        abs(a.value - b.test["en"]) for a, b in zip(scores, expected.reported, strict=True)
    ]
    assert np.mean(np.array(differences) < 1e-9) >= 0.98


@pytest.mark.data
def test_the_nested_folds_of_cr_agree_with_the_reference(data_dir, encoder, monkeypatch):
    # Every fifth sentence, and three folds: 3 x (3 x 4 + 1) fits, some seconds one by one.
    full = tasks.load(tasks.find("CR"), data_dir, ["en"]).rows["en"]["all"]
    rows = Examples(full.sentences[::5], full.labels[::5])
    dataset = Dataset("CR", ("0", "1"), "accuracy", True, {"en": {"all": rows}})
    monkeypatch.setattr(senteval_2018, "FOLDS", 3)
    scores, fits = run(senteval_2018.SENTEVAL_2018, dataset, encoder)
    x = encoder.encode(rows.sentences, lang="en")
    expected = oracle.senteval_nested(x, rows.labels, folds=3)
    # The reference trains penalty by penalty, the protocol fold by fold; refits come last in both.
    theirs = sorted(
        expected.fits, key=lambda f: (f.split, f.inner is None, f.inner or 0, f.setting)
    )
    assert agreement(fits, [(f.dev, f.epochs) for f in theirs]) >= 0.95
    for ours, other in zip(scores, expected.reported, strict=True):
        assert ours.chosen == {"l2": other.setting}
        # One sentence of a test fold is 0.4 points.
        assert abs(ours.value - other.test[""]) < 0.5


@pytest.mark.data
def test_published_parts_agree_with_the_reference(data_dir, encoder):
    full = tasks.load(tasks.find("SST"), data_dir, ["en"])
    some = {
        part: Examples(
            rows.sentences[:: max(1, len(rows) // 600)], rows.labels[:: max(1, len(rows) // 600)]
        )
        for part, rows in full.rows["en"].items()
    }
    dataset = Dataset("SST", full.classes, "accuracy", True, {"en": some})
    [score] = evaluate(encoder, dataset, "senteval-2018", train_lang="en", test_langs=["en"])
    x = {part: encoder.encode(rows.sentences, lang="en") for part, rows in some.items()}
    expected = oracle.senteval_fixed(
        x["train"],
        some["train"].labels,
        x["dev"],
        some["dev"].labels,
        {"en": x["test"]},
        some["test"].labels,
    )
    assert score.chosen == {"l2": expected.reported[0].setting}
    assert abs(score.value - expected.reported[0].test["en"]) < 0.5


@pytest.mark.parametrize("seed", [0, 1111])
def test_folds_are_those_of_the_reference(seed):
    labels = np.random.default_rng(seed).integers(0, 4, 203)
    ours = stratified_folds(labels, 10, seed)
    theirs = oracle.stratified_folds(labels, 10, seed)
    for (train, test), (other_train, other_test) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(train, other_train)
        np.testing.assert_array_equal(test, other_test)
