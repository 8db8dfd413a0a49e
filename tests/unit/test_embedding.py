"""What a job writes, and that stopping it anywhere changes no byte of it."""

import contextlib
import errno
import fcntl
import gzip
import io
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, models
from pmeans.apply import EmbedOptions, embed_to_file
from pmeans.errors import FormatError, InputError, LanguageError, StorageError
from pmeans.rows import Fields, open_source

FORMATS = ["npy", "jsonl", "parquet"]
SENTENCES = ["a house", "the dog", "zzz", "", "house dog house", "dog", "the the", "a", "house"]


def make_encoder(scale=1.0):
    words = {"en": ["a", "the", "house", "dog"], "de": ["ein", "haus", "hund"]}
    matrix = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32) * np.float32(scale)
    space = WordSpace.from_words("tiny", words, matrix)
    return PowerMeanEncoder(Recipe((Part("tiny"),), tokenizer="words"), {"tiny": space})


@pytest.fixture(autouse=True)
def _patient_disk(monkeypatch):
    # No machine crashes here, and thousands of real ones would take minutes.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def encoder():
    return make_encoder()


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    return path


def embed(encoder, path, out, *, batch=2, fields=None, **options):
    rest = {
        key: options.pop(key) for key in ("restart", "report", "format", "keep") if key in options
    }
    options = {"lang": "en", "save_every": 0, **options}  # a savepoint after every batch
    return embed_to_file(
        encoder, open_source(path, fields), out, EmbedOptions(batch_size=batch, **options), **rest
    )


def read(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        return np.array(pq.read_table(path)["embedding"].to_pylist(), dtype=np.float32)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["index"] for line in lines] == list(range(len(lines)))
    return np.array([line["embedding"] for line in lines], dtype=np.float32)


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_holds_the_very_numbers_that_encode_gives(tmp_path, encoder, sentences, format_):
    out = tmp_path / f"out.{format_}"
    state = embed(encoder, sentences, out)
    np.testing.assert_array_equal(read(out), encoder.encode(SENTENCES, lang="en"))
    assert (state.rows, state.empty, state.skipped) == (9, 2, 0)


@pytest.mark.parametrize("format_", FORMATS)
def test_nothing_but_the_output_is_left(tmp_path, encoder, sentences, format_):
    embed(encoder, sentences, tmp_path / "deep" / f"out.{format_}")
    assert [p.name for p in (tmp_path / "deep").iterdir()] == [f"out.{format_}"]


@pytest.mark.parametrize("format_", FORMATS)
def test_the_batch_size_changes_no_byte(tmp_path, encoder, sentences, format_):
    outs = [tmp_path / f"{batch}.{format_}" for batch in (1, 4, 100)]
    for out in outs:
        embed(encoder, sentences, out, batch=int(out.stem))
    assert len({out.read_bytes() for out in outs}) == 1


@pytest.mark.parametrize("format_", FORMATS)
def test_an_empty_input_gives_an_empty_output(tmp_path, encoder, format_):
    (tmp_path / "in.txt").touch()
    out = tmp_path / f"out.{format_}"
    assert embed(encoder, tmp_path / "in.txt", out).rows == 0
    assert len(read(out)) == 0


def test_an_empty_npy_still_has_its_columns(tmp_path, encoder):
    (tmp_path / "in.txt").touch()
    embed(encoder, tmp_path / "in.txt", tmp_path / "out.npy")
    assert np.load(tmp_path / "out.npy").shape == (0, encoder.dim)


def test_rows_may_each_have_their_language(tmp_path, encoder):
    path = tmp_path / "in.csv"
    path.write_text("text,lang\nhouse,en\nhaus,de\nhaus,en\n")
    embed(encoder, path, tmp_path / "out.npy", lang=None, fields=Fields(lang_column="lang"))
    expected = encoder.encode(["house", "haus", "haus"], lang=["en", "de", "en"])
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_normalised_rows_have_length_one(tmp_path, encoder, sentences):
    embed(encoder, sentences, tmp_path / "out.npy", normalize=True)
    lengths = np.linalg.norm(np.load(tmp_path / "out.npy"), axis=1)
    # rtol: six float32 numbers, rounded once each.
    np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=1e-6)


def test_a_row_that_cannot_be_read_becomes_a_counted_zero_row(tmp_path, encoder):
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": 3}\n{"text": "dog"}\n{"text": "zzz"}\n{"text": "house"}\n')
    state = embed(encoder, path, tmp_path / "out.npy", fields=Fields(on_error="skip"))
    expected = encoder.encode(["", "dog", "", "house"], lang="en")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
    assert (state.rows, state.skipped, state.empty) == (4, 1, 1)


