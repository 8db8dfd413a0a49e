"""An index knows the model of its rows, and is searched by no other."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, jobs
from pmeans.encoder.identity import ModelIdentity
from pmeans.errors import (
    FormatError,
    InputError,
)
from pmeans.jobs import embed_to_file
from pmeans.search import find, open_index
from pmeans.tables import open_source

pytest.importorskip("usearch", reason="pip install 'pmeans[search]'")


@pytest.fixture
def toy(tmp_path):
    """Two models of the same size, and vectors that the first one made."""

    def save(name, scale):
        space = WordSpace.from_words("toy", {"en": ["dog", "cat", "soup"]}, np.float32(scale))
        recipe = Recipe((Part("toy", (1,)),), name, tokenizer="words")
        pmeans.save(PowerMeanEncoder(recipe, {"toy": space}), tmp_path / name)
        return str(tmp_path / name)

    models = save("first", np.eye(3)), save("second", np.eye(3)[::-1])
    pq.write_table(pa.table({"text": ["the soup", "a dog", "dog cat"]}), tmp_path / "a.parquet")
    out = str(tmp_path / "vectors")
    jobs.embed_parts(str(tmp_path / "a.parquet"), out, engine=jobs.here, model=models[0])
    return *models, out


def test_an_index_is_searched_by_the_model_that_made_its_rows_alone(toy, tmp_path):
    first, second, vectors = toy
    jobs.index_parts(vectors, tmp_path / "index", engine=jobs.here, shards=1)
    opened = open_index(tmp_path / "index")
    encoder, other = pmeans.load(first), pmeans.load(second)
    assert opened.model == ModelIdentity("first", encoder.fingerprint())
    (hits,) = [hits for _, hits in find(encoder, opened, ["dog"], lang="en", k=1)]
    assert hits[0].text == "a dog"
    named = rf"'first' \({encoder.fingerprint()}\), and this is 'second' \({other.fingerprint()}\)"
    with pytest.raises(InputError, match=named):
        next(find(other, opened, ["dog"], lang="en"))
    (part,) = (tmp_path / "vectors").glob("*.parquet")
    with pytest.raises(InputError, match=named):
        next(find(other, open_index(part), ["dog"], lang="en"))


def test_a_parquet_file_that_a_job_wrote_names_its_model(toy, tmp_path):
    encoder, other = pmeans.load(toy[0]), pmeans.load(toy[1])
    embed_to_file(encoder, open_source(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    opened = open_index(tmp_path / "b.parquet")
    assert opened.model == ModelIdentity.of(encoder)
    with pytest.raises(InputError, match=r"of the model 'first' .* and this is 'second'"):
        next(find(other, opened, ["dog"], lang="en"))


def test_rows_of_two_models_are_not_indexed_together(toy, tmp_path):
    _, second, vectors = toy
    jobs.embed_parts(str(tmp_path / "a.parquet"), tmp_path / "v2", engine=jobs.here, model=second)
    (tmp_path / "both").mkdir()
    for folder in (vectors, tmp_path / "v2"):
        (part,) = list(Path(folder).glob("*.parquet"))
        part.rename(tmp_path / "both" / part.name)
    with pytest.raises(
        FormatError, match=r"several models, .* by '.* and .* by '.*: index each by"
    ):
        jobs.index_parts(str(tmp_path / "both"), tmp_path / "x", engine=jobs.here, shards=1)


def test_a_model_that_is_named_wrongly_is_refused(toy, tmp_path):
    path = tmp_path / "a.parquet"
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(8, np.float32)), 8)
    for written in (b"{", b"[]", b'{"name": 3, "fingerprint": "x"}'):
        schema = pa.schema([("embedding", lists.type)], metadata={b"pmeans.model": written})
        pq.write_table(pa.table([lists], schema=schema), path)
        with pytest.raises(FormatError, match="what it says of its model is damaged"):
            open_index(path)
