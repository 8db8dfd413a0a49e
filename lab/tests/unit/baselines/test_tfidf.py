import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from pmeans import models
from pmeans.errors import FormatError, InputError, NotFittedError
from pmeans.tensors import write_tensors
from pmeans_lab.baselines.tfidf.encoder import Tfidf

TRAIN = ["the dog runs", "the cat and the dog", "A cat sleeps , runs", "soup", "dog soup soup"]
TEST = ["The dog , the soup", "cat cat xyzzy", "xyzzy", ""]


def test_rows_are_those_of_scikit_learn():
    fitted = Tfidf("mine", 20, "whitespace").fit(TRAIN)
    theirs = TfidfVectorizer(tokenizer=str.split, token_pattern=None).fit(TRAIN)
    expected = theirs.transform(TEST).toarray()
    columns = [theirs.vocabulary_[word] for word in fitted.words]
    # rtol: scikit-learn computes in float64.
    np.testing.assert_allclose(fitted.encode(TEST)[:, :9], expected[:, columns], rtol=1e-6)
    assert not fitted.encode(TEST)[:, 9:].any()


def test_the_commonest_words_are_kept():
    assert Tfidf("mine", 4, "whitespace").fit(TRAIN).words == ("dog", "soup", "the", "cat")


def test_a_stored_one_gives_the_same_bits_and_damage_is_refused(tmp_path):
    fitted = Tfidf("mine", 6).fit(TRAIN, lang="en")
    models.save(fitted, tmp_path / "x")
    back = models.load(tmp_path / "x")
    assert back.fingerprint() == fitted.fingerprint()
    np.testing.assert_array_equal(back.encode(TEST, lang="de"), fitted.encode(TEST, lang="de"))
    for words, message in [(b"a\na\n", "twice"), (b"\xff\n", "damaged"), (b"a\n", "'idf' is")]:
        arrays = {"words": np.frombuffer(words, dtype=np.uint8), "idf": fitted.idf}
        write_tensors(tmp_path / "x" / "baseline.safetensors", arrays, {"format": "pmeans-tfidf"})
        with pytest.raises(FormatError, match=message):
            models.load(tmp_path / "x")


def test_one_that_is_not_fitted_is_stored_and_does_not_encode(tmp_path):
    models.save(Tfidf("mine", 6), tmp_path / "x")
    back = models.load(tmp_path / "x")
    assert back.needs_fit
    with pytest.raises(NotFittedError, match="no words yet"):
        back.encode(TEST)


def test_nonsense_is_refused():
    with pytest.raises(InputError, match="at least one column"):
        Tfidf("mine", 0)
    with pytest.raises(InputError, match="sentences with words"):
        Tfidf("mine").fit(["", " "])
