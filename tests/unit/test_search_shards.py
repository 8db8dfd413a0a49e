"""An index in shards: what is found is what one index over all rows finds."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, parts
from pmeans.cli.main import app
from pmeans.errors import FormatError, InputError
from pmeans.search import ApproximateShards, open_index, top_k

pytest.importorskip("usearch", reason="pip install 'pmeans[search]'")
ROWS = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)


@pytest.fixture
def files(tmp_path):
    """Five files of very different lengths."""
    (tmp_path / "parts").mkdir()
    for i, (start, stop) in enumerate([(0, 10), (10, 150), (150, 160), (160, 299), (299, 300)]):
        values = pa.array(ROWS[start:stop].astype(np.float16).reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(values, 8)
        texts = [f"text {n}" for n in range(start, stop)]
        table = pa.table({"text": texts, "embedding": lists})
        pq.write_table(table, tmp_path / "parts" / f"{i}.parquet")
    return tmp_path / "parts"


@pytest.fixture
def index(files, tmp_path):
    done = parts.index_parts(str(files), tmp_path / "index", engine=parts.here, shards=3)
    assert done.rows == 300
    return tmp_path / "index"


@pytest.mark.parametrize(("shards", "made"), [(1, 1), (2, 2), (4, 3), (9, 3)])
def test_shards_together_find_what_all_rows_have(files, tmp_path, shards, made):
    out = tmp_path / "index"
    parts.index_parts(str(files), out, engine=parts.here, shards=shards)
    assert len(list(out.glob("*.npy"))) == made
    opened, queries = open_index(out), ROWS[::50]
    expected = top_k(queries, ROWS.astype(np.float16), 10)
    for found in (top_k(queries, opened.rows, 10), ApproximateShards(opened).top_k(queries, 10)):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    assert isinstance(opened.rows.matrices[0].array, np.memmap)


def test_texts_are_read_from_the_files_as_long_as_they_are_there(index, files):
    opened = open_index(index)
    assert opened.texts_of([299, 0, 12]) == {0: "text 0", 12: "text 12", 299: "text 299"}
    (files / "1.parquet").unlink()
    assert opened.texts_of([299, 12]) == {299: "text 299"}
    assert open_index(index, text="other").texts_of([0]) == {}


def test_shards_that_are_there_are_not_built_again(index, files):
    def never(tasks):
        raise AssertionError

    assert parts.index_parts(str(files), index, engine=never, shards=3).found == len(
        list(index.glob("*.json"))
    )
    last = max(index.glob("*.json"), key=lambda path: json.loads(path.read_bytes())["first"])
    last.unlink()
    with pytest.raises(InputError, match=r"parts? made of other inputs"):
        parts.index_parts(str(files), index, engine=never, shards=1)
    done = parts.index_parts(str(files), index, engine=parts.here, shards=3)
    assert (done.rows, done.parts - done.found) == (300, 1)


def test_an_index_without_one_of_its_shards_is_refused(index):
    first = min(index.glob("*.json"), key=lambda path: json.loads(path.read_bytes())["first"])
    first.unlink()
    with pytest.raises(FormatError, match="no complete index"):
        open_index(index)


def test_files_without_vectors_are_refused(tmp_path, files):
    pq.write_table(pa.table({"text": ["a"]}), files / "x.parquet")
    with pytest.raises(FormatError, match=r"x.parquet: no column 'embedding'"):
        parts.index_parts(str(files), tmp_path / "out", engine=parts.here, shards=1)
    pq.write_table(pa.table({"embedding": [[1.0]]}), files / "x.parquet")
    with pytest.raises(FormatError, match="not of vectors alone"):
        parts.index_parts(str(files), tmp_path / "out", engine=parts.here, shards=1)
    with pytest.raises(InputError, match="at least 1"):
        parts.index_parts(str(files), tmp_path / "out", engine=parts.here, shards=0)


def test_the_command_builds_and_another_searches_with_texts(tmp_path):
    words = ["dog", "cat", "soup"]
    space = WordSpace.from_words("toy", {"en": words}, np.eye(3, dtype=np.float32))
    recipe = Recipe((Part("toy", (1,)),), tokenizer="words")
    pmeans.save(PowerMeanEncoder(recipe, {"toy": space}), tmp_path / "model")
    pq.write_table(pa.table({"text": ["the soup", "a dog", "dog cat"]}), tmp_path / "a.parquet")
    model, out = str(tmp_path / "model"), str(tmp_path / "vectors")
    parts.embed_parts(str(tmp_path / "a.parquet"), out, engine=parts.here, model=model)
    run = CliRunner().invoke(app, ["index", out, "--out", str(tmp_path / "index")])
    assert (run.exit_code, "3 rows in 1 part in" in run.output) == (0, True), run.output
    for more in ([], ["--approximate"]):
        command = ["search", str(tmp_path / "index"), "dog", "--model", model, "-k", "1", *more]
        done = CliRunner().invoke(app, command)
        assert done.stdout == "1\t1.0000\t1\ta dog\n", done.output
