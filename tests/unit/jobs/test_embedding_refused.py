"""What a job does not begin, and what it leaves when the disk or another process is in its way."""

import errno
import fcntl
import gzip
import inspect
import io
import itertools
import os
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
from embedding_jobs import FORMATS, SENTENCES, embed, read

from pmeans import models
from pmeans.errors import FormatError, InputError, LanguageError, StorageError
from pmeans.jobs import EmbedOptions, embed_to_file
from pmeans.tables import open_source


def test_npy_to_a_stream_is_refused(encoder, sentences):
    with pytest.raises(InputError, match="npy cannot be written to a stream"):
        embed_to_file(encoder, open_source(sentences), io.BytesIO(), lang="en", format="npy")


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
    assert not list(tmp_path.glob(".*"))
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


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_threads": 2.5}, "n_threads: expected a whole number, got 2.5"),
        ({"n_threads": 0}, "n_threads must be at least 1, not 0"),
        ({"batch_size": "8"}, "batch_size must be a whole number of at least 1"),
        ({"dtype": "int4"}, "dtype: 'int4' is not one of .*'int8'"),
        ({"normalize": 1}, "normalize: expected true or false"),
    ],
)
def test_options_that_are_none_are_refused(encoder, sentences, wrong, message):
    with pytest.raises(InputError, match=message):
        embed_to_file(encoder, sentences, io.BytesIO(), lang="en", **wrong)


def test_an_option_that_there_is_not_is_refused(encoder, sentences):
    with pytest.raises(TypeError, match="unexpected keyword argument 'language'"):
        embed_to_file(encoder, sentences, io.BytesIO(), language="en")


def test_options_are_a_whole_object_or_keywords(encoder, sentences):
    whole, apart = io.BytesIO(), io.BytesIO()
    embed_to_file(encoder, sentences, whole, options=EmbedOptions(lang="en", normalize=True))
    embed_to_file(encoder, sentences, apart, lang="en", normalize=True)
    assert whole.getvalue() == apart.getvalue() != b""
    named = inspect.signature(embed_to_file).parameters
    assert {field.name for field in fields(EmbedOptions)} < named.keys()
    with pytest.raises(TypeError, match="unexpected keyword argument 'lang'"):
        embed_to_file(encoder, sentences, whole, options=EmbedOptions(), lang="en")


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
        embed_to_file(encoder, source, tmp_path / "out.npy", lang="en")
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


def test_what_goes_wrong_in_reading_is_not_said_to_be_in_writing(tmp_path, encoder):
    packed = gzip.compress(b"a house\n" * 100_000)
    (tmp_path / "in.txt.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(FormatError, match=r"in\.txt\.gz: damaged or cut short after line"):
        embed(encoder, tmp_path / "in.txt.gz", tmp_path / "out.npy")


def test_a_full_disk_at_the_other_end_of_a_stream_is_an_error_of_ours(encoder, sentences):
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(StorageError, match="No space"),
    ):
        embed_to_file(encoder, open_source(sentences), full, lang="en")
