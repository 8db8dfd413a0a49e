"""SIF and uSIF against derivations that know nothing of kernels or folded weights."""

import numpy as np
import pytest

from pmeans import WordSpace, models
from pmeans.errors import ConfigError, FormatError, InputError, NotFittedError
from pmeans.models.baselines import plain_mean
from pmeans.spaces.space import Subwords
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.sif.frequencies import Counted, row_frequencies

WORDS = {
    "en": ["the", "a", "dog", "cat", "runs", "sleeps", "old", "soup"],
    "de": ["der", "ein", "hund", "katze", "rennt", "schläft", "alt", "suppe"],
}
P = [0.5, 0.2, 0.01, 0.008, 0.004, 0.002, 0.001, 0.0] * 2
TRAIN = ["the dog runs", "a cat sleeps", "the old soup", "a dog", "the the cat", "soup xyzzy"]
TEST = ["the old dog sleeps", "soup", "a a a", "unheard of", "", "cat"]


@pytest.fixture
def space():
    vectors = np.random.default_rng(0).standard_normal((16, 6)).astype(np.float32)
    return WordSpace.from_words("toy", WORDS, vectors)


@pytest.fixture
def mean(space):
    return plain_mean(space, "toy", "whitespace")


def _known(sentence, lang="en"):
    return [WORDS[lang].index(word) for word in sentence.split() if word in WORDS[lang]]


def _derived_sif(vectors, train, test, a=1e-3):
    """The paper's algorithm 1, word for word."""

    def weighted(sentence):
        ids = _known(sentence)
        return sum(a / (a + P[i]) * vectors[i] for i in ids) / max(len(ids), 1) + np.zeros(6)

    u = np.linalg.svd(np.array([weighted(s) for s in train]))[2][0]
    return np.array([(v := weighted(s)) - u * (u @ v) for s in test])


def _derived_usif(vectors, train, test):
    """Section 3 of the paper, with its names."""
    n, size = np.mean([len(s.split()) for s in train]), len(WORDS["en"])
    alpha = sum(p > 1 - (1 - 1 / size) ** n for p in P[:size]) / size
    a = (1 - alpha) / (alpha * 0.5 * size)

    def weighted(sentence):
        ids = _known(sentence)
        if not ids:
            return np.zeros(6)
        scaled = vectors[ids] / np.linalg.norm(vectors[ids], axis=0)
        weights = np.array([a / (a / 2 + (P[i] or 0.001)) for i in ids])
        return (weights[:, None] * scaled).mean(axis=0)

    _, s, vt = np.linalg.svd(np.array([weighted(each) for each in train]))
    rows = np.array([weighted(each) for each in test])
    shares = s[:5] ** 2 / (s[:5] ** 2).sum()
    for share, u in zip(shares, vt[:5], strict=True):
        rows = rows - share * np.outer(rows @ u, u)
    return rows


