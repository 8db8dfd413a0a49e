"""Predicting files: what is written, and that stopping anywhere changes no byte of it."""

import contextlib
import csv
import dataclasses
import io
import itertools
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from opinions import opinions

from pmeans import TransferClassifier
from pmeans.errors import FormatError, InputError
from pmeans.jobs import predict_to_file
from pmeans.tables import Fields, open_source
from pmeans.transfer.linear import Calibration

FORMATS = ["csv", "tsv", "jsonl", "parquet"]
WHOLE = Fields(whole=True)


@pytest.fixture(scope="module")
def classifier(encoder):
    return TransferClassifier(encoder, unsure=0.9).fit(*opinions(60, "en"), lang="en")


@pytest.fixture(autouse=True)
def _patient_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def rows(tmp_path):
    texts = [*opinions(7, "de")[0], "zebra", ""]
    path = tmp_path / "in.csv"
    path.write_text("id;text\n" + "".join(f"{i};{text}\n" for i, text in enumerate(texts)))
    return path


def predict(classifier, path, out, fields=WHOLE, batch=2, **rest):
    rest = {"lang": "de", "batch_size": batch, "save_every": 0, **rest}
    return predict_to_file(classifier, open_source(path, fields), out, **rest)


class Killed(BaseException):
    """Stands for a kill: nothing that our code could catch by accident."""


@contextlib.contextmanager
def killed_at(nth):
    """Stop before the nth call that changes the disk; yields the calls counted."""
    calls = []

    def wrap(real):
        def call(*args, **kwargs):
            calls.append(real)
            if len(calls) == nth:
                raise Killed
            return real(*args, **kwargs)

        return call

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        for name in ("fsync", "replace", "unlink"):
            patch.setattr(os, name, wrap(getattr(os, name)))
        yield calls


@pytest.mark.parametrize("format_", FORMATS)
def test_stopped_anywhere_and_run_again_it_ends_with_the_same_bytes(
    tmp_path, classifier, rows, format_
):
    whole, out = tmp_path / f"whole.{format_}", tmp_path / "runs" / f"out.{format_}"
    told = predict(classifier, rows, whole)
    for nth in itertools.count(1):
        with killed_at(nth) as calls:
            predict(classifier, rows, out)
        if len(calls) < nth:
            break
        counted = predict(classifier, rows, out)
        assert dataclasses.replace(counted, size=told.size) == told
        assert out.read_bytes() == whole.read_bytes()
        assert [path.name for path in out.parent.iterdir()] == [out.name]
        out.unlink()
    assert nth > 15  # five savepoints of three calls each


@pytest.mark.parametrize("format_", FORMATS)
def test_the_batch_size_changes_no_byte(tmp_path, classifier, rows, format_):
    outs = [tmp_path / f"{batch}.{format_}" for batch in (1, 4, 100)]
    for out in outs:
        predict(classifier, rows, out, batch=int(out.stem))
    assert len({out.read_bytes() for out in outs}) == 1


