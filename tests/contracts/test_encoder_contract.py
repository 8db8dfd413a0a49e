"""What every encoder promises, whatever it is made of: one suite over all of them.

A new encoder adds one entry to `ENCODERS`.
"""

import copy
import pickle
from collections.abc import Sequence

import joblib
import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import InputError, LanguageError
from pmeans.models.baselines import plain_mean, word_mean
from pmeans.spaces.space import Subwords
from pmeans_lab.baselines.cvm_add.encoder import SumEncoder
from pmeans_lab.baselines.infersent.encoder import InferSent
from pmeans_lab.baselines.sent2vec.encoder import Sent2Vec
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.teacher.encoder import TeacherEncoder
from pmeans_lab.baselines.tfidf.encoder import Tfidf
from pmeans_lab.evaluation.controls import RandomProjection

TEXTS = {
    "en": ["the old dog sees a cat", "a house", "xyzzy", "", "The DOG! 42 houses", "dogs walking"],
    "de": ["der alte hund sieht eine katze", "ein haus", "xyzzy", "", "Das HAUS? 42", "hunde"],
}
WORDS = {
    "en": ["the", "a", "old", "dog", "cat", "house", "sees"],
    "de": ["der", "ein", "alt", "hund", "katze", "haus", "sieht"],
}


def _space(name="space", dim=5, subwords=False):
    rng = np.random.default_rng(len(name))
    matrix = rng.standard_normal((14, dim)).astype(np.float32)
    ngrams = Subwords(rng.standard_normal((50, dim)).astype(np.float32), 3, 5)
    return WordSpace.from_words(name, WORDS, matrix, subwords=ngrams if subwords else None)


def _plain(folder):
    return PowerMeanEncoder(Recipe((Part("space"),), "plain", "words"), {"space": _space()})


def _normed(folder):
    parts = (Part("space", (1, 3, 0.5)), Part("other"))
    spaces = {"space": _space(), "other": _space("other", 7, subwords=True)}
    encoder = PowerMeanEncoder(Recipe(parts, "normed", "words", znorm="per_language"), spaces)
    for lang, texts in TEXTS.items():
        encoder = encoder.fit_znorm(texts, lang=lang)
    return encoder


def _aligned(folder):
    rng = np.random.default_rng(0)
    pairs = [
        (" ".join(WORDS["en"][i] for i in some), " ".join(WORDS["de"][i] for i in some))
        for some in rng.integers(0, 7, (60, 4))
    ]
    return _normed(folder).fit_alignment({"de": pairs}, pivot="en", penalty=1.0, rank=9)


def _stored(folder):
    pmeans.save(_aligned(folder), folder / "stored")
    return pmeans.load(folder / "stored")


FREQUENCIES = [0.5, 0.2, 0.01, 0.01, 0.01, 0.01, 0] * 2


def _sif(folder):
    encoder = plain_mean(_space("other", 7, subwords=True), "sif", "words")
    return Sif("sif", encoder, FREQUENCIES).fit(TEXTS["en"], lang="en")


def _usif(folder):
    fitted = Usif("usif", plain_mean(_space(), "usif", "words"), FREQUENCIES)
    pmeans.save(fitted.fit(TEXTS["en"], lang="en"), folder / "usif")
    return pmeans.load(folder / "usif")


def _sum(folder):
    return SumEncoder("sum", plain_mean(_space("other", 7), "sum", "words"))


def _sent2vec(folder):
    vectors = np.random.default_rng(4).standard_normal((3, 5)).astype(np.float32)
    keys = np.array([0 * 14 + 3, 1 * 14 + 5, 7 * 14 + 10])  # the dog, a house, der hund
    words = plain_mean(_space(), "s2v", "words")
    pmeans.save(Sent2Vec("s2v", words, {"vectors": vectors, "keys": keys}), folder / "s2v")
    return pmeans.load(folder / "s2v")


def _teacher(folder):
    made = TeacherEncoder("teacher", "nowhere", ("en", "de"), 3, "0" * 12)
    made._speak = lambda texts: np.array([[len(t), ord(t[0]), 1] for t in texts], dtype=np.float32)
    return made


def _infersent(folder):
    rng = np.random.default_rng(2)
    shapes = {"input": (2, 12, 5), "state": (2, 12, 3), "bias": (2, 12)}
    weights = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return InferSent("infersent", word_mean(_space(), "words"), weights, {})


