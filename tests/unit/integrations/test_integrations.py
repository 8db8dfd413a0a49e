"""What adapters do without the library they are for; with it, see tests/integration."""

import importlib
import re
import sys

import numpy as np
import pytest

from pmeans import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans.integrations import senteval

ADAPTERS = [
    ("sentence_transformers", "sentence_transformers", "sentence-transformers"),
    ("pooling", "sentence_transformers", "sentence-transformers"),
    ("mteb", "mteb", "mteb"),
    ("langchain", "langchain_core", "langchain"),
]


@pytest.fixture
def encoder(toy):
    return PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy}).for_language("en")


@pytest.mark.parametrize(("adapter", "library", "extra"), ADAPTERS)
def test_an_adapter_says_how_to_install_its_library(monkeypatch, adapter, library, extra):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"pmeans.integrations.{adapter}", raising=False)
    with pytest.raises(InputError, match=re.escape(f"pip install 'pmeans[{extra}]'")):
        importlib.import_module(f"pmeans.integrations.{adapter}")


def test_to_sentence_transformer_says_how_to_install_it(monkeypatch, encoder):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    name = "pmeans.integrations.sentence_transformers"
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(InputError, match=r"needs sentence_transformers, which is not installed"):
        encoder.to_sentence_transformer()


class Settings(dict):
    """As SentEval makes them of ``params_senteval``."""

    __getattr__ = dict.get


def test_sentevals_batcher_encodes_lists_of_tokens(encoder):
    params = Settings(task_path="data", usepytorch=False, encoder=encoder)
    assert senteval.prepare(params, [["the", "cat"]]) is None
    got = senteval.batcher(params, [["the", "cat"], ["sat"]])
    np.testing.assert_array_equal(got, encoder.encode(["the cat", "sat"]))


def test_sentevals_batcher_encodes_an_empty_sentence_as_a_full_stop(encoder):
    asked = []
    encoder.encode = lambda texts: asked.extend(texts)
    senteval.batcher(Settings(encoder=encoder), [["the"], []])
    assert asked == ["the", "."]


def test_sentevals_batcher_says_where_the_encoder_goes():
    with pytest.raises(InputError, match=r"params_senteval\['encoder'\]"):
        senteval.batcher(Settings(), [["the"]])
