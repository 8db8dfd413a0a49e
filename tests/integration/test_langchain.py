"""LangChain's vector store on our encoder."""

import asyncio

import numpy as np
import pytest

import pmeans
from libraries import DE, EN, library

pytestmark = pytest.mark.integrations


@pytest.fixture(scope="module")
def embeddings():
    library("langchain_core", "langchain")
    from pmeans.integrations.langchain import PowerMeanEmbeddings

    return PowerMeanEmbeddings(pmeans.load())


def test_documents_and_queries_are_lists_of_numbers_of_length_1(embeddings):
    expected = pmeans.load().encode(EN, normalize_embeddings=True)
    rows = embeddings.embed_documents(EN)
    assert {type(x) for row in rows for x in row} == {float}
    np.testing.assert_array_equal(np.array(rows, np.float32), expected)
    assert embeddings.embed_query(EN[0]) == rows[0]
    assert asyncio.run(embeddings.aembed_query(EN[0])) == rows[0]
    assert embeddings.embed_documents([]) == []


def test_a_vector_store_finds_translations(embeddings):
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore.from_texts(DE, embeddings, metadatas=[{"n": i} for i in range(4)])
    for i, text in enumerate(EN):
        (found,) = store.similarity_search(text, k=1)
        assert found.metadata == {"n": i}
