"""Pipes in the place of stored files: reading one would wait for ever, and is refused."""

import os
import shutil
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, WordSpace, jobs, models
from pmeans.encoder.translations import Translations
from pmeans.errors import InputError, PmeansError
from pmeans.files import sha256
from pmeans.search import open_graph, open_index
from toy_identifier import make_identifier

TEXTS, LABELS = ["house", "a house", "dog", "the dog"] * 3, ["h", "h", "d", "d"] * 3


def outcome(read):
    """Return the error of something that may wait for ever; None if it does, or has none."""
    errors = []

    def attempt():
        try:
            read()
        except PmeansError as error:
            errors.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(20)
    return errors[0] if errors else None


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Write a model with all that it may have, a classifier, and an index."""
    folder = tmp_path_factory.mktemp("stored")
    words = {"en": ["a", "the", "house", "dog"], "de": ["ein", "haus", "hund"]}
    matrix = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    space = WordSpace.from_words("tiny", words, matrix)
    recipe = Recipe((Part("tiny"),), tokenizer="words", znorm="per_language")
    encoder = PowerMeanEncoder(recipe, {"tiny": space}).fit_znorm(TEXTS, lang="en")
    encoder = encoder.fit_znorm(["ein haus", "hund", "ein"], lang="de")
    pairs = [("a house", "ein haus"), ("dog", "hund"), ("the dog", "hund"), ("a", "ein")]
    encoder = encoder.fit_alignment({"de": pairs * 3}, pivot="en", method="ridge", penalty=1.0)
    encoder = encoder.replace(
        translations=Translations("en", {"de": pairs}), identifier=make_identifier(words)
    )
    models.save(encoder, folder / "model")
    TransferClassifier(encoder).fit(TEXTS, LABELS, lang="en").save(folder / "classifier")
    (folder / "vectors").mkdir()
    lists = pa.FixedSizeListArray.from_arrays(matrix.ravel(), 3)
    table = pa.table({"embedding": lists, "text": [*"abcdefg"]})
    pq.write_table(table, folder / "vectors" / "a.parquet")
    jobs.index_parts(str(folder / "vectors"), folder / "index", engine=jobs.here, shards=1)
    return folder


READERS = {
    "model": pmeans.load,
    "classifier": TransferClassifier.load,
    "index": lambda path: open_graph(open_index(path)),
    "vectors": lambda path: open_index(path.with_name("index")).texts_of([0]),
}


@pytest.mark.parametrize("kind", READERS)
def test_a_pipe_in_the_place_of_any_file_of_a_folder_is_our_error(stored, tmp_path, kind):
    names = [path.relative_to(stored) for path in (stored / kind).rglob("*") if path.is_file()]
    names = [name for name in names if name.name != ".parts"]
    assert len(names) == {"model": 6, "classifier": 8, "index": 3, "vectors": 1}[kind]
    for name in names:
        folder = stored if kind == "vectors" else tmp_path
        if folder is tmp_path:
            shutil.rmtree(tmp_path / kind, ignore_errors=True)
            shutil.copytree(stored / kind, tmp_path / kind)
        (folder / name).unlink()
        os.mkfifo(folder / name)
        assert outcome(lambda at=folder / kind: READERS[kind](at)) is not None, name


def test_the_hash_of_a_pipe_is_our_error(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is a folder, a pipe or a device" in str(outcome(lambda: sha256(tmp_path / "pipe")))


def test_a_file_of_someone_else_in_the_place_of_a_graph_is_not_replaced(tmp_path):
    np.save(tmp_path / "rows.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "rows.npy.usearch").write_text("my own graph")
    with pytest.raises(InputError, match=r"rows\.npy\.usearch' is not a graph of pmeans"):
        pmeans.search.ApproximateIndex(open_index(tmp_path / "rows.npy"))
    assert (tmp_path / "rows.npy.usearch").read_text() == "my own graph"
