"""A tiny encoder, sentences, and jobs over them that may be stopped."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.jobs import embed_to_file
from pmeans.tables import open_source

FORMATS = ["npy", "jsonl", "parquet"]


SENTENCES = ["a house", "the dog", "zzz", "", "house dog house", "dog", "the the", "a", "house"]


def make_encoder(scale=1.0):
    words = {"en": ["a", "the", "house", "dog"], "de": ["ein", "haus", "hund"]}
    matrix = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32) * np.float32(scale)
    space = WordSpace.from_words("tiny", words, matrix)
    return PowerMeanEncoder(Recipe((Part("tiny"),), tokenizer="words"), {"tiny": space})


def embed(encoder, path, out, *, batch=2, fields=None, **options):
    options = {"lang": "en", "save_every": 0, **options}  # a savepoint after every batch
    return embed_to_file(encoder, open_source(path, fields), out, batch_size=batch, **options)


def read(path):
    if path.suffix == ".npy":
        return np.load(path)
    if path.suffix == ".parquet":
        return np.array(pq.read_table(path)["embedding"].to_pylist(), dtype=np.float32)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["index"] for line in lines] == list(range(len(lines)))
    return np.array([line["embedding"] for line in lines], dtype=np.float32)


class Killed(BaseException):
    """Stands for a kill: nothing that our code could catch by accident."""


def stop_after(encoder, path, out, rows, **options):
    def report(state):
        if state.rows >= rows:
            raise Killed

    with pytest.raises(Killed):
        embed(encoder, path, out, report=report, **options)
