"""Stopping a job anywhere changes no byte of what it writes."""

import contextlib
import gzip
import io
import itertools
import os
import sys

import numpy as np
import pytest
from embedding_jobs import FORMATS, SENTENCES, Killed, embed, make_encoder, stop_after

from pmeans.errors import FormatError, InputError
from pmeans.tables import Fields


@contextlib.contextmanager
def killed_at(nth, moment):
    """Stop before or after the nth call that changes the disk; yields the calls counted."""
    calls = []

    def wrap(real):
        def call(*args, **kwargs):
            calls.append(real)
            if len(calls) == nth and moment == "before":
                raise Killed
            result = real(*args, **kwargs)
            if len(calls) == nth:
                raise Killed
            return result

        return call

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        for name in ("fsync", "replace", "unlink"):
            patch.setattr(os, name, wrap(getattr(os, name)))
        yield calls


def inputs(tmp_path):
    """Every kind of input that resumes in its own way."""
    body = "".join(f"{line}\n" for line in SENTENCES).encode()
    (tmp_path / "in.txt").write_bytes(body)
    (tmp_path / "in.txt.gz").write_bytes(gzip.compress(body))
    rows = "".join(f'{i},"{line}\n"\n' for i, line in enumerate(SENTENCES))
    (tmp_path / "in.csv").write_text("id,text\n" + rows)
    return [tmp_path / "in.txt", tmp_path / "in.txt.gz", tmp_path / "in.csv"]


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_stopped_anywhere_and_run_again_it_ends_with_the_same_bytes(
    tmp_path, encoder, moment, format_
):
    for path in inputs(tmp_path):
        whole = tmp_path / f"whole.{format_}"
        embed(encoder, path, whole)
        out = tmp_path / "runs" / f"out.{format_}"
        for nth in itertools.count(1):
            with killed_at(nth, moment) as calls:
                embed(encoder, path, out)
            if len(calls) < nth:
                break
            embed(encoder, path, out)
            assert out.read_bytes() == whole.read_bytes()
            assert [p.name for p in out.parent.iterdir()] == [out.name]
            out.unlink()
        assert nth > 15  # six savepoints of three calls each


@pytest.mark.parametrize("format_", FORMATS)
def test_a_resumed_job_does_not_embed_again_what_is_done(tmp_path, encoder, sentences, format_):
    out = tmp_path / f"out.{format_}"
    stop_after(encoder, sentences, out, 4)
    seen = []
    embed(encoder, sentences, out, report=lambda state: seen.append(state.rows))
    assert seen == [4, 6, 8, 9]


def test_bytes_after_the_journal_are_dropped(tmp_path, encoder, sentences):
    whole, out = tmp_path / "whole.npy", tmp_path / "out.npy"
    embed(encoder, sentences, whole)
    stop_after(encoder, sentences, out, 4)
    with open(f"{out}.partial", "ab") as file:
        file.write(b"a batch that was cut off" * 100)
    embed(encoder, sentences, out)
    assert out.read_bytes() == whole.read_bytes()


CHANGES = {
    "another model": ({"scale": 2.0}, {}, r"model was"),
    "another option": ({}, {"normalize": True}, r"normalize was False, is True"),
    "another language": ({}, {"lang": "de"}, r"lang was 'en', is 'de'"),
    "another column": ({}, {"fields": Fields("body")}, r"text was 'text', is 'body'"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_command_does_not_resume(tmp_path, encoder, sentences, case):
    model, options, message = CHANGES[case]
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    with pytest.raises(InputError, match=rf"{message}.* discard its 4 rows with restart=True"):
        embed(make_encoder(**model), sentences, out, **options)


def test_a_changed_input_does_not_resume_but_can_be_restarted(tmp_path, encoder, sentences):
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    sentences.write_text("dog\n")
    with pytest.raises(InputError, match=r"input size was \d+, is 4"):
        embed(encoder, sentences, out)
    embed(encoder, sentences, out, restart=True)
    np.testing.assert_array_equal(np.load(out), encoder.encode(["dog"], lang="en"))


def feed(monkeypatch, lines):
    content = "".join(f"{line}\n" for line in lines).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input_resumes_when_it_is_given_again(tmp_path, encoder, monkeypatch):
    out = tmp_path / "out.npy"
    feed(monkeypatch, SENTENCES)
    stop_after(encoder, "-", out, 4)
    feed(monkeypatch, SENTENCES)
    embed(encoder, "-", out)
    np.testing.assert_array_equal(np.load(out), encoder.encode(SENTENCES, lang="en"))


@pytest.mark.parametrize("lines", [["other", *SENTENCES[1:]], SENTENCES[:3]])
def test_other_lines_on_standard_input_do_not_resume(tmp_path, encoder, monkeypatch, lines):
    out = tmp_path / "out.npy"
    feed(monkeypatch, SENTENCES)
    stop_after(encoder, "-", out, 4)
    feed(monkeypatch, lines)
    with pytest.raises(InputError, match="differs in its first 4 rows"):
        embed(encoder, "-", out)


def test_a_damaged_journal_asks_for_a_restart(tmp_path, encoder, sentences):
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    journal = tmp_path / "out.npy.partial.json"
    journal.write_bytes(b'{"begun with": {}, "done": {"rows": "x"}}')
    with pytest.raises(FormatError, match="restart=True"):
        embed(encoder, sentences, out)
    assert embed(encoder, sentences, out, restart=True).rows == len(SENTENCES)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"my notes", b'{"begun with": {}}'])
