"""mteb's own tasks, on sentences of ours, against scores that we compute ourselves."""

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression

import pmeans
from libraries import DE, EN, library
from pmeans.languages.resolution import DoubtfulLanguageWarning

pytestmark = pytest.mark.integrations

SAMPLE = Path(__file__).parents[2] / "demo" / "sample"


@pytest.fixture(scope="module")
def mteb():
    return library("mteb", "mteb")


@pytest.fixture(scope="module")
def encoder():
    return pmeans.load()


@pytest.fixture(scope="module")
def model(mteb, encoder):
    from pmeans.integrations.mteb import MTEBEncoder

    return MTEBEncoder(encoder)


@pytest.fixture
def evaluate(mteb, model):
    """Run one of mteb's tasks on our data, and give its scores."""
    import datasets

    def run(name, subset, splits):
        task = mteb.get_task(name, hf_subsets=[subset], eval_splits=["test"])
        tables = {split: datasets.Dataset.from_dict(table) for split, table in splits.items()}
        task.dataset = {subset: datasets.DatasetDict(tables)}
        task.data_loaded = True
        results = mteb.evaluate(model, task, cache=None, show_progress_bar=False)
        (scores,) = results.task_results[0].scores["test"]
        return results, scores

    return run


def test_a_similarity_task_scores_as_we_do(evaluate, encoder):
    gold = [5.0, 0.0, 1.0, 2.0]
    pairs = {"sentence1": DE, "sentence2": [DE[0], EN[0], DE[1], DE[2]], "score": gold}
    results, scores = evaluate("STS22.v2", "de", {"test": pairs})
    # In German, as the subset says: the English sentence too.
    rows = [encoder.encode(pairs[name], lang="de") for name in ("sentence1", "sentence2")]
    expected = spearmanr(encoder.similarity_pairwise(*rows), gold).statistic
    assert scores["main_score"] == pytest.approx(expected)
    assert results.model_name == f"pmeans/{encoder.name}"
    assert results.model_revision == encoder.fingerprint()


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor:UserWarning")  # mteb does
def test_a_bitext_task_scores_as_we_do(evaluate, encoder):
    shuffled = [DE[0], DE[2], DE[1], DE[3]]  # two are wrong, and so are their neighbours
    _, scores = evaluate("Tatoeba", "deu-eng", {"test": {"sentence1": shuffled, "sentence2": EN}})
    rows = encoder.encode(shuffled, lang="de"), encoder.encode(EN, lang="en")
    nearest = encoder.similarity(*rows).argmax(axis=1)
    assert list(nearest) == [0, 2, 1, 3]
    assert scores["accuracy"] == np.mean(nearest == np.arange(4))


def test_a_classification_task_scores_as_we_do(evaluate, encoder):
    train, test = sample("train.de.csv"), sample("test.de.csv")
    topics = sorted(set(train["label"]))
    for table in (train, test):
        table["label"] = [topics.index(topic) for topic in table["label"]]
    # Eight of each: what mteb would draw for one of its classifiers, so that all are the same.
    eight = [i for topic in range(len(topics)) for i in places(train["label"], topic)[:8]]
    train = {name: [column[i] for i in eight] for name, column in train.items()}
    _, scores = evaluate("MTOPDomainClassification", "de", {"train": train, "test": test})
    rows = encoder.encode(train["text"], lang="de"), encoder.encode(test["text"], lang="de")
    ours = LogisticRegression(max_iter=100).fit(rows[0], train["label"])
    # abs: one sentence at the border, as the order of training moves the last digits.
    assert scores["accuracy"] == pytest.approx(ours.score(rows[1], test["label"]), abs=0.01)


def sample(name):
    """Return the columns of a file of the sample."""
    with open(SAMPLE / name, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: [row[key] for row in rows] for key in ("text", "label")}


def places(labels, label):
    return [i for i, each in enumerate(labels) if each == label]


def test_the_language_is_found_where_the_encoder_has_not_that_of_the_task(mteb, model, encoder):
    spanish = mteb.get_task("STS22.v2").metadata
    asked = {"task_metadata": spanish, "hf_split": "test", "hf_subset": "es"}
    np.testing.assert_array_equal(model.encode([{"text": EN}], **asked), encoder.encode(EN))
    with pytest.warns(DoubtfulLanguageWarning):
        model.encode([{"text": ["¿Dónde está la playa más bonita?"]}], **asked)


def test_columns_named_by_their_language_are_of_that_language(mteb, model, encoder):
    parallel = mteb.get_task("NTREXBitextMining").metadata
    for column, lang in (("deu_Latn", "de"), ("eng_Latn", "en"), ("fra_Latn", "fr")):
        asked = {"task_metadata": parallel, "hf_split": "test", "hf_subset": column}
        got = model.encode([{"text": EN[:2]}, {"text": EN[2:]}], **asked)
        np.testing.assert_array_equal(got, encoder.encode(EN, lang=lang))
