"""Words and n-grams taught together: what they learn, what they start from, what is refused."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import ConfigError, InputError
from pmeans.kernels.folding import folded, skeleton
from pmeans.training.bag_means import retrieved
from pmeans.training.composed_words import folded_buckets
from pmeans.training.corpus import PairFile, TextFile
from pmeans.training.start_vectors import DictionaryFile
from pmeans.training.taught import Taught
from pmeans.training.teacher import Teacher

pytest.importorskip("torch", reason="pip install 'pmeans[train]'")

NUMBERS = np.random.default_rng(5)
MEANINGS = NUMBERS.normal(size=(40, 8)).astype(np.float32)
SENTENCES = NUMBERS.integers(0, 38, size=(600, 4))  # the last two words are in none


@cache
def spelled(lang):
    """Words of seven letters that have little in common."""
    rng = np.random.default_rng(sorted(lang.encode()))
    return ["".join(map(chr, rng.integers(97, 123, size=7))) for _ in MEANINGS]


@cache
def written(lang):
    return [" ".join(spelled(lang)[i] for i in ids) for ids in SENTENCES]


@pytest.fixture
def trainer(tmp_path):
    """A teacher that adds meanings up, and pairs with two languages whose words have the same."""
    for lang in ("de", "ru"):
        pairs = zip(written("en"), written(lang), strict=True)
        (tmp_path / f"{lang}.tsv").write_text("".join("\t".join(each) + "\n" for each in pairs))
    said = [MEANINGS[ids].sum(axis=0) for ids in SENTENCES]
    np.save(tmp_path / "said.npy", np.concatenate([said, MEANINGS]))
    (tmp_path / "said.words.txt").write_text("\n".join([*written("en"), *spelled("en")]) + "\n")
    pairs = tuple(PairFile(str(tmp_path / f"{lang}.tsv"), "en", lang) for lang in ("de", "ru"))
    teacher = Teacher(str(tmp_path / "said.npy"))
    return Taught("taught", teacher, pairs, dim=8, epochs=10, batch=64, buckets=3000)


def train(trainer):
    return trainer.train(progress=lambda share, text: None)


def translated(space, lang, n=38):
    """The share of words whose translation is the nearest word of the other language."""
    english, other = (space.vectors(spelled(each)[:n], each)[0] for each in ("en", lang))
    return retrieved(english, other).mean()


def test_words_of_all_languages_come_to_mean_the_same(trainer):
    space = train(trainer)
    assert space.languages == ("en", "de", "ru")
    assert translated(space, "de") == translated(space, "ru") == 1
    assert "held out: cosine en 0." in space.source


def test_without_a_licence_the_terms_are_those_of_the_material(trainer):
    short = replace(trainer, epochs=1)
    assert train(short).licence == "terms of its material: said, de.tsv, ru.tsv"
    assert train(replace(short, licence="CC0")).licence == "CC0"


def test_the_most_frequent_words_have_a_vector_of_their_own_in_their_order(trainer):
    space = train(replace(trainer, epochs=1, words=5))
    counts = np.bincount(SENTENCES[:576].ravel())
    listed = [spelled("de").index(word) for word in space.words("de")]
    assert len(listed) == 5
    assert counts[listed].tolist() == sorted(counts, reverse=True)[:5]


def test_an_unknown_word_is_composed_as_it_was_trained(trainer):
    few = train(replace(trainer, words=20))
    every = [w for w in spelled("de")[:38] if few.row(w, "de") < 0]
    assert len(every) == 18
    composed, made = few.vectors(every, "de")
    assert made.all()
    english = few.vectors([spelled("en")[spelled("de").index(w)] for w in every], "en")[0]
    cosines = np.einsum("ij,ij->i", unit_rows(composed), unit_rows(english))
    assert cosines.mean() > 0.8  # they were in sentences, as their n-grams


def test_a_word_without_its_accents_is_known(trainer, tmp_path):
    with (tmp_path / "de.tsv").open("a") as file:
        file.writelines(
            f"{spelled('en')[0]} fruit\t{spelled('de')[0]} früchte\n" for _ in range(60)
        )
    space = train(replace(trainer, epochs=2))
    known, alias = space.vectors(["früchte", "fruechte"], "de")[0]
    np.testing.assert_array_equal(known, alias)


def test_phrases_that_mean_something_else_have_a_vector(trainer, tmp_path):
    """The first two words of the toy, side by side, mean what the third does."""
    one, two, three = spelled("de")[:3]
    pairs = [
        f"{spelled('en')[2]} {spelled('en')[i]}\t{one} {two} {spelled('de')[i]}\n"
        for i in range(5, 38)
    ]
    texts = [line.split("\t")[0] for line in pairs]
    with (tmp_path / "de.tsv").open("a") as file:
        file.writelines(pairs * 2)
    said = np.load(tmp_path / "said.npy")
    extra = [MEANINGS[2] + MEANINGS[i] for i in range(5, 38)]
    np.save(tmp_path / "said.npy", np.concatenate([said, extra]).astype(np.float32))
    with (tmp_path / "said.words.txt").open("a") as file:
        file.writelines(text + "\n" for text in texts)
    space = train(replace(trainer, phrases=5))
    phrase, meaning = space.vector(f"{one} {two}", "de"), space.vector(three, "de")
    assert phrase is not None
    assert np.dot(*unit_rows(np.stack([phrase, meaning]))) > 0.7
    assert space.joined([one, two, three], "de") == [f"{one} {two}", three]


def test_words_start_from_the_teacher_and_from_dictionaries(trainer, tmp_path):
    words = zip(spelled("en"), spelled("de"), strict=True)
    (tmp_path / "words.tsv").write_text("".join("\t".join(each) + "\n" for each in words))
    lexicon = DictionaryFile(str(tmp_path / "words.tsv"), "de")
    still = replace(trainer, rate=1e-9, dictionaries=(lexicon,))
    space = train(still)
    # The last two words are in no pair: the dictionary alone has them.
    assert translated(space, "de", 40) == 1
    assert np.abs(space.vectors(spelled("ru")[:38], "ru")[0]).max() < 1e-6


def test_text_of_the_pivot_alone_is_taught(trainer, tmp_path):
    """The last two words of the toy are in no pair, and here in sentences that mean the first."""
    texts = [f"{spelled('en')[38]} {spelled('en')[i]}" for i in range(38)]
    (tmp_path / "en.txt").write_text("\n".join(texts * 2) + "\n")
    said = np.load(tmp_path / "said.npy")
    extra = [MEANINGS[0] + MEANINGS[i] for i in range(38)]
    np.save(tmp_path / "said.npy", np.concatenate([said, extra]).astype(np.float32))
    with (tmp_path / "said.words.txt").open("a") as file:
        file.writelines(text + "\n" for text in texts)
    space = train(replace(trainer, texts=(TextFile(str(tmp_path / "en.txt")),)))
    learned, meaning = space.vector(spelled("en")[38], "en"), space.vector(spelled("de")[0], "de")
    assert np.dot(*unit_rows(np.stack([learned, meaning]))) > 0.7
    assert "en.txt" in space.licence


def test_the_same_bytes_twice(trainer):
    once, again = (train(replace(trainer, epochs=2)) for _ in range(2))
    assert once.digest() == again.digest()


def test_buckets_are_those_of_the_folded_word_and_of_its_skeleton():
    words = ["Łódź", "Чайковский", "a"]
    rows, borders = folded_buckets(words, 1000, 3, 6)
    n_grams = [sum(max(0, len(w) + 2 - n + 1) for n in range(3, 7)) for w in map(folded, words)]
    bones = [skeleton(word) for word in words]
    n_bones = [sum(max(0, len(w) + 3 - n) for n in range(4, 7)) if w else 0 for w in bones]
    assert bones == ["", "SKVSK", ""]
    assert np.diff(borders).tolist() == [a + b for a, b in zip(n_grams, n_bones, strict=True)]
    plain, _ = folded_buckets(["lodz"], 1000, 3, 6)
    np.testing.assert_array_equal(rows[: borders[1]], plain)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"pairs": ()}, "pairs names no file"),
        ({"pivot": "de"}, "must be the first one of every file"),
        ({"minn": 4, "maxn": 3}, "cannot have minn = 4 to maxn = 3"),
        ({"own_dropout": 1.0}, "own_dropout must be below 1"),
        ({"across": -1.0}, "across must be at least 0"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"buckets": 0}, "buckets must be at least 1"),
        ({"phrases": -1}, "phrases must be at least 0, not -1"),
        ({"texts": (TextFile("novel.txt", wrapped=True),)}, "novel.txt: a taught text has a"),
    ],
)
def test_settings_that_make_no_sense_are_refused(trainer, change, problem):
    with pytest.raises((ConfigError, InputError), match=problem):
        replace(trainer, **change)


def test_more_columns_than_the_teacher_has_are_refused(trainer):
    with pytest.raises(InputError, match="8 columns, and dim = 9"):
        train(replace(trainer, dim=9))


def test_pairs_the_wrong_way_round_are_refused(trainer, tmp_path):
    for lang in ("de", "ru"):
        pairs = zip(written(lang), written("en"), strict=True)
        (tmp_path / f"{lang}.tsv").write_text("".join("\t".join(each) + "\n" for each in pairs))
    words = zip(spelled("en"), spelled("de"), strict=True)
    (tmp_path / "words.tsv").write_text("".join("\t".join(each) + "\n" for each in words))
    lexicon = DictionaryFile(str(tmp_path / "words.tsv"), "de")
    with pytest.raises(InputError, match="must be the first column"):
        train(replace(trainer, dictionaries=(lexicon,)))
