"""Labels beside the columns of an Arrow batch: the classifier's, whatever the batch is like."""

import numpy as np
import pyarrow as pa
import pytest
from opinions import opinions

import pmeans
from pmeans import TransferClassifier, arrow
from pmeans.errors import FormatError, InputError, StorageError

TEXTS = [*opinions(7, "de")[0], "zebra"]


@pytest.fixture(scope="module")
def classifier(encoder):
    return TransferClassifier(encoder, unsure=0.9).fit(*opinions(60, "en"), lang="en")


def predict(classifier, batch, **options):
    return arrow.predict(batch, classifier=classifier, **{"lang": "de", **options})


def test_labels_are_the_classifiers_and_stand_beside_the_columns(classifier, tmp_path):
    classifier.save(tmp_path / "saved")
    batch = pa.record_batch({"n": range(len(TEXTS)), "text": TEXTS})
    found = predict(tmp_path / "saved", batch)
    wanted = classifier.classify(TEXTS, lang="de")
    assert found.select(["n", "text"]).equals(batch)
    assert found.column("label").to_pylist() == wanted.labels
    assert found.column("probability").to_pylist() == wanted.probabilities
    assert found.column("language").to_pylist() == ["de"] * len(TEXTS)
    assert found.column("note").to_pylist()[-1] == "no known word"
    kinds = [pa.string(), pa.float32(), pa.string(), pa.string()]
    assert found.schema.types[2:] == kinds
    assert predict(classifier, batch.slice(0, 0)).schema.types[2:] == kinds


def test_a_table_stays_a_table_and_languages_may_differ_by_row(classifier):
    texts, langs = ["the good dog", "die üble suppe", None], ["en", "de", "en"]
    table = pa.table({"text": texts, "lang": langs, "label": ["a", "b", "c"]})
    found = predict(classifier, table, lang=None, lang_column="lang")
    assert isinstance(found, pa.Table)
    names = ["label", "probability", "language", "note"]
    assert found.column_names == ["text", "lang", "label", *(f"predicted_{name}" for name in names)]
    assert found.column("predicted_language").to_pylist() == langs
    assert (
        found.column("predicted_note").to_pylist()[2] == "no known word"
    )  # no text is an empty one


def test_rows_that_cannot_be_read_are_named_or_have_a_note(classifier):
    texts = pa.array([b"gut", b"\xff"]).view(pa.string())
    batch = pa.record_batch({"text": texts})
    with pytest.raises(FormatError, match="row 2: not valid UTF-8"):
        predict(classifier, batch)
    found = predict(classifier, batch, on_error="skip").drop_columns(["text"]).to_pylist()
    empty = {"label": None, "probability": None, "language": None, "note": "unreadable"}
    assert (found[0]["language"], found[1]) == ("de", empty)


def test_several_labels_are_lists(encoder):
    texts, labels = opinions(60, "en")
    both = [(label, "long") if i % 3 else (label,) for i, label in enumerate(labels)]
    classifier = TransferClassifier(encoder).fit(texts, both, lang="en")
    found = predict(classifier, pa.record_batch({"text": TEXTS}))
    wanted = classifier.classify(TEXTS, lang="de")
    assert found.column("label").to_pylist() == list(map(list, wanted.labels))
    assert found.column("probability").type == pa.list_(pa.float32())


def test_columns_that_are_all_taken_and_folders_that_are_not_there_are_refused(classifier):
    taken = pa.record_batch({"text": ["gut"], "label": ["a"], "predicted_label": ["b"]})
    with pytest.raises(InputError, match="has a column 'predicted_label' already: rename it"):
        predict(classifier, taken)
    with pytest.raises(StorageError, match="nowhere"):
        predict("nowhere", taken)
    twice = pa.RecordBatch.from_arrays([pa.array(["a"])] * 2, ["text", "text"])
    with pytest.raises(FormatError, match="two columns are called 'text'"):
        predict(classifier, twice)


def test_found_languages_are_told_and_doubts_are_noted():
    texts = ["The dog runs.", "The cat sleeps.", "The soup is good.", "The meal was bad."]
    classifier = TransferClassifier(pmeans.load()).fit(
        texts, ["animal"] * 2 + ["food"] * 2, lang="en"
    )
    asked = ["Der Hund rennt.", "Le chien court dans le jardin.", "Собака бежит."]
    found = predict(classifier, pa.record_batch({"text": asked}), lang=None)
    assert found.column("language").to_pylist() == ["de", "fr", None]
    assert "no known language" in found.column("note").to_pylist()[2]
    assert np.isfinite(found.column("probability").to_numpy()).all()