def test_what_is_no_journal_of_ours_is_left_alone(tmp_path, encoder, sentences, content, restart):
    journal, unfinished = tmp_path / "out.npy.partial.json", tmp_path / "out.npy.partial"
    journal.write_bytes(content)
    for rows in (None, b"my rows"):
        if rows:
            unfinished.write_bytes(rows)
        with pytest.raises(FormatError, match="no journal of pmeans: move it away"):
            embed(encoder, sentences, tmp_path / "out.npy", restart=restart)
        assert journal.read_bytes() == content
        assert (unfinished.read_bytes() if unfinished.exists() else None) == rows


@pytest.mark.parametrize("restart", [False, True])
def test_an_unfinished_file_of_someone_else_is_left_alone(tmp_path, encoder, sentences, restart):
    unfinished = tmp_path / "out.npy.partial"
    unfinished.write_bytes(b"my rows")
    with pytest.raises(InputError, match=r"no journal says that pmeans wrote it: move it away"):
        embed(encoder, sentences, tmp_path / "out.npy", restart=restart)
    assert unfinished.read_bytes() == b"my rows"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", unfinished.name]


def test_vectors_lost_from_the_partial_file_are_noticed(tmp_path, encoder, sentences):
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    os.truncate(f"{out}.partial", 130)
    with pytest.raises(FormatError, match="has 130 bytes"):
        embed(encoder, sentences, out)


def test_another_numpy_does_not_go_on_with_the_rows_of_this_one(
    tmp_path, encoder, sentences, monkeypatch
):
    stop_after(encoder, sentences, tmp_path / "out.npy", 4)
    monkeypatch.setattr(np, "__version__", "9.9.9")
    with pytest.raises(InputError, match=r"numpy was .* is '9\.9\.9'"):
        embed(encoder, sentences, tmp_path / "out.npy")


def test_a_bad_row_can_be_passed_over_when_the_job_goes_on(tmp_path, encoder):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "dog"}\n{"text": "a"}\n{}\n{"text": "house"}\n')
    with pytest.raises(FormatError, match="line 3"):
        embed(encoder, path, tmp_path / "out.npy")
    assert (tmp_path / "out.npy.partial.json").exists()
    embed(encoder, path, tmp_path / "out.npy", fields=Fields(on_error="skip"))
    expected = encoder.encode(["dog", "a", "", "house"], lang="en")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_an_error_before_the_first_savepoint_leaves_nothing(tmp_path, encoder):
    (tmp_path / "in.jsonl").write_text('{"text": "dog"}\n{}\n')
    with pytest.raises(FormatError, match="line 2"):
        embed(encoder, tmp_path / "in.jsonl", tmp_path / "out.npy", save_every=60)
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_savepoints_come_by_time_and_not_by_batch(tmp_path, encoder, sentences, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    embed(encoder, sentences, tmp_path / "out.npy", batch=1, save_every=60)
    assert len(synced) == 2  # the journal before the first row, the file after the last


def test_ctrl_c_saves_what_is_done(tmp_path, encoder, sentences):
    def interrupt(state):
        if state.rows >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(encoder, sentences, tmp_path / "out.npy", report=interrupt, save_every=60)
    seen = []
    embed(encoder, sentences, tmp_path / "out.npy", report=lambda state: seen.append(state.rows))
    assert seen[0] >= 4
    expected = encoder.encode(SENTENCES, lang="en")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
