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
    assert [line.split("\t")[0::2] for line in said] == [["pos", "die gut suppe"], ["neg", "übel"]]
    assert classify("--lang", "de", input="die gut suppe\nübel\n").stdout.splitlines() == said


def test_classified_texts_may_be_json(classify):
    said = classify("zebra", "--lang", "German", "--json").stdout
    found = json.loads(said)
    assert (found["text"], found["note"]) == ("zebra", "no known word")
    assert 0 < found["probability"] <= 1


def test_a_text_that_is_none_is_refused_in_one_line(classify):
    result = classify("gut \udcff", "--lang", "de")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "is not valid text" in result.stderr