def test_a_resumed_job_keeps_the_names_of_its_columns(tmp_path, classifier):
    path = tmp_path / "in.jsonl"
    lines = [{"text": "gut"}, {"text": "gut"}, {"text": "übel", "label": "x"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def stop(state):
        if state.rows == 2:
            raise Killed

    with pytest.raises(Killed):
        predict(classifier, path, tmp_path / "out.csv", report=stop)
    predict(classifier, path, tmp_path / "out.csv")
    header, *cells = (tmp_path / "out.csv").read_text().splitlines()
    assert header == "text,label,probability,note"
    assert [row.split(",")[:2] for row in cells] == [
        ["gut", "pos"],
        ["gut", "pos"],
        ["übel", "neg"],
    ]


def test_another_threshold_or_classifier_does_not_resume(tmp_path, classifier, encoder, rows):
    def stop(state):
        if state.rows:
            raise Killed

    with pytest.raises(Killed):
        predict(classifier, rows, tmp_path / "out.csv", report=stop)
    other = TransferClassifier(encoder).fit(*opinions(60, "en"), lang="en")
    with pytest.raises(InputError, match=r"unsure was 0\.9, is None"):
        predict(other, rows, tmp_path / "out.csv")
    other = TransferClassifier(encoder, unsure=0.9).fit(*opinions(40, "en", 3), lang="en")
    with pytest.raises(InputError, match="classifier was '"):
        predict(other, rows, tmp_path / "out.csv")
    half = Calibration(np.full(2, 0.5, np.float32), np.zeros(2, np.float32))
    other._fitted = dataclasses.replace(classifier.fitted, calibrated={"de": half})
    with pytest.raises(InputError, match="classifier was '"):
        predict(other, rows, tmp_path / "out.csv")


def test_another_format_does_not_resume(tmp_path, classifier, rows):
    def stop(state):
        if state.rows:
            raise Killed

    with pytest.raises(Killed):
        predict(classifier, rows, tmp_path / "out", report=stop, format="csv")
    with pytest.raises(InputError, match="writer was 'Csv', is 'Tsv'"):
        predict(classifier, rows, tmp_path / "out", format="tsv")


@pytest.mark.parametrize("name", ["in.csv", "other.csv"])
def test_an_output_that_names_the_input_is_refused(tmp_path, classifier, rows, name):
    if name != "in.csv":
        os.link(rows, tmp_path / name)
    before = rows.read_bytes()
    with pytest.raises(InputError, match="would overwrite"):
        predict(classifier, rows, tmp_path / name)
    assert rows.read_bytes() == before


def test_half_a_character_in_any_column_is_named_by_its_line_or_passed_over(tmp_path, classifier):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "gut", "n": "a"}\n{"text": "gut", "n": "\\ud800"}\n')
    with pytest.raises(FormatError, match="line 2: half a character"):
        predict(classifier, path, tmp_path / "out.csv")
    fields = Fields(whole=True, on_error="skip")
    assert predict(classifier, path, tmp_path / "out.csv", fields).skipped == 1
    assert (tmp_path / "out.csv").read_text().splitlines()[2] == ",,,,unreadable"


def test_columns_of_parquet_keep_their_types(tmp_path, classifier):
    table = pa.table({"text": ["gut", None], "n": [1, None], "when": pa.array([1, 2], pa.date32())})
    pq.write_table(table, tmp_path / "in.parquet")
    predict(classifier, tmp_path / "in.parquet", tmp_path / "out.parquet")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.schema.field("when").type == pa.date32()
    assert found["n"].to_pylist() == [1, None]
    assert found["note"].to_pylist() == ["", "no known word"]


def test_probabilities_are_rounded_as_python_rounds(tmp_path, classifier, rows):
    predict(classifier, rows, tmp_path / "out.csv", batch=3)
    with open(tmp_path / "out.csv", newline="") as file:
        written = list(csv.DictReader(file))
    found = classifier.classify([row["text"] for row in written], lang="de").probabilities
    assert [row["probability"] for row in written] == [str(round(p, 4)) for p in found]


def test_a_stream_gets_the_rows_of_the_file(tmp_path, classifier, rows):
    predict(classifier, rows, tmp_path / "out.csv")
    stream = io.BytesIO()
    predict_to_file(classifier, open_source(rows, WHOLE), stream, lang="de")
    assert stream.getvalue() == (tmp_path / "out.csv").read_bytes()
    with pytest.raises(InputError, match="cannot be written to a stream"):
        predict_to_file(classifier, open_source(rows, WHOLE), stream, format="parquet")


def test_skipped_rows_are_not_counted_as_unsure_or_empty(tmp_path, classifier):
    (tmp_path / "in.jsonl").write_text('{"text": 3}\n{"text": "zebra"}\n{"text": "gut"}\n')
    fields = Fields(whole=True, on_error="skip")
    state = predict(classifier, tmp_path / "in.jsonl", tmp_path / "out.jsonl", fields)
    assert (state.rows, state.skipped, state.empty) == (3, 1, 1)