def test_a_stream_gets_the_lines_of_the_file(tmp_path, encoder, sentences):
    embed(encoder, sentences, tmp_path / "out.jsonl")
    stream = io.BytesIO()
    embed_to_file(encoder, open_source(sentences), stream, EmbedOptions("en", batch_size=2))
    assert stream.getvalue() == (tmp_path / "out.jsonl").read_bytes()


def test_npy_to_a_stream_is_refused(encoder, sentences):
    with pytest.raises(InputError, match="npy cannot be written to a stream"):
        embed_to_file(
            encoder, open_source(sentences), io.BytesIO(), EmbedOptions("en"), format="npy"
        )


class Killed(BaseException):
    """Stands for a kill: nothing that our code could catch by accident."""


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


def stop_after(encoder, path, out, rows, **options):
    def report(state):
        if state.rows >= rows:
            raise Killed

    with pytest.raises(Killed):
        embed(encoder, path, out, report=report, **options)


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
    with pytest.raises(InputError, match="its first 4 rows differ"):
        embed(encoder, "-", out)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"begun with": {}, "done": {"rows": "x"}}', b"[]"]
)
def test_a_damaged_journal_asks_for_a_restart(tmp_path, encoder, sentences, content):
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    (tmp_path / "out.npy.partial.json").write_bytes(content)
    with pytest.raises(FormatError, match="restart=True"):
        embed(encoder, sentences, out)


def test_vectors_lost_from_the_partial_file_are_noticed(tmp_path, encoder, sentences):
    out = tmp_path / "out.npy"
    stop_after(encoder, sentences, out, 4)
    os.truncate(f"{out}.partial", 130)
    with pytest.raises(FormatError, match="has 130 bytes"):
        embed(encoder, sentences, out)


def test_two_processes_cannot_write_one_output(tmp_path, encoder, sentences):
    out = tmp_path / "out.npy"
    program = (
        "import fcntl, sys; f = open(sys.argv[1], 'ab'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, f"{out}.partial"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(StorageError, match="another process is writing"):
            embed(encoder, sentences, out)
        other.stdin.close()
    embed(encoder, sentences, out)


def test_a_partial_file_that_another_process_just_finished_is_left_alone(
    tmp_path, encoder, sentences, monkeypatch
):
    real, others = fcntl.flock, tmp_path / "others.npy"

    def late(file, how):
        if not others.exists():
            os.replace(tmp_path / "out.npy.partial", others)
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    embed(encoder, sentences, tmp_path / "out.npy")
    assert others.read_bytes() == b""
    assert len(np.load(tmp_path / "out.npy")) == len(SENTENCES)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("nth", [1, 4, 6])
def test_a_full_disk_keeps_the_old_file_and_the_way_on(
    tmp_path, encoder, sentences, monkeypatch, format_, call, nth
):
    out = tmp_path / f"out.{format_}"
    out.write_bytes(b"old")
    real, count = getattr(os, call), itertools.count(1)

    def full(*args):
        if next(count) == nth:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(StorageError, match=r"the disk is full.* same command again to resume"):
            embed(encoder, sentences, out)
    assert out.read_bytes() == b"old"
    assert not [*tmp_path.glob("*.new"), *tmp_path.glob("*.partial.parquet")]
    embed(encoder, sentences, out)
    np.testing.assert_array_equal(read(out), encoder.encode(SENTENCES, lang="en"))


def test_another_failure_to_write_is_reported_as_what_it_is(
    tmp_path, encoder, sentences, monkeypatch
):
    def broken(*args):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageError, match=r"could not write .*: Input/output error"):
        embed(encoder, sentences, tmp_path / "out.npy")


def test_a_missing_language_is_asked_for_before_any_work(tmp_path, encoder, sentences):
    with pytest.raises(LanguageError, match="covers de, en: give lang="):
        embed(encoder, sentences, tmp_path / "out.npy", lang=None)
    with pytest.raises(LanguageError, match="no language 'fr' among de, en"):
        embed(encoder, sentences, tmp_path / "out.npy", lang="fr")
    assert not list(tmp_path.glob("out*"))


def test_an_output_whose_name_tells_no_format_is_refused(tmp_path, encoder, sentences):
    with pytest.raises(InputError, match="format="):
        embed(encoder, sentences, tmp_path / "out.bin")
    embed(encoder, sentences, tmp_path / "out.bin", format="npy")
    assert np.load(tmp_path / "out.bin").shape == (9, encoder.dim)


def test_a_folder_in_the_place_of_the_output_is_refused(tmp_path, encoder, sentences):
    (tmp_path / "out.npy").mkdir()
    with pytest.raises(StorageError, match="it is a folder"):
        embed(encoder, sentences, tmp_path / "out.npy")


