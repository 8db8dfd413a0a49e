"""Sent2Vec's rows against sums written out, and the files of the authors' program."""

import struct
from itertools import pairwise

import numpy as np
import pytest

from pmeans import WordSpace, models
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.models.baselines import plain_mean
from pmeans_lab.baselines.sent2vec.encoder import Sent2Vec
from pmeans_lab.baselines.sent2vec.trainer import ReadSent2Vec

WORDS = ["<placeholder>", "the", "old", "dog", "cat"]
TEXTS = ["the old dog", "dog dog xyzzy dog", "cat", "unheard", "", "the cat the old"]
N, DIM = len(WORDS), 3
RNG = np.random.default_rng(0)
VECTORS = RNG.standard_normal((N, DIM)).astype(np.float32)
BUCKETS = RNG.standard_normal((7, DIM)).astype(np.float32)
KEPT = {("the", "old"): 0, ("old", "dog"): 1, ("dog", "dog"): 2}
KEYS = np.array([1 * N + 2, 2 * N + 3, 3 * N + 3])


def encoder(bigrams):
    space = WordSpace.from_words("words", {"en": WORDS}, VECTORS)
    return Sent2Vec("s2v", plain_mean(space, "s2v", "whitespace"), bigrams)


@pytest.fixture
def kept():
    return encoder({"vectors": BUCKETS[:3], "keys": KEYS})


def derived(row_of):
    """The mean over words and bigrams; `row_of` has the bucket of two words, or None."""
    rows = []
    for text in TEXTS:
        known = [word for word in text.split() if word in WORDS]
        found = [row_of(*pair) for pair in pairwise(known)]
        vectors = [VECTORS[WORDS.index(w)] for w in known]
        vectors += [BUCKETS[row] for row in found if row is not None]
        rows.append(np.mean(vectors, axis=0) if vectors else np.zeros(DIM))
    return np.array(rows)


def in_the_authors_bucket(first, second):
    return (WORDS.index(first) * 116049371 + WORDS.index(second)) % 2**64 % len(BUCKETS)


def test_a_row_is_the_mean_of_known_words_and_kept_bigrams(kept):
    expected = derived(lambda first, second: KEPT.get((first, second)))
    np.testing.assert_allclose(kept.encode(TEXTS, lang="en"), expected, rtol=1e-6, atol=1e-7)


def test_hashed_bigrams_lie_where_the_authors_program_puts_them():
    hashed = encoder({"vectors": BUCKETS, "numbers": np.arange(N)})
    expected = derived(in_the_authors_bucket)
    np.testing.assert_allclose(hashed.encode(TEXTS, lang="en"), expected, rtol=1e-6, atol=1e-7)


def test_int8_bigrams_are_decoded():
    codes, scale = np.array([[127, -127, 0]] * 3, dtype=np.int8), np.full(3, 0.5, dtype=np.float32)
    found = encoder({"vectors": codes, "scale": scale, "keys": KEYS}).encode(["old dog"], lang="en")
    expected = (VECTORS[2] + VECTORS[3] + [63.5, -63.5, 0]) / 3
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)


def test_no_bigram_runs_over_the_end_of_a_sentence(kept):
    alone = kept.encode(["old"], lang="en")[0]
    np.testing.assert_array_equal(kept.encode(["old", "dog"], lang="en")[0], alone)


def test_a_stored_one_gives_the_same_bits(kept, tmp_path):
    models.save(kept, tmp_path / "s2v")
    back = models.load(tmp_path / "s2v")
    assert back.fingerprint() == kept.fingerprint()
    np.testing.assert_array_equal(back.encode(TEXTS, lang="en"), kept.encode(TEXTS, lang="en"))


def test_weights_of_another_version_are_refused(kept, tmp_path):
    models.save(kept, tmp_path / "s2v")
    path = tmp_path / "s2v" / "baseline.toml"
    path.write_text(path.read_text().replace("format = 1", "format = 2"))
    with pytest.raises(FormatError, match="format 2 of the kind 'sent2vec'"):
        models.load(tmp_path / "s2v")


