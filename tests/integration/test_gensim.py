"""gensim's KeyedVectors and word spaces: the same words, the same bits."""

import numpy as np
import pytest

from pmeans import WordSpace
from pmeans.errors import FormatError, InputError

pytest.importorskip("gensim", reason="pip install 'pmeans[gensim]'")
pytestmark = pytest.mark.integrations

from gensim.models import FastText, KeyedVectors  # noqa: E402

from pmeans.integrations.gensim import from_keyed_vectors, to_keyed_vectors  # noqa: E402


def keyed(words, vectors, dtype=np.float32):
    vectors = np.array(vectors, dtype=dtype)
    found = KeyedVectors(vectors.shape[1], dtype=dtype)
    found.add_vectors(words, vectors)
    return found


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_words_and_vectors_go_in_and_out_bit_for_bit(dtype):
    words = ["The", "Größe", "東京", "a b"]
    given = keyed(words, np.random.default_rng(0).normal(size=(4, 5)), dtype)
    space = from_keyed_vectors(given, "words", lang="de")
    assert (space.name, list(space.words("de")), space.case) == ("words", words, "cased")
    assert space.matrix.tobytes() == given.vectors.tobytes()
    back = to_keyed_vectors(space)
    assert back.index_to_key == words
    assert back.vectors.tobytes() == given.vectors.astype(np.float32).tobytes()


def test_a_language_is_taken_alone_or_all_with_their_codes(toy):
    german = to_keyed_vectors(toy, "de")
    assert german.index_to_key == ["die", "katze"]
    np.testing.assert_array_equal(german["katze"], toy.vector("katze", "de"))
    every = to_keyed_vectors(toy)
    assert every.index_to_key == ["the_en", "cat_en", "sat_en", "die_de", "katze_de"]
    np.testing.assert_array_equal(every.vectors, toy.matrix)
    assert every.most_similar("cat_en", topn=1)[0][0] == "katze_de"


def test_phrases_are_joined_as_word2vec_does():
    space = WordSpace.from_words("toy", {"en": ["new york", "york"]}, [[1.0], [2.0]])
    assert to_keyed_vectors(space).index_to_key == ["new_york", "york"]


def test_fasttext_brings_its_ngrams():
    sentences = [["hund", "katze", "hundehütte", "vogel"] * 5] * 20
    model = FastText(sentences, vector_size=8, min_count=1, bucket=100, epochs=1, workers=1)
    space = from_keyed_vectors(model.wv, "fasttext", lang="de")
    for word in ("hund", "katze", "hundehütte"):
        np.testing.assert_array_equal(space.vector(word, "de"), model.wv[word])
    for word in ("hunde", "katzen", "vögel"):
        # atol: of rows near 0.05, gensim adds up the n-grams by length and we by place.
        np.testing.assert_allclose(space.vector(word, "de"), model.wv[word], atol=1e-7)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (keyed([1, 2], [[1.0], [2.0]]), InputError, "expected words as keys"),
        (keyed(["a", "b"], [[1.0], [np.nan]]), FormatError, "'b' has a value that is nan"),
        (keyed(["a", "\ud800"], [[1.0], [2.0]]), FormatError, "is not UTF-8"),
        (KeyedVectors(3), FormatError, "no usable word vector"),
    ],
)
def test_keys_and_vectors_that_cannot_be_used_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        from_keyed_vectors(given, "words")
