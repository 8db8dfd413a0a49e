"""What a job writes."""

import io
import os

import numpy as np
import pytest
from embedding_jobs import FORMATS, SENTENCES, embed, make_encoder, read

from pmeans.errors import InputError
from pmeans.jobs import embed_to_file
from pmeans.languages.resolution import Doubts
from pmeans.tables import Fields, journal, open_source
from toy_identifier import make_identifier


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


def test_what_is_written_goes_to_the_disk_as_it_grows(tmp_path, encoder, sentences, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    monkeypatch.setattr(journal, "MUCH", 100)
    embed(encoder, sentences, tmp_path / "a.npy", save_every=1000)
    # The journal, then 128 bytes before the rows, of 36 each and two to a batch: after 1, 3 and all
    # of 5 batches.
    assert synced[1:] == [200, 344, 452, 452]


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
    embed_to_file(encoder, open_source(sentences), stream, lang="en", batch_size=2)
    assert stream.getvalue() == (tmp_path / "out.jsonl").read_bytes()


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


def test_a_language_may_be_named_in_full(tmp_path, encoder, sentences):
    embed(encoder, sentences, tmp_path / "a.npy", lang="English")
    embed(encoder, sentences, tmp_path / "b.npy", lang="en-GB")
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_languages_are_found_row_by_row_and_doubts_counted(tmp_path, encoder):
    words = {"en": ["the", "cat"], "de": ["die", "katze"], "fi": ["kissa", "ja"]}
    encoder = encoder.replace(identifier=make_identifier(words))
    texts = ["the cat", "die katze", "kissa ja kissa", "the die"]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in texts))
    doubts = Doubts()
    source = open_source(tmp_path / "in.txt", Fields())
    embed_to_file(encoder, source, tmp_path / "out.npy", doubts=doubts)
    found = encoder.identify(texts)
    np.testing.assert_array_equal(read(tmp_path / "out.npy"), encoder.encode(texts, lang=found))
    assert list(found)[:2] == ["en", "de"]
    assert (doubts.texts, doubts.none, doubts.doubtful) == (4, 1, 1)
