"""Decisions by weights that the map of a language is folded into, once."""

import pickle
import threading

import numpy as np
import pytest
from opinions import make_canonical, opinions
from threadpoolctl import threadpool_info, threadpool_limits

from pmeans import TransferClassifier
from pmeans.encoder.alignment import Alignment

TEXT = "die suppe gut"


@pytest.fixture
def classifier():
    return TransferClassifier(make_canonical()).fit(*opinions(60, "en"), lang="en")


@pytest.fixture
def folds(monkeypatch):
    """The language of each fold, and how many threads BLAS had for it."""
    fold, seen = Alignment.fold, []

    def counted(self, weights, lang):
        seen.append((lang, blas_threads()))
        return fold(self, weights, lang)

    monkeypatch.setattr(Alignment, "fold", counted)
    return seen


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_a_map_is_folded_once_for_a_language_whatever_is_asked(classifier, folds):
    for _ in range(2):
        classifier.predict(TEXT, lang="de")
        classifier.predict_proba([TEXT], lang="de")
        classifier.decision_function([TEXT], lang="de")
        classifier.classify([TEXT, "the soup good"], lang=["de", "en"], n_threads=1)
    assert [lang for lang, _ in folds] == ["de", "en"]


def test_threads_that_ask_at_once_share_one_fold(classifier, folds):
    ready = threading.Barrier(8)

    def ask():
        ready.wait(timeout=60)
        classifier.predict(TEXT, lang="de")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [lang for lang, _ in folds] == ["de"]


def test_a_fold_takes_one_thread_and_gives_the_others_back(classifier, folds):
    with threadpool_limits(2, user_api="blas"):
        classifier.predict(TEXT, lang="de")
        assert folds == [("de", {1})]
        assert blas_threads() == {2}


def test_adapting_and_fitting_again_fold_anew(classifier, folds):
    before = classifier.decision_function(opinions(9, "de")[0], lang="de")
    classifier.adapt(["die suppe gut", "die hund toll"] * 300, lang="de")
    adapted = classifier.decision_function(opinions(9, "de")[0], lang="de")
    assert not np.array_equal(before, adapted)
    texts, labels = opinions(60, "en")
    classifier.fit(texts, labels[::-1], lang="en")
    assert not np.array_equal(classifier.decision_function(texts[:9], lang="de"), adapted)


def test_an_encoder_that_is_replaced_is_folded_anew(classifier, folds):
    classifier.predict(TEXT, lang="de")
    classifier._encoder = make_canonical(rank=8)
    classifier.predict(TEXT, lang="de")
    assert [lang for lang, _ in folds] == ["de", "de"]


def test_folded_weights_are_neither_pickled_nor_saved(classifier, tmp_path):
    fresh = pickle.dumps(classifier)
    classifier.save(tmp_path / "fresh")
    expected = classifier.decision_function([TEXT], lang="de")
    assert len(pickle.dumps(classifier)) == len(fresh)
    classifier.save(tmp_path / "used")
    for path in (tmp_path / "fresh").rglob("*.*"):
        assert (
            path.read_bytes()
            == (tmp_path / "used" / path.relative_to(tmp_path / "fresh")).read_bytes()
        )
    np.testing.assert_array_equal(
        pickle.loads(fresh).decision_function([TEXT], lang="de"), expected
    )