def test_sif_is_the_papers_algorithm(space, mean):
    got = Sif("sif", mean, P).fit(TRAIN, lang="en").encode(TEST, lang="en")
    expected = _derived_sif(space.matrix[:8].astype(np.float64), TRAIN, TEST)
    # atol: float32 sums of numbers around 1.
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_usif_is_the_papers_algorithm(space, mean):
    got = Usif("usif", mean, P).fit(TRAIN, lang="en").encode(TEST, lang="en")
    expected = _derived_usif(space.matrix[:8].astype(np.float64), TRAIN, TEST)
    np.testing.assert_allclose(got, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cls", [Sif, Usif])
def test_what_is_taken_out_of_german_comes_from_english_text(space, mean, cls):
    fitted = cls("x", mean, P).fit(TRAIN, lang="en")
    rows = fitted.encode(["der hund", "suppe"], lang="de")
    assert np.abs(rows).max() > 0.1
    if cls is Sif:
        np.testing.assert_allclose(rows @ fitted.removed[0], 0, atol=1e-5)
    other = cls("x", mean, P).fit(["der hund rennt", "ein alt katze schläft"], lang="de")
    assert np.abs(other.encode(["der hund"], lang="de") - rows[:1]).max() > 0.01


@pytest.mark.parametrize("cls", [Sif, Usif])
def test_a_stored_one_gives_the_same_bits(mean, cls, tmp_path):
    fitted = cls("x", mean, P).fit(TRAIN, lang="en")
    models.save(fitted, tmp_path / "x")
    back = models.load(tmp_path / "x")
    assert back.fingerprint() == fitted.fingerprint()
    np.testing.assert_array_equal(back.encode(TEST, lang="en"), fitted.encode(TEST, lang="en"))
    (tmp_path / "x" / "encoder" / "recipe.toml").write_text('[[parts]]\nspace = "toy"\n')
    with pytest.raises(FormatError, match="plain mean of one word space"):
        models.load(tmp_path / "x")


def test_words_of_quantised_spaces_and_composed_words_are_projected_as_well(space):
    from pmeans.spaces.edit import quantise

    ngrams = np.random.default_rng(1).standard_normal((40, 6)).astype(np.float32)
    full = WordSpace.from_words("toy", WORDS, space.matrix, subwords=Subwords(ngrams, 3, 4))
    fitted = Sif("x", plain_mean(quantise(full, "int8"), "toy", "words"), P).fit(TRAIN, lang="en")
    rows = fitted.encode(["the dogs", "catwalk"], lang="en")
    assert np.abs(rows).max(axis=1).min() > 0.01
    np.testing.assert_allclose(rows @ fitted.removed[0], 0, atol=1e-5)


@pytest.mark.parametrize("cls", [Sif, Usif])
def test_what_is_not_fitted_does_not_encode(mean, cls):
    with pytest.raises(NotFittedError, match=r"encoder.fit\(sentences"):
        cls("x", mean, P).encode(TEST, lang="en")
    with pytest.raises(InputError, match="needs sentences with known words"):
        cls("x", mean, P).fit(["xyzzy", ""], lang="en")


def test_nonsense_is_refused(space, mean):
    with pytest.raises(InputError, match="16 words"):
        Sif("x", mean, P[:3])
    with pytest.raises(InputError, match="a must be above 0"):
        Sif("x", mean, P, a=0.0)
    with pytest.raises(InputError, match="plain mean of one word space"):
        Sif("x", models._single_space(space), P)
    with pytest.raises(InputError, match="common words and rare ones: of 8 words of 'en'"):
        Usif("x", mean, [0.0] * 16).fit(TRAIN, lang="en")


def test_frequencies_come_from_text_and_from_lists(space, tmp_path):
    (tmp_path / "en.txt").write_text("The dog runs.\nthe cat, the xyzzy\n")
    (tmp_path / "de.tsv").write_text("der\t30\nhund 10\n")
    given = [Counted("en", str(tmp_path / "en.txt")), Counted("de", table=str(tmp_path / "de.tsv"))]
    found = row_frequencies(space, given)
    assert found[:8].tolist() == pytest.approx([3 / 6, 0, 1 / 6, 1 / 6, 1 / 6, 0, 0, 0])
    assert found[8:11].tolist() == [0.75, 0, 0.25]


def test_wordfreq_serves_where_nothing_is_given(space):
    found = row_frequencies(space)
    assert found[0] > found[2] > found[7] > 0  # the, dog, soup
    assert found[8] > found[10] > 0  # der, hund


def test_frequencies_that_are_wrong_are_refused(space, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("der 30\nhund viele\n")
    with pytest.raises(FormatError, match=r"bad.tsv, line 2: expected a word and its count"):
        row_frequencies(space, [Counted("de", table=str(bad))])
    for content in ("", "xyzzy 3\n", "der 0\n"):
        bad.write_text(content)
        with pytest.raises(InputError, match=r"of 'de': .*bad.tsv has no words that 'toy' knows"):
            row_frequencies(space, [Counted("de", table=str(bad))])
    with pytest.raises(InputError, match="'fr', but 'toy' has en, de"):
        row_frequencies(space, [Counted("fr", table=str(bad))])
    with pytest.raises(ConfigError, match="either a text or a table"):
        Counted("de")
    other = WordSpace.from_words("x", {"mul": ["a"]}, [[1.0]])
    with pytest.raises(InputError, match="wordfreq has no list of 'mul'"):
        row_frequencies(other)