ENCODERS = {
    "power means": _plain,
    "z-normed": _normed,
    "aligned": _aligned,
    "stored": _stored,
    "in the package": lambda folder: pmeans.load(),
    "projected": lambda folder: RandomProjection(_normed(folder), 11),
    "SIF": _sif,
    "uSIF": _usif,
    "TF-IDF": lambda folder: Tfidf("tfidf", 9).fit(TEXTS["en"], lang="en"),
    "teacher": _teacher,
    "sum": _sum,
    "Sent2Vec": _sent2vec,
    "InferSent": _infersent,
}
HEAVY = ["InferSent"]  # needs torch


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.integrations if name in HEAVY else ())
        for name in ENCODERS
    ]
)
def encoder(request, tmp_path):
    return ENCODERS[request.param](tmp_path)


def assert_same(encoder, got, expected):
    """Compare bits, where sums are ours. torch's are not the same for other numbers of rows."""
    noise = 1e-6 if isinstance(encoder, InferSent) else 0
    np.testing.assert_allclose(got, expected, rtol=0, atol=noise)


@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_list_gives_a_float32_row_per_sentence(encoder, lang):
    rows = encoder.encode(TEXTS[lang], lang=lang)
    assert rows.shape == (6, encoder.dim)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()


def test_one_sentence_gives_one_row_and_none_gives_none(encoder):
    assert_same(
        encoder, encoder.encode("a house", lang="en"), encoder.encode(["a house"], lang="en")[0]
    )
    assert encoder.encode([], lang="en").shape == (0, encoder.dim)
    assert encoder.encode(iter(()), lang="en").shape == (0, encoder.dim)


def test_an_empty_sentence_is_a_zero_row(encoder):
    assert not encoder.encode(["", " \t\u2003"], lang="en").any()


def test_batch_order_stream_and_threads_change_no_bit(encoder):
    texts = TEXTS["en"] * 50
    expected = encoder.encode(texts, lang="en", n_threads=1)
    order = np.random.default_rng(1).permutation(len(texts))
    assert_same(encoder, encoder.encode(texts, lang="en", n_threads=3), expected)
    assert_same(encoder, encoder.encode(iter(texts), lang="en"), expected)
    assert_same(encoder, encoder.encode([texts[i] for i in order], lang="en"), expected[order])
    alone = [encoder.encode(text, lang="en") for text in texts[:6]]
    assert_same(encoder, alone, expected[:6])
    blocks = list(encoder.encode_batches(texts, lang="en", batch_size=7))
    assert len(blocks) == 43
    assert_same(encoder, np.concatenate(blocks), expected)


def test_each_sentence_may_have_its_own_language(encoder):
    texts, langs = ["a house", "ein haus", "the dog"], ["en", "de", "en"]
    rows = encoder.encode(texts, lang=langs)
    one_by_one = [encoder.encode(t, lang=lang) for t, lang in zip(texts, langs, strict=True)]
    assert_same(encoder, rows, one_by_one)


def test_languages_are_listed_and_others_refused(encoder):
    if not encoder.languages:
        return  # it does not tell languages apart
    assert {"en", "de"} <= set(encoder.languages)
    with pytest.raises(LanguageError, match="'xx'"):
        encoder.encode(["a house"], lang="xx")
    if getattr(encoder, "identifier", None) is None:
        with pytest.raises(LanguageError, match="which language"):
            encoder.encode(["a house"])


@pytest.mark.parametrize("langs", [["en"], ["en", "de", "en"]])
def test_languages_must_be_as_many_as_sentences(encoder, langs):
    with pytest.raises(InputError, match="lang has"):
        encoder.encode(["a house", "the dog"], lang=langs)


@pytest.mark.parametrize("bad", [[None], [1.5], [b"bytes"], {"a": "b"}])
def test_what_is_not_text_is_refused(encoder, bad):
    with pytest.raises(InputError):
        encoder.encode(bad, lang="en")


class Mismatched(Sequence):
    """Sentences whose length is not the number that comes."""

    def __init__(self, texts, length):
        self.texts, self.length = texts, length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.texts[i]


@pytest.mark.parametrize("length", [2, 4, 100])
def test_sentences_must_be_as_many_as_their_length_says(encoder, length):
    texts = Mismatched(["the dog", "a house", "a cat"], length)
    options = [{}, {"show_progress_bar": True}, {"out": np.zeros((length, encoder.dim), "f4")}]
    for each in options:
        with pytest.raises(InputError, match=f"length of {length}, but"):
            encoder.encode(texts, lang="en", **each)
    with pytest.raises(InputError, match=f"length of {length}, but"):
        encoder.coverage(texts, lang="en")
    with pytest.raises(InputError, match=f"length of {length}, but"):
        list(encoder.encode_batches(texts, lang="en"))


