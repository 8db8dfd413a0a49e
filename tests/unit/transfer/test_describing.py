"""Labels without training: by names, by descriptions, matched to the texts at hand."""

import csv

import numpy as np
import pytest
from opinions import opinions
from typer.testing import CliRunner

import pmeans
from pmeans import TransferClassifier
from pmeans.cli.main import app
from pmeans.errors import InputError
from pmeans.transfer import describing

LABELS = {"pos": ["good house", "the great dog"], "neg": ["bad house", "the awful dog"]}


@pytest.fixture
def run(tmp_path, encoder, monkeypatch):
    pmeans.save(encoder, tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    return lambda line: CliRunner().invoke(app, [*line.split(), "--model", "model"])


def accuracy(found, labels):
    return np.mean([a == b for a, b in zip(found, labels, strict=True)])


@pytest.mark.parametrize("lang", ["en", "de"])
def test_descriptions_label_texts_of_every_language(encoder, lang):
    texts, labels = opinions(200, lang)
    found = pmeans.label(texts, LABELS, model=encoder, lang=lang, labels_lang="en")
    assert accuracy(found.labels, labels) > 0.9
    classifier = TransferClassifier(encoder).describe(LABELS, lang="en")
    assert accuracy(classifier.predict(texts, lang=lang), labels) > 0.9


def test_a_list_of_names_is_described_by_the_names(encoder):
    by_name = TransferClassifier(encoder).describe(["good", "bad"], lang="en")
    described = TransferClassifier(encoder).describe({"good": "good", "bad": ["bad"]}, lang="en")
    np.testing.assert_array_equal(by_name.weights, described.weights)
    assert by_name.predict("the good soup", lang="en") == "good"
    assert by_name.chosen.method == "described"
    assert by_name.chosen.score is None


def test_the_order_of_descriptions_is_of_no_account_and_their_number_is_not_a_weight(encoder):
    once = TransferClassifier(encoder).describe({"a": "good", "b": "bad"}, lang="en")
    often = TransferClassifier(encoder).describe({"a": ["good"] * 9, "b": ["bad"]}, lang="en")
    np.testing.assert_allclose(once.weights, often.weights, rtol=1e-5)


def test_what_any_text_is_like_is_computed_once_per_model(encoder, monkeypatch):
    encoder = encoder.replace()
    first = TransferClassifier(encoder).describe(LABELS, lang="en")
    blocks = []
    monkeypatch.setattr(describing.Moments, "add", lambda self, rows: blocks.append(rows))
    again = TransferClassifier(encoder).describe(LABELS, lang="en")
    assert not blocks
    np.testing.assert_array_equal(again.fitted.centre, first.fitted.centre)
    TransferClassifier(encoder.replace()).describe(LABELS, lang="en")
    assert blocks


def test_labels_are_matched_to_the_texts_of_each_language_that_has_enough(encoder):
    english, german = opinions(150, "en")[0], opinions(30, "de")[0]
    langs = ["en"] * 150 + ["de"] * 30
    found = pmeans.label(english + german, LABELS, model=encoder, lang=langs, labels_lang="en")
    classifier = TransferClassifier(encoder).describe(LABELS, lang="en").adapt(english, lang="en")
    expected = classifier.classify(english + german, lang=langs)
    assert found.labels == expected.labels
    assert found.probabilities == expected.probabilities
    streamed = pmeans.label(
        iter(english + german), LABELS, model=encoder, lang=iter(langs), labels_lang="en"
    )
    assert streamed.labels == found.labels


def test_a_described_classifier_is_saved_explained_and_trained_like_any_other(encoder, tmp_path):
    classifier = TransferClassifier(encoder).describe(LABELS, lang="en")
    texts, labels = opinions(60, "en")
    classifier.save(tmp_path / "it")
    again = TransferClassifier.load(tmp_path / "it")
    np.testing.assert_array_equal(
        again.decision_function(texts, lang="en"), classifier.decision_function(texts, lang="en")
    )
    explained = again.explain("the good soup", lang="en", label="pos")
    assert max(explained.tokens, key=lambda token: token.contribution).text == "good"
    assert again.fit(texts, labels, lang="en").chosen.method == "logistic"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("good,bad", "a list of names, or descriptions by name, not 'good,bad'"),
        (["good"], "cannot choose among 1 label"),
        (["good", "good"], "the label 'good' is there twice"),
        ({"a": "good", "b": []}, "the label 'b' needs a description"),
        ({"a": "good", "b": [None]}, "the label 'b' needs a description"),
        ({"a": "good", "b": None}, "the label 'b' needs a description"),
        (["good", 3], "the label 3 needs a description"),
        ([["good"], ["bad"]], r"a label is a str or a number, not \['good'\]"),
        ({"a": "good", "b": "zzz"}, "no known word in what the label 'b' is described by"),
    ],
)
def test_what_describes_nothing_is_refused(encoder, labels, message):
    with pytest.raises(InputError, match=message):
        TransferClassifier(encoder).describe(labels, lang="en")


def test_the_command_labels_a_file_and_keeps_the_classifier(run, tmp_path):
    texts, labels = opinions(200, "en")
    (tmp_path / "in.csv").write_text("text\n" + "".join(f"{text}\n" for text in texts))
    (tmp_path / "labels.csv").write_text(
        "label,text\n" + "".join(f"{name},{text}\n" for name in LABELS for text in LABELS[name])
    )
    given = "label in.csv --lang en --labels labels.csv --labels-lang en --out out.csv --save kept"
    done = run(given)
    assert done.exit_code == 0, done.output
    assert "labels are matched to the rows in en." in done.stderr
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        found = [row["label"] for row in csv.DictReader(file)]
    assert accuracy(found, labels) > 0.9
    kept = TransferClassifier.load(tmp_path / "kept")
    assert list(kept.predict(texts, lang="en")) == found


def test_names_are_given_with_commas_and_standard_input_is_read_once(run, tmp_path):
    (tmp_path / "in.txt").write_text("the good soup\n")
    done = run("label in.txt --lang en --labels good,bad --labels-lang en")
    assert done.stdout.splitlines()[1].split(",")[:2] == ["the good soup", "good"]
    assert "matched" not in done.stderr


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("good", "names with commas between them, or a file, and 'good' is neither"),
        ("good,,bad", "'good,,bad' is neither"),
        ("empty.csv", "cannot choose among 0 labels"),
        ("other.csv", "no column 'label'"),
    ],
)
def test_labels_that_are_none_are_one_line(run, tmp_path, labels, message):
    (tmp_path / "in.txt").write_text("the good soup\n")
    (tmp_path / "empty.csv").write_text("label,text\n")
    (tmp_path / "other.csv").write_text("name,text\na,b\n")
    done = run(f"label in.txt --lang en --labels {labels}")
    assert done.exit_code == 1
    assert message in done.stderr