@pytest.mark.parametrize("format_", FORMATS)
def test_half_precision_is_the_rounded_vector(tmp_path, encoder, sentences, format_):
    out = tmp_path / f"out.{format_}"
    embed(encoder, sentences, out, dtype="float16")
    expected = encoder.encode(SENTENCES, lang="en").astype(np.float16)
    np.testing.assert_array_equal(read(out).astype(np.float16), expected)
    assert format_ != "npy" or np.load(out).dtype == np.float16


@pytest.mark.parametrize("format_", FORMATS)
def test_int8_has_the_direction_of_each_row_whatever_its_company(tmp_path, encoder, format_):
    for name, lines in (("all", SENTENCES), ("one", SENTENCES[:1])):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
        out = tmp_path / f"{name}.{format_}"
        embed(encoder, tmp_path / f"{name}.txt", out, dtype="int8")
    codes = read(tmp_path / f"all.{format_}")
    np.testing.assert_array_equal(codes[:1], read(tmp_path / f"one.{format_}"))
    np.testing.assert_array_equal(codes, encoder.encode(SENTENCES, lang="en", precision="int8"))
    assert format_ != "npy" or np.load(tmp_path / "all.npy").dtype == np.int8


def test_a_number_beyond_half_precision_is_named_by_its_row(tmp_path, sentences):
    with pytest.raises(InputError, match=r"float16 ends at 65504 .* row 0"):
        embed(make_encoder(1e6), sentences, tmp_path / "out.npy", dtype="float16")


@pytest.mark.parametrize("wrong", [{"n_threads": 2.5}, {"n_threads": 0}, {"batch_size": "8"}])
def test_numbers_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match="must be a whole number of at least 1"):
        EmbedOptions("en", **wrong)


def same_file_names(path):
    """Every way to name a file twice."""
    os.link(path, path.with_name("hard.npy"))
    path.with_name("soft.npy").symlink_to(path)
    return [
        path,
        path.parent / "." / path.name,
        path.with_name("hard.npy"),
        path.with_name("soft.npy"),
    ]


def test_an_output_that_names_the_input_is_refused_and_nothing_touched(
    tmp_path, encoder, sentences
):
    before = sentences.read_bytes()
    for out in same_file_names(sentences):
        with pytest.raises(InputError, match=r"would overwrite .*in\.txt"):
            embed(encoder, sentences, out, format="npy")
    assert sentences.read_bytes() == before
    assert not list(tmp_path.glob("*.partial*"))


def test_an_input_that_bears_the_name_of_the_unfinished_output_is_not_overwritten(
    tmp_path, encoder, sentences
):
    taken = sentences.rename(tmp_path / "out.npy.partial")
    source = open_source(taken, format="txt")
    with pytest.raises(InputError, match="would overwrite"):
        embed_to_file(encoder, source, tmp_path / "out.npy", EmbedOptions("en"))
    assert len(taken.read_text().splitlines()) == len(SENTENCES)


def test_the_files_of_the_model_are_not_overwritten(tmp_path, encoder, sentences):
    models.save(encoder, tmp_path / "model")
    loaded = models.load(tmp_path / "model")
    store = tmp_path / "model" / "spaces" / "tiny.safetensors"
    before = store.read_bytes()
    with pytest.raises(InputError, match="would overwrite"):
        embed(loaded, sentences, store, format="npy")
    with pytest.raises(InputError, match="would overwrite"):
        embed(
            loaded,
            sentences,
            tmp_path / "model" / "recipe.toml",
            format="npy",
            keep=(str(tmp_path / "model"),),
        )
    with pytest.raises(InputError, match="would overwrite"):
        embed(loaded, sentences, tmp_path / "model", format="npy", keep=(str(tmp_path / "model"),))
    assert store.read_bytes() == before


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
    assert len(synced) == 1


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


def test_what_goes_wrong_in_reading_is_not_said_to_be_in_writing(tmp_path, encoder):
    packed = gzip.compress(b"a house\n" * 100_000)
    (tmp_path / "in.txt.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match=r"in\.txt\.gz: damaged or cut short after line"):
        embed(encoder, tmp_path / "in.txt.gz", tmp_path / "out.npy")


def test_a_language_may_be_named_in_full(tmp_path, encoder, sentences):
    embed(encoder, sentences, tmp_path / "a.npy", lang="English")
    embed(encoder, sentences, tmp_path / "b.npy", lang="en-GB")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_a_full_disk_at_the_other_end_of_a_stream_is_an_error_of_ours(encoder, sentences):
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(StorageError, match="No space"),
    ):
        embed_to_file(encoder, open_source(sentences), full, EmbedOptions("en"))
