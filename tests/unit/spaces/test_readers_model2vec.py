"""model2vec folders: which tokens are words, and what their vectors are."""

import json

import numpy as np
import pytest
import safetensors.numpy

from pmeans.errors import FormatError, StorageError
from pmeans.spaces.readers import read_space
from pmeans.spaces.readers.entries import Policy


@pytest.fixture
def read(tmp_path):
    def read(model, added=(), policy=None, **tensors):
        (tmp_path / "config.json").write_text("{}")
        tokenizer = {"model": model, "added_tokens": list(added)}
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
        safetensors.numpy.save_file(tensors, tmp_path / "model.safetensors")
        return read_space(tmp_path, policy=policy or Policy())

    return read


def numbered(*tokens):
    return {token: i for i, token in enumerate(tokens)}


def rows(n, dtype=np.float32):
    return np.arange(1, 2 * n + 1, dtype=dtype).reshape(n, 2)


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ({"type": "WordPiece", "vocab": numbered("the", "##ing", "house")}, {0: "the", 2: "house"}),
        (
            {"type": "WordLevel", "vocab": numbered("the", "##x", "▁y")},
            {0: "the", 1: "##x", 2: "▁y"},
        ),
        ({"type": "Unigram", "vocab": [["▁the", -1], ["ing", -2], ["▁", -3]]}, {0: "the"}),
        ({"type": "BPE", "vocab": numbered("Ġthe", "ing", "ĠcafÃ©", "ĠÃ")}, {0: "the", 2: "café"}),
        ({"type": "BPE", "vocab": numbered("▁the", "ing", "▁a▁b")}, {0: "the", 2: "a b"}),
    ],
)
def test_tokens_that_start_a_word_are_words(read, model, kept):
    n = len(model["vocab"])
    space, report = read(model, embeddings=rows(n))
    assert list(space.words("en")) == list(kept.values())
    np.testing.assert_array_equal(space.matrix, rows(n)[list(kept)])
    assert (report.seen, report.kept, report.not_words) == (n, len(kept), n - len(kept))


def test_special_tokens_are_no_words(read):
    added = [
        {"id": 0, "content": "[PAD]", "special": True},
        {"id": 2, "content": "New York", "special": False},
    ]
    model = {"type": "WordPiece", "vocab": numbered("[PAD]", "the")}
    space, report = read(model, added, embeddings=rows(3))
    assert list(space.words("en")) == ["the", "New York"]
    assert report.not_words == 1


WORDS = {"type": "WordLevel", "vocab": numbered("a", "b", "c")}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_multiply_and_the_mapping_is_followed(read, dtype):
    weights = np.array([1, 0.5, 2], dtype)
    space, _ = read(WORDS, embeddings=rows(2), mapping=np.array([1, 0, 1]), weights=weights)
    np.testing.assert_array_equal(space.matrix, [[3, 4], [0.5, 1], [6, 8]])
    assert space.matrix.dtype == np.float32


@pytest.mark.parametrize(
    ("stored", "read_as"),
    [
        (np.float16, np.float16),
        (np.float32, np.float32),
        (np.float64, np.float32),
        (np.int8, np.float32),
    ],
)
def test_the_type_is_kept_if_a_space_can_have_it(read, stored, read_as):
    space, _ = read(WORDS, embeddings=rows(3, stored))
    assert space.matrix.dtype == read_as
    np.testing.assert_array_equal(space.matrix, rows(3))


def test_a_token_without_a_vector_is_malformed(read):
    with pytest.raises(FormatError, match="token 2: no vector for 'c'"):
        read(WORDS, embeddings=rows(2))
    _, report = read(WORDS, embeddings=rows(2), policy=Policy.skipping())
    assert (report.seen, report.kept, report.malformed) == (3, 2, 1)


def test_a_row_without_a_token_is_counted(read):
    _, report = read(WORDS, embeddings=rows(5))
    assert (report.seen, report.kept, report.not_words) == (5, 3, 2)


@pytest.mark.parametrize(
    "tensors",
    [
        {"other": rows(3)},
        {"embeddings": np.ones(3, np.float32)},
        {"embeddings": rows(3), "mapping": np.array([0, 1, 3])},
        {"embeddings": rows(3), "mapping": np.array([0, -1, 1])},
        {"embeddings": rows(3), "mapping": np.ones(3, np.float32)},
        {"embeddings": rows(3), "weights": np.ones(2, np.float32)},
    ],
)
def test_tensors_that_do_not_fit_are_refused(read, tensors):
    with pytest.raises(FormatError):
        read(WORDS, **tensors)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"model": 1}',
        '{"model": {"vocab": {"a": "x"}}}',
        '{"model": {"vocab": [1]}}',
    ],
)
def test_a_damaged_tokenizer_is_refused(read, tmp_path, text):
    read(WORDS, embeddings=rows(3))
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(FormatError, match=r"tokenizer\.json"):
        read_space(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_without_one_of_its_files_is_refused(read, tmp_path, name):
    read(WORDS, embeddings=rows(3))
    (tmp_path / name).unlink()
    with pytest.raises(StorageError, match=name):
        read_space(tmp_path)
