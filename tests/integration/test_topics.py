"""BERTopic and KeyBERT on our encoder. Both take a SentenceTransformer, and no other `encode`."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import pmeans
from libraries import library

pytestmark = pytest.mark.integrations

SAMPLE = Path(__file__).parents[2] / "demo" / "sample"


@pytest.fixture(scope="module")
def encoder():
    return pmeans.load()


@pytest.mark.filterwarnings("ignore:Importing from 'sentence_transformers:DeprecationWarning")
def test_bertopic_finds_the_topics_of_two_languages(encoder):
    bertopic = library("bertopic")
    texts, labels = [], []
    for name in ("test.de.csv", "test.en.csv"):
        with open(SAMPLE / name, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                texts.append(row["text"])
                labels.append(row["label"])
    n_topics = len(set(labels))
    topics = bertopic.BERTopic(
        embedding_model=encoder.to_sentence_transformer(),
        umap_model=PCA(10, random_state=0),
        hdbscan_model=KMeans(n_topics, n_init=10, random_state=0),
    )
    found, _ = topics.fit_transform(texts)
    # The commonest label of a cluster is right for most of its texts, in both languages.
    right = 0
    for topic in set(found):
        of_topic = [label for label, each in zip(labels, found, strict=True) if each == topic]
        right += max(of_topic.count(label) for label in set(of_topic))
    assert right / len(texts) > 0.7
    assert topics.get_topic_info().shape[0] == n_topics
    assert topics.embedding_model.embed(texts[:2]).shape == (2, encoder.dim)


def test_keybert_ranks_words_by_our_cosines(encoder):
    keybert = library("keybert")
    text = "The goalkeeper saved the penalty and the team won the match."
    english = encoder.for_language("en")
    found = keybert.KeyBERT(english.to_sentence_transformer()).extract_keywords(text, top_n=3)
    assert len(found) == 3
    words = [word for word, _ in found]
    cosines = english.similarity(english.encode(words), english.encode(text))[:, 0]
    # abs: KeyBERT rounds to four digits.
    np.testing.assert_allclose([score for _, score in found], cosines, atol=1e-4)
    assert cosines[0] == cosines.max()
