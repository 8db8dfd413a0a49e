"""Malformed input gives a `PmeansError`: what fuzzing has found, case by case."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from pmeans import kernels
from pmeans.encoder.recipe import Recipe
from pmeans.encoder.znorm import Statistics, ZNorm
from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.kernels import index
from pmeans.spaces.readers import read_space
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import open_space, problems, save_space
from pmeans.tables.journal import open_partial
from pmeans.tensors import map_tensors, write_tensors
from pmeans.types import TokenBatch, WordTable


@pytest.mark.parametrize(
    "toml",
    [
        "parts = " + "[" * 5000,
        f"parts = {'9' * 5000}",
        f"parts = 0x{'f' * 5000}",
        f"root = 0x{'f' * 5000}\nparts = []",
        f"[[parts]]\nspace = 's'\npowers = [{'9' * 400}]",
        f"[[parts]]\nspace = 's'\npowers = [0x{'f' * 5000}]",
    ],
)
def test_a_recipe_of_absurd_size_is_refused(tmp_path, toml):
    (tmp_path / "absurd.toml").write_text(toml)
    with pytest.raises(ConfigError, match=r"absurd\.toml"):
        Recipe.from_toml(tmp_path / "absurd.toml")


def test_a_slot_with_a_number_beyond_the_table_finds_nothing():
    whole = index.word_table(["the"])
    slots = whole.slots.copy()
    slots[slots[:, 1] != index.EMPTY, 1] |= np.uint64(5)
    # The last byte taken off, these bytes spell the word.
    words = np.frombuffer(b"theX", np.uint8)
    assert index.find(WordTable(words, whole.offsets, slots), ["the"]).tolist() == [-1]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("count.en", np.array(3)),
        ("count.en", np.array([], dtype=np.int64)),
        ("count.en", np.array([np.nan], dtype=np.float32)),
        ("mean.en", np.array([0, np.inf], dtype=np.float32)),
        ("mean.en", np.array([0, 1], dtype=np.int8)),
        ("std.en", np.array([1, np.nan], dtype=np.float32)),
        ("std.en", np.array([1, -1], dtype=np.float32)),
    ],
)
def test_statistics_that_are_none_are_refused(tmp_path, name, array):
    fitted = Statistics(np.zeros(2, np.float32), np.ones(2, np.float32), 9)
    ZNorm("per_language", {"en": fitted}).save(tmp_path / "znorm")
    tensors, metadata = map_tensors(tmp_path / "znorm")
    write_tensors(tmp_path / "changed", tensors | {name: array}, metadata)
    with pytest.raises(FormatError, match="statistics of 'en'"):
        ZNorm.load(tmp_path / "changed", "per_language", 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"languages": "[" * 100_000}, "damaged"),
        ({"minn": "2", "maxn": str(2**40)}, "n-gram lengths"),
        ({"minn": "2", "maxn": "65"}, "n-gram lengths"),
    ],
)
def test_metadata_beyond_all_measure_are_refused(tmp_path, changed, message):
    rows = np.ones((2, 3), np.float32)
    space = WordSpace.from_words("s", {"en": ["a", "b"]}, rows, subwords=Subwords(rows, 2, 3))
    save_space(space, tmp_path / "x")
    tensors, metadata = map_tensors(tmp_path / "x")
    write_tensors(tmp_path / "y", tensors, metadata | changed)
    with pytest.raises(FormatError, match=message):
        open_space(tmp_path / "y")


def test_a_store_without_words_cannot_claim_a_width_that_fills_the_memory(tmp_path):
    space = WordSpace.from_words("s", {"en": []}, np.empty((0, 2**40), np.float32))
    save_space(space, tmp_path / "x")
    with pytest.raises(FormatError, match="columns"):
        open_space(tmp_path / "x")


def test_no_n_gram_may_be_longer_than_any_word():
    rows = np.ones((2, 3), np.float32)
    with pytest.raises(InputError, match="64"):
        kernels.compose(["word"], rows, 2, 65)
    assert kernels.compose(["a" * 100], rows, 64, 64)[1].tolist() == [39]


def test_n_grams_whose_sum_overflows_do_not_warn():
    rows = np.full((2, 3), 3e38, np.float32)
    assert np.isinf(kernels.compose(["word"], rows, 2, 3)[0]).all()


def test_a_language_without_words_is_still_a_language():
    space = WordSpace.from_words("s", {"en": ["a"], "de": []}, np.ones((1, 3), np.float32))
    assert space.row("a", "de") == -1
    assert list(space.words("de")) == []


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x", b"a 1 2\n")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "archive",
    [
        zipped().replace(b"x", b"\0"),  # a file without a name
        # The directory is said to begin two bytes later: the file then begins before the archive.
        zipped()[:-6] + bytes([zipped()[-6] + 2]) + zipped()[-5:],
    ],
)
def test_a_damaged_archive_is_refused(tmp_path, archive):
    (tmp_path / "x").write_bytes(archive)
    with pytest.raises(FormatError, match="cannot open this zip archive"):
        read_space(tmp_path / "x")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2.0, 3.0)}",
        "-" * 9000 + "1",
    ],
)
def test_a_matrix_with_an_absurd_header_is_refused(tmp_path, header):
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (tmp_path / "x.npy").write_bytes(start + header.encode() + bytes(24))
    (tmp_path / "x.words.txt").write_bytes(b"a\nb\n")
    with pytest.raises(FormatError, match="cut short"):
        read_space(tmp_path / "x.npy")


@pytest.mark.parametrize("vocabulary", [[[]], [""], {"the": float("inf")}])
def test_a_tokeniser_with_a_strange_vocabulary_is_refused(tmp_path, vocabulary):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    write_tensors(tmp_path / "model.safetensors", {"embeddings": np.ones((1, 2), np.float32)}, {})
    with pytest.raises(FormatError, match="tokenizer"):
        read_space(tmp_path)


def fasttext_model(maxn: int, value: float) -> bytes:
    """A model of one word in one dimension, whose matrix holds one value."""
    start = struct.pack("<2i12id", 793712314, 12, 1, 5, 5, 1, 5, 1, 2, 2, 1, 2, maxn, 100, 1e-4)
    entry = struct.pack("<3i2q", 1, 1, 0, 9, -1) + b"word\0" + struct.pack("<qb", 9, 0)
    return start + entry + struct.pack("<bqq2f", 0, 2, 1, value, value)


def test_a_fasttext_model_with_endless_n_grams_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(fasttext_model(2**31 - 1, 1.0))
    with pytest.raises(FormatError, match="n-grams of 2 to 2147483647"):
        read_space(tmp_path / "x")


def test_a_fasttext_word_whose_vector_overflows_is_reported(tmp_path):
    (tmp_path / "x").write_bytes(fasttext_model(3, 3e38))
    with pytest.raises(FormatError, match="nan or infinite"):
        read_space(tmp_path / "x")


def test_a_word_whose_composed_vector_overflows_is_unknown():
    ngrams = np.full((1, 2), 3e38, np.float32)
    space = WordSpace.from_words(
        "s", {"en": ["a"]}, np.ones((1, 2), np.float32), subwords=Subwords(ngrams, 2, 3)
    )
    assert space.vector("overflowing", "en") is None
    batch = TokenBatch(np.array([0, 1], np.int32), np.array([0, 2]), np.zeros(1, np.int32), ("x",))
    known, _, made = space.compose(batch, "en")
    assert made.tolist() == [False]
    assert (known.ids.tolist(), known.unknown.tolist()) == ([0], [1])


def test_infinite_values_of_a_damaged_store_are_an_error_and_no_warning():
    rows = np.array([[np.inf], [1]], np.float32)
    batch = TokenBatch(np.array([0, 1], np.int32), np.array([0, 2]), np.zeros(1, np.int32))
    with pytest.raises(InputError, match="word vector 0 has NaN or infinity"):
        kernels.power_means(rows, batch, [0.5, 3])


@pytest.mark.parametrize(
    "content",
    [
        '{"begun with": 5, "done": {}}',
        '{"begun with": {}, "done": {"offset": 1180591620717411303424}}',
        '{"begun with": {}, "done": {"rows": -1}}',
    ],
)
def test_a_damaged_journal_of_an_embedding_job_is_refused(tmp_path, content):
    (tmp_path / "x.npy.partial").write_bytes(b"some vectors")
    (tmp_path / "x.npy.partial.json").write_text(content)
    with (
        open_partial(tmp_path / "x.npy", {}) as unfinished,
        pytest.raises(FormatError, match="restart=True begins anew"),
    ):
        unfinished.resume()


def test_an_infinite_scale_does_not_warn_but_is_found_by_verification():
    space = WordSpace.from_words(
        "s", {"en": ["a"]}, np.zeros((1, 2), np.int8), scale=np.array([np.inf], np.float32)
    )
    assert "not finite" in next(problems(space))


def test_an_infinite_scale_of_ngrams_does_not_warn_but_is_found_by_verification():
    scale = np.array([1, np.inf], np.float32)
    subwords = Subwords(np.zeros((2, 2), np.int8), 2, 3, scale)
    space = WordSpace.from_words("s", {"en": ["a"]}, np.ones((1, 2)), subwords=subwords)
    found = "1 n-gram vectors have numbers that are not finite, first in row 1"
    assert list(problems(space)) == [found]
    assert space.vector("every n-gram of two buckets", "en") is None
