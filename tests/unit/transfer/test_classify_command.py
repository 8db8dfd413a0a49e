"""``pmeans classify``: labels of single texts."""

import json

import pytest
from opinions import opinions
from typer.testing import CliRunner

from pmeans import TransferClassifier
from pmeans.cli.main import app


@pytest.fixture
def classify(encoder, tmp_path):
    model = tmp_path / "model"
    TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en").save(model)

    def invoke(*args, **kwargs):
        return CliRunner().invoke(app, ["classify", str(model), *args], **kwargs)

    return invoke


def test_texts_are_classified_as_arguments_or_lines(classify):
    said = classify("die gut suppe", "übel", "--lang", "de").stdout.splitlines()
    cells = [line.split("\t") for line in said]
    assert [[c[0], *c[2:]] for c in cells] == [
        ["pos", "de", "die gut suppe"],
        ["neg", "de", "übel"],
    ]
    assert classify("--lang", "de", input="die gut suppe\nübel\n").stdout.splitlines() == said


def test_classified_texts_may_be_json(classify):
    said = classify("zebra", "--lang", "German", "--json").stdout
    found = json.loads(said)
    assert (found["text"], found["note"], found["language"]) == ("zebra", "no known word", "de")
    assert 0 < found["probability"] <= 1
    assert "classes" not in found


def test_the_likeliest_labels_are_printed_the_best_first(classify):
    asked = ("gut hund", "--lang", "de", "--top-k", "5")
    (line,) = classify(*asked).stdout.splitlines()
    labels, ps, *rest = line.split("\t")
    assert (labels, rest) == ("pos|neg", ["de", "gut hund"])
    assert sum(map(float, ps.split("|"))) == pytest.approx(1, abs=1e-3)
    found = json.loads(classify(*asked, "--json").stdout)
    assert [each["label"] for each in found["classes"]] == ["pos", "neg"]
    assert found["classes"][0]["probability"] == found["probability"]


def test_why_a_label_is_missing_or_a_fallback_is_printed_last(classify):
    unsure, unknown = classify("gut", "zebra", "--lang", "de", "--unsure", "1").stdout.splitlines()
    assert unsure.split("\t")[0::4] == ["", "unsure"]
    assert unknown.split("\t")[-1] == "no known word"


def test_a_text_that_is_none_is_refused_in_one_line(classify):
    result = classify("gut \udcff", "--lang", "de")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "is not valid text" in result.stderr