@pytest.mark.parametrize(
    ("bigrams", "message"),
    [
        ({}, "'vectors' is missing"),
        ({"vectors": BUCKETS}, "'keys' is missing"),
        ({"vectors": BUCKETS[:, :2], "keys": KEYS}, r"expected \(any, 3\)"),
        ({"vectors": BUCKETS[:3], "keys": KEYS[:2]}, r"expected \(3\)"),
        ({"vectors": BUCKETS[:3], "keys": KEYS[::-1]}, "must ascend"),
        ({"vectors": BUCKETS[:3], "keys": KEYS + N * N}, "must ascend"),
        ({"vectors": BUCKETS[:3] * np.inf, "keys": KEYS}, "NaN or infinity"),
        ({"vectors": np.zeros((3, 3), dtype=np.int8), "keys": KEYS}, "'scale' is missing"),
        ({"vectors": np.zeros((3, 3), dtype=np.int64), "keys": KEYS}, "int64"),
        ({"vectors": np.zeros((3, 2), dtype=np.uint8), "keys": KEYS}, r"expected \(any, 3\)"),
        ({"vectors": BUCKETS, "numbers": np.arange(3)}, r"expected \(5\)"),
        ({"vectors": BUCKETS, "numbers": np.arange(5) - 1}, "from 0 on"),
        ({"vectors": BUCKETS[:0], "numbers": np.arange(5)}, "need vectors"),
    ],
)
def test_bigrams_that_do_not_fit_are_refused(bigrams, message):
    with pytest.raises(FormatError, match=message):
        encoder(bigrams)


def test_a_language_that_it_lacks_is_refused(kept):
    with pytest.raises(LanguageError, match="'de'"):
        kept.encode(["hund"], lang="de")


def test_other_means_are_refused(kept):
    from pmeans import Part, PowerMeanEncoder, Recipe

    space = kept.space
    other = PowerMeanEncoder(Recipe((Part("words", (2,)),), "two"), {"words": space})
    with pytest.raises(InputError, match="plain mean"):
        Sent2Vec("s2v", other, kept.arrays())


def write_model(path, *, model=4, word_ngrams=2, buckets=BUCKETS, words=WORDS):
    n = len(words)
    data = struct.pack("<2i", 793712314, 12)
    data += struct.pack(
        "<12id", DIM, 5, 1, 1, 5, word_ngrams, 2, model, len(buckets), 0, 0, 100, 1e-4
    )
    data += struct.pack("<3i2q", n, n, 0, 1000, -1)
    data += b"".join(word.encode() + b"\0" + struct.pack("<qb", 9, 0) for word in words)
    data += struct.pack("<bqq", 0, n + len(buckets), DIM)
    data += VECTORS[:n].astype("<f4").tobytes() + np.asarray(buckets, dtype="<f4").tobytes()
    path.write_bytes(data)
    return ReadSent2Vec(str(path), "en", "theirs", "whitespace")


def quiet(share, words):
    """Take no notice of progress."""


def test_a_model_of_the_authors_program_is_read_with_its_bigrams(tmp_path):
    made = write_model(tmp_path / "model.bin").train(progress=quiet)
    # Buckets are kept in float16.
    expected = derived(in_the_authors_bucket)
    np.testing.assert_allclose(made.encode(TEXTS, lang="en"), expected, rtol=1e-3, atol=1e-3)


def test_a_word_that_stands_there_twice_does_not_shift_the_others(tmp_path):
    words = ["the", "the", "old", "dog", "cat"]
    made = write_model(tmp_path / "model.bin", words=words).train(progress=quiet)
    assert made.arrays()["numbers"].tolist() == [0, 2, 3, 4]


def test_a_model_of_single_words_is_their_mean(tmp_path):
    made = write_model(tmp_path / "m.bin", word_ngrams=1, buckets=BUCKETS[:0]).train(progress=quiet)
    expected = derived(lambda first, second: None)
    np.testing.assert_allclose(made.encode(TEXTS, lang="en"), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"model": 2}, "a model of fastText .number 2"),
        ({"word_ngrams": 3}, "n-grams of up to 3 words"),
        ({"buckets": BUCKETS * np.nan}, "bucket 0 of bigrams"),
        ({"buckets": BUCKETS * 1e6}, "above 65504"),
    ],
)
def test_other_models_are_refused(how, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        write_model(tmp_path / "model.bin", **how).train(progress=quiet)


def test_a_model_that_is_cut_short_is_refused(tmp_path):
    trainer = write_model(tmp_path / "model.bin")
    path = tmp_path / "model.bin"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FormatError, match="cut short"):
        trainer.train(progress=quiet)