def test_a_stream_whose_length_is_not_known_is_read_to_its_end(encoder):
    class Unsized(Mismatched):
        def __len__(self):
            raise TypeError("nobody knows")

    rows = encoder.encode(Unsized(["the dog", "a house"], 0), lang="en")
    assert_same(encoder, rows, encoder.encode(["the dog", "a house"], lang="en"))


def test_a_prompt_stands_before_every_sentence(encoder):
    rows = encoder.encode(["dog", "house"], lang="en", prompt="the ")
    assert_same(encoder, rows, encoder.encode(["the dog", "the house"], lang="en"))


def test_a_prompt_and_what_follows_it_must_be_strings(encoder):
    with pytest.raises(InputError, match="sentence 1 is int, not str: 1"):
        encoder.encode(["a", 1], lang="en", prompt="the ")
    for prompt in (5, b"the ", ["the "], 0):
        with pytest.raises(InputError, match="prompt must be a str"):
            encoder.encode(["dog"], lang="en", prompt=prompt)


def stored_by_joblib(encoder, folder):
    joblib.dump(encoder, folder / "encoder.joblib")
    return joblib.load(folder / "encoder.joblib")


COPIES = {
    "pickle": lambda encoder, folder: pickle.loads(pickle.dumps(encoder)),
    "deepcopy": lambda encoder, folder: copy.deepcopy(encoder),
    "joblib": stored_by_joblib,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
def test_a_copy_of_an_encoder_in_use_gives_the_same_bits(encoder, copied, tmp_path):
    if isinstance(encoder, TeacherEncoder):
        pytest.skip("has no model here to open again")
    rows = encoder.encode(TEXTS["en"], lang="en")  # what is kept for later must not be in the way
    encoder.coverage(TEXTS["de"], lang="de")
    back = copied(encoder, tmp_path)
    assert type(back) is type(encoder)
    assert back.fingerprint() == encoder.fingerprint()
    assert (back.name, back.languages) == (encoder.name, encoder.languages)
    assert getattr(back, "files", ()) == getattr(encoder, "files", ())
    assert_same(encoder, back.encode(TEXTS["en"], lang="en"), rows)


def test_out_is_filled_and_must_fit(encoder):
    out = np.full((6, encoder.dim), np.nan, dtype=np.float32)
    assert encoder.encode(TEXTS["en"], lang="en", out=out) is out
    assert_same(encoder, out, encoder.encode(TEXTS["en"], lang="en"))
    with pytest.raises(InputError, match="out"):
        encoder.encode(TEXTS["en"], lang="en", out=out[:3])


def test_coverage_counts_the_words_of_every_sentence(encoder):
    found = encoder.coverage(TEXTS["en"], lang="en")
    if not found.spaces:
        return  # it does not look words up
    assert found.tokens.tolist()[:4] == [6, 2, 1, 0]
    assert (found.known <= found.tokens).all()
    empty = ~encoder.encode(TEXTS["en"], lang="en").any(axis=1)
    np.testing.assert_array_equal(found.zero_rows, empty)


def test_a_fingerprint_is_twelve_digits_and_stays(encoder, tmp_path):
    assert len(encoder.fingerprint()) == 12
    int(encoder.fingerprint(), 16)
    assert encoder.fingerprint() == encoder.fingerprint()


def test_what_is_computed_is_named_alike_and_apart(tmp_path):
    prints = {name: make(tmp_path).fingerprint() for name, make in ENCODERS.items()}
    assert prints["aligned"] == prints["stored"]
    assert len(set(prints.values())) == len(prints) - 1


def test_fitting_the_z_norm_gives_another_encoder_and_leaves_this_one(encoder):
    if getattr(encoder, "recipe", None) is None:
        pytest.skip("has no z-norm")
    if encoder.recipe.znorm == "none":
        with pytest.raises(InputError, match="no z-norm"):
            encoder.fit_znorm(TEXTS["en"], lang="en")
        return
    before = encoder.encode(TEXTS["en"], lang="en")
    texts = ["the dog sees", "a cat", "an old house"]
    fitted = encoder.fit_znorm(texts, lang="en", keep_alignment=True)
    assert type(fitted) is type(encoder)
    assert fitted.dim == encoder.dim
    assert fitted.fingerprint() != encoder.fingerprint()
    assert np.abs(fitted.encode(TEXTS["en"], lang="en") - before).max() > 1e-3
    np.testing.assert_array_equal(encoder.encode(TEXTS["en"], lang="en"), before)
