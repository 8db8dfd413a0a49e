"""What the adapters of tables and words do without the library that they are for."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, read_space
from pmeans.errors import InputError, LanguageError
from pmeans.integrations import duckdb, gensim, model2vec, polars


@pytest.fixture
def encoder(toy):
    return PowerMeanEncoder(Recipe((Part("toy", (1,)),), "means", tokenizer="words"), {"toy": toy})


@pytest.mark.parametrize(
    ("library", "use"),
    [
        ("polars", lambda encoder: polars.embed(model=encoder, lang="en")),
        ("duckdb", lambda encoder: duckdb.register_embed(None, model=encoder)),
        ("gensim", lambda encoder: gensim.to_keyed_vectors(encoder.spaces["toy"])),
        ("spacy", lambda encoder: importlib.import_module("pmeans.integrations.spacy")),
    ],
)
def test_a_library_that_is_absent_is_named_with_its_extra(monkeypatch, encoder, library, use):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    monkeypatch.delitem(sys.modules, "pmeans.integrations.spacy", raising=False)
    with pytest.raises(InputError, match=rf"needs {library}.*pip install 'pmeans\[{library}\]'"):
        use(encoder)


@pytest.mark.integrations  # it starts a Python
def test_no_adapter_loads_its_library_before_it_is_used():
    program = (
        "import json, sys\n"
        "from pmeans import arrow\n"
        "from pmeans.integrations import duckdb, gensim, model2vec, polars, ray, spark\n"
        "named = {'pyarrow', 'duckdb', 'gensim', 'polars', 'ray', 'pyspark', 'usearch'}\n"
        "print(json.dumps(sorted(set(sys.modules) & named)))"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=-1, check=True)
    assert json.loads(done.stdout) == []


def test_an_exported_folder_is_read_back_as_the_same_words_and_vectors(encoder, toy, tmp_path):
    model2vec.export(encoder, tmp_path / "folder", lang="en")
    space, report = read_space(tmp_path / "folder")
    assert list(space.words("en")) == list(toy.words("en"))
    np.testing.assert_array_equal(space.matrix, toy.matrix[:3])
    assert report.not_words == 1  # what stands for all unknown words


def test_a_folder_of_model2vec_is_replaced_and_another_is_left_alone(encoder, tmp_path):
    model2vec.export(encoder, tmp_path / "folder", lang="en")
    model2vec.export(encoder, tmp_path / "folder", lang="de")
    assert len(read_space(tmp_path / "folder")[0]) == 2
    (tmp_path / "other" / "inner").mkdir(parents=True)
    with pytest.raises(InputError, match="exists and is no model2vec folder"):
        model2vec.export(encoder, tmp_path / "other", lang="de")


@pytest.mark.parametrize(
    "parts", [(Part("toy", (1, 3)),), (Part("toy", (2,)),), (Part("toy", (1,)),) * 2]
)
def test_an_encoder_of_more_than_one_mean_is_not_exported(encoder, parts, tmp_path):
    other = encoder.replace(recipe=Recipe(parts, "other"))
    with pytest.raises(InputError, match=r"recipe 'other' has powers .* with powers \(1,\)"):
        model2vec.export(other, tmp_path / "folder", lang="en")
    assert not list(tmp_path.iterdir())


def test_what_a_tokeniser_cannot_do_is_not_exported(encoder, tmp_path):
    with pytest.raises(LanguageError, match="which language"):
        model2vec.export(encoder, tmp_path / "folder")
    space = WordSpace.from_words("toy", {"en": ["a"]}, [[1.0]], case="cased-then-lower")
    with pytest.raises(InputError, match="cased and then lower-cased"):
        model2vec.export(encoder.replace(spaces={"toy": space}), tmp_path / "folder")


def test_what_is_not_keyed_vectors_is_refused():
    class Model:
        wv = None

    with pytest.raises(InputError, match="got Model: give its attribute wv"):
        gensim.from_keyed_vectors(Model(), "words")
