"""Vectors beside the columns of an Arrow batch: the encoder's rows, whatever the batch is like."""

import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from embedding_jobs import SENTENCES, make_encoder

import pmeans
from pmeans import arrow, models
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.languages.resolution import DoubtfulLanguageWarning, Doubts

NOT_UTF8 = pa.array([b"the dog", b"\xed\xa0\x80", b"a"])  # the second is half a character
KINDS = [
    pa.string(), pa.large_string(), pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.large_string()),
]  # fmt: skip


def vectors(table, column="embedding"):
    """Return a column of vectors, (n, dim); those of null are NaN."""
    found = table.column(column)
    dim = found.type.list_size
    rows = [[np.nan] * dim if row is None else row for row in found.to_pylist()]
    return np.array(rows, dtype=np.float32).reshape(-1, dim)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_rows_are_the_encoders_whatever_the_strings_are_stored_as(encoder, kind):
    texts = pa.array(SENTENCES).cast(kind)
    wanted = encoder.encode(SENTENCES, lang="en")
    batch = pa.record_batch({"n": range(len(SENTENCES)), "text": texts})
    chunked = pa.table({"text": pa.chunked_array([texts.slice(0, 4), texts.slice(4)])})
    for given, which in [
        (batch, slice(None)), (batch.slice(2, 5), slice(2, 7)), (batch.slice(0, 0), slice(0)),
        (chunked, slice(None)), (chunked.slice(3), slice(3, None)),
    ]:  # fmt: skip
        found = arrow.embed(given, model=encoder, lang="en")
        assert type(found) is type(given)
        assert found.drop_columns(["embedding"]).equals(given)
        assert found.schema.field("embedding").type == pa.list_(pa.float32(), encoder.dim)
        np.testing.assert_array_equal(vectors(found), wanted[which])


def test_what_the_schema_says_of_itself_is_kept(encoder):
    text = pa.field("text", pa.string(), metadata={"a": "b"})
    batch = pa.record_batch([pa.array(["dog"])], pa.schema([text], metadata={"c": "d"}))
    found = arrow.embed(batch, model=encoder, lang="en").schema
    assert (found.metadata, found.field("text").metadata) == ({b"c": b"d"}, {b"a": b"b"})


def test_languages_come_from_a_column_or_one_for_all_and_lengths_may_be_one(encoder):
    batch = pa.record_batch({"satz": ["ein hund", "the dog"], "sprache": ["German", "en-US"]})
    columns = {"text": "satz", "lang_column": "sprache"}
    found = arrow.embed(batch, model=encoder, **columns, column="v", normalize=True, n_threads=1)
    wanted = encoder.encode(["ein hund", "the dog"], lang=["de", "en"], normalize_embeddings=True)
    np.testing.assert_array_equal(vectors(found, "v"), wanted)


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_a_row_that_cannot_be_read_is_named_or_null(encoder, kind):
    if kind == "dictionary":
        texts = NOT_UTF8.view(pa.string()).dictionary_encode()
    elif kind == "string_view":
        texts = NOT_UTF8.cast(pa.binary_view()).view(pa.string_view())
    else:
        texts = NOT_UTF8.view(pa.string()).cast(kind)
    batch = pa.record_batch({"text": texts})
    with pytest.raises(FormatError, match=r"row 2: not valid UTF-8.*on_error=\"skip\""):
        arrow.embed(batch, model=encoder, lang="en")
    found = arrow.embed(batch, model=encoder, lang="en", on_error="skip")
    wanted = encoder.encode(["the dog", "", "a"], lang="en")
    wanted[1] = np.nan
    np.testing.assert_array_equal(vectors(found), wanted)


def test_no_text_and_no_language_are_rows_that_cannot_be_read(encoder):
    langs = ["en", "en", None, "fr"]
    batch = pa.record_batch({"text": ["dog", None, "dog", "dog"], "lang": langs})
    with pytest.raises(FormatError, match="row 2: the text is NoneType"):
        arrow.embed(batch, model=encoder, lang_column="lang")
    with pytest.raises(FormatError, match="row 1: no language 'fr' among de, en"):
        arrow.embed(batch.slice(3), model=encoder, lang_column="lang")
    found = arrow.embed(batch, model=encoder, lang_column="lang", on_error="skip")
    assert found.column("embedding").is_null().to_pylist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": "txt"}, FormatError, "no column 'txt'. Did you mean 'text'"),
        ({"text": "n"}, FormatError, "the column 'n' holds int64, not strings"),
        ({"lang": None, "lang_column": "n"}, FormatError, "the column 'n' holds int64"),
        ({"lang": "xx"}, LanguageError, "no language 'xx'"),
        ({"lang": None}, LanguageError, "give lang= or lang_column="),
        ({"lang_column": "text"}, InputError, "lang= and lang_column= exclude each other"),
        ({"column": "n"}, InputError, "has a column 'n' already: column= names another"),
    ],
)
def test_what_does_not_fit_is_refused(encoder, options, error, message):
    batch = pa.record_batch({"text": ["dog"], "n": [1]})
    with pytest.raises(error, match=message):
        arrow.embed(batch, **{"model": encoder, "lang": "en", **options})


def test_what_is_no_batch_is_refused():
    with pytest.raises(InputError, match=r"RecordBatch or pyarrow.Table, got dict"):
        arrow.embed({"text": ["dog"]})


def test_languages_that_are_found_are_the_encoders_and_doubts_are_told():
    batch = pa.record_batch({"text": ["The dog runs.", "Der Hund rennt.", "qwrtz"]})
    counted = Doubts()
    found = arrow.embed(batch, doubts=counted)
    assert (counted.texts, counted.any) == (3, True)
    with pytest.warns(DoubtfulLanguageWarning, match="of 3 texts"):
        wanted = pmeans.load().encode(batch.column("text").to_pylist())
    with pytest.warns(DoubtfulLanguageWarning, match="of 3 texts"):
        arrow.embed(batch)
    np.testing.assert_array_equal(vectors(found), wanted)


def test_a_model_is_opened_once_by_many_threads_and_again_when_it_is_another(tmp_path, monkeypatch):
    opened, load = [], models.load

    def slowly(path):
        opened.append(path)
        time.sleep(0.05)  # so that other threads come meanwhile
        return load(path)

    monkeypatch.setattr(models, "load", slowly)
    pmeans.save(make_encoder(), tmp_path / "model")
    batch = pa.record_batch({"text": SENTENCES})
    embed = partial(arrow.embed, model=tmp_path / "model", lang="en")
    with ThreadPoolExecutor(8) as threads:
        first, *others = threads.map(embed, [batch] * 32)
    assert len(opened) == 1
    assert all(first.equals(other) for other in others)
    pmeans.save(make_encoder(scale=2.0), tmp_path / "model")
    np.testing.assert_array_equal(vectors(embed(batch)), 2 * vectors(first))
    assert len(opened) == 2


@pytest.mark.integrations
def test_the_functions_are_sent_to_another_process_by_name(tmp_path):
    pmeans.save(make_encoder(), tmp_path / "model")
    embed = partial(arrow.embed, model=str(tmp_path / "model"), lang="en")
    batch = pa.record_batch({"text": SENTENCES})
    program = (
        "import pickle, sys\n"
        "embed, batch = pickle.load(sys.stdin.buffer)\n"
        "sys.stdout.buffer.write(pickle.dumps(embed(batch)))"
    )
    sent = pickle.dumps((embed, batch))
    assert len(pickle.dumps(embed)) < 500
    done = subprocess.run([sys.executable, "-c", program], input=sent, stdout=-1, check=True)
    assert pickle.loads(done.stdout).equals(embed(batch))


def test_without_pyarrow_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'pmeans\[data\]'"):
        arrow.embed(None)
