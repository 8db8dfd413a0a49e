"""Distillation: its gradient, what it learns, what words start from, what it refuses."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError
from pmeans.output import unit_rows
from pmeans.training.bag_means import averaging, gradients, step
from pmeans.training.bags import BagReader
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile
from pmeans.training.distil import Distil
from pmeans.training.lessons import DictionaryFile, text_sentences
from pmeans.training.tanh_map import retrieved
from pmeans.training.teacher import Teacher

NUMBERS = np.random.default_rng(5)
MEANINGS = NUMBERS.normal(size=(40, 8)).astype(np.float32)
SENTENCES = NUMBERS.integers(0, 38, size=(600, 4))  # the last two words are in none


@cache
def spelled(lang):
    return [lang + chr(97 + i // 26) + chr(97 + i % 26) for i in range(len(MEANINGS))]


@cache
def written(lang):
    return [" ".join(spelled(lang)[i] for i in ids) for ids in SENTENCES]


def write_table(folder, texts, vectors):
    np.save(folder / "said.npy", np.asarray(vectors, dtype=np.float32))
    (folder / "said.words.txt").write_text("\n".join(texts) + "\n")
    return Teacher(str(folder / "said.npy"))


@pytest.fixture
def trainer(tmp_path):
    """A teacher that adds meanings up, and pairs with a language whose words have the same."""
    for lang in ("de", "fr"):
        pairs = zip(written("en"), written(lang), strict=True)
        (tmp_path / f"{lang}.tsv").write_text("".join("\t".join(each) + "\n" for each in pairs))
    said = [MEANINGS[ids].sum(axis=0) for ids in SENTENCES]
    teacher = write_table(
        tmp_path, [*written("en"), *spelled("en")], np.concatenate([said, MEANINGS])
    )
    pairs = tuple(PairFile(str(tmp_path / f"{lang}.tsv"), "en", lang) for lang in ("de", "fr"))
    return Distil("taught", teacher, pairs, dim=8, epochs=5, batch=32)


def silent(share, text):
    """No progress."""


def train(trainer):
    return trainer.train(progress=silent)


def translated(space, lang, n=38):
    """The share of words whose translation is the nearest word of the other language."""
    english, other = (space.vectors(spelled(each)[:n], each)[0] for each in ("en", lang))
    return retrieved(english, other).mean()


def cosine(space):
    """The mean cosine of a word and its German translation."""
    english, german = (space.vectors(spelled(each)[:38], each)[0] for each in ("en", "de"))
    return np.einsum("ij,ij->i", unit_rows(english), unit_rows(german)).mean()


def test_the_gradient_is_the_slope_of_the_loss():
    rng = np.random.default_rng(1)
    means, targets = rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    _, d_means = gradients(means, targets, 0.3)
    for at in np.ndindex(means.shape):
        moved = means.copy()
        moved[at] += 1e-5
        above = gradients(moved, targets, 0.3)[0]
        moved[at] -= 2e-5
        below = gradients(moved, targets, 0.3)[0]
        # Central differences of 1e-5 are good to about 1e-8.
        assert d_means[at] == pytest.approx((above - below) / 2e-5, abs=1e-7)


def test_means_that_point_to_their_targets_have_no_loss_without_contrast():
    loss, d_means = gradients(3 * np.eye(4), np.eye(4), 0.0)
    assert loss == pytest.approx(0)
    np.testing.assert_allclose(d_means, 0, atol=1e-12)


def test_words_are_averaged_by_sentence_and_a_sentence_without_any_is_zero():
    rows, averages = averaging(np.array([7, 2, 2, 7]), np.array([0, 0, 0, 2]), 3)
    assert rows.tolist() == [2, 7]
    # float32 thirds
    np.testing.assert_allclose(averages.toarray(), [[2 / 3, 1 / 3], [0, 0], [0, 1]], rtol=1e-6)


def test_a_first_step_is_as_long_as_the_rate_and_the_next_ones_are_shorter():
    vectors, squares = np.zeros((3, 2), np.float32), np.zeros(3, np.float32)
    gradient = np.array([[3, 4]], dtype=np.float32)
    step(vectors, squares, np.array([1]), gradient, 0.5)
    np.testing.assert_allclose(vectors, [[0, 0], [-0.3, -0.4], [0, 0]], rtol=1e-6)
    step(vectors, squares, np.array([1]), gradient, 0.5)
    moved = np.linalg.norm(vectors[1]) - 0.5
    assert moved == pytest.approx(0.5 / 2**0.5, rel=1e-6)


def test_words_of_all_languages_come_to_mean_the_same(trainer):
    space = train(trainer)
    assert space.languages == ("en", "de", "fr")
    assert translated(space, "de") == translated(space, "fr") == 1


def test_training_brings_words_nearer_than_they_start(trainer):
    start, trained = train(replace(trainer, rate=1e-9)), train(trainer)
    assert cosine(start) + 0.01 < cosine(trained)


def test_the_source_tells_how_held_out_sentences_fare(trainer):
    source = train(trainer).source
    assert source.startswith("taught by said on 1,728 sentences; held out: cosine en 0.9")
    assert source.endswith("fr finds en among 12: 100.0 %")


def test_without_a_licence_the_terms_are_those_of_the_material(trainer):
    assert train(trainer).licence == "terms of its material: said, de.tsv, fr.tsv"
    assert train(replace(trainer, licence="CC0")).licence == "CC0"


def test_the_most_frequent_words_are_kept_in_their_order(trainer):
    space = train(replace(trainer, words=5))
    counts = np.bincount(SENTENCES[:576].ravel())
    kept = [spelled("de").index(word) for word in space.words("de")]
    assert len(kept) == 5
    assert counts[kept].tolist() == sorted(counts, reverse=True)[:5]


def test_a_dictionary_word_that_no_pair_has_starts_and_stays_at_its_translations(trainer, tmp_path):
    (tmp_path / "lexicon.tsv").write_text("enbm\tDebm\nenbn\tzwei Wörter\nenba\tdebm\n")
    lexicon = DictionaryFile(str(tmp_path / "lexicon.tsv"), "de")
    space = train(replace(trainer, dictionaries=(lexicon,)))
    assert space.row("debm", "de") >= 0
    assert space.row("zwei", "de") == space.row("wörter", "de") == -1
    vectors = space.vectors(["enbm", "enba"], "en")[0]
    cosine = np.corrcoef(space.vector("debm", "de"), vectors[0])[0, 1]
    assert cosine > 0.5
    # A word that no sentence has is as long as can be, and its vector is its start.
    assert np.linalg.norm(space.vector("debm", "de")) == pytest.approx(1, rel=1e-6)


def test_an_entry_of_several_words_is_what_the_teacher_says_of_them(trainer, tmp_path):
    health, insurance = MEANINGS[38], MEANINGS[39]
    texts = [*written("en"), *spelled("en"), "health insurance"]
    said = [MEANINGS[ids].sum(axis=0) for ids in SENTENCES]
    vectors = np.concatenate([said, MEANINGS, [health + insurance]])
    (tmp_path / "lexicon.tsv").write_text(
        "health insurance\tkrankenversicherung\nenbm\tkrank\nenbn\tversichert\n"
    )
    lexicon = DictionaryFile(str(tmp_path / "lexicon.tsv"), "de")
    teacher = write_table(tmp_path, texts, vectors)
    space = train(replace(trainer, teacher=teacher, dictionaries=(lexicon,)))
    whole, *parts = space.vectors(["krankenversicherung", "krank", "versichert"], "de")[0]
    # The mean of the words is taken away once from the whole, and once from each part.
    assert np.corrcoef(whole, np.sum(parts, axis=0))[0, 1] > 0.9


def test_a_word_that_neither_pairs_nor_teacher_know_has_no_vector(trainer, tmp_path):
    (tmp_path / "lexicon.tsv").write_text("nobody\tniemand\nenaa\tdeaa\n")
    lexicon = DictionaryFile(str(tmp_path / "lexicon.tsv"), "de")
    space = train(replace(trainer, dictionaries=(lexicon,)))
    assert space.row("niemand", "de") == space.row("nobody", "en") == -1
    assert space.row("deaa", "de") >= 0


def test_running_text_of_the_pivot_is_learned_from(trainer, tmp_path):
    (tmp_path / "en.txt").write_text("enaa enbm.\n" * 3)
    said = [MEANINGS[ids].sum(axis=0) for ids in SENTENCES]
    texts = [*written("en"), "enaa enbm."]
    vectors = np.concatenate([said, [MEANINGS[0] + MEANINGS[38]]])
    teacher = write_table(tmp_path, texts, vectors)
    text = LanguageText(str(tmp_path / "en.txt"), lang="en")
    assert train(replace(trainer, teacher=teacher)).row("enbm", "en") == -1
    assert train(replace(trainer, teacher=teacher, texts=(text,))).row("enbm", "en") >= 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_running_text_is_cut_into_sentences(wrapped, tmp_path):
    end = "\n" if wrapped else " "
    (tmp_path / "t.txt").write_text(f"“Who{end}are you?” he said. I{end}am!\n\nA second one\n")
    text = LanguageText(str(tmp_path / "t.txt"), lang="en", wrapped=wrapped)
    kept = [sentence for sentence in text_sentences(text) if sentence]
    assert kept == ["“Who are you?", "he said.", "I am!", "A second one"]


def test_a_sentence_of_the_pivot_counts_once_whatever_its_translations():
    reader = BagReader("en")
    assert reader.add("a dog", "de", "ein hund")
    assert reader.add("a dog", "fr", "un chien")
    assert not reader.add("a cat", "fr", "")
    vocabulary, bags = reader.bags(reader.words({}, 0, 10))
    assert vocabulary.words == {"en": ["a", "dog"], "de": ["ein", "hund"], "fr": ["un", "chien"]}
    assert (bags.targets.tolist(), np.diff(bags.offsets).tolist()) == ([0, 0, 0], [2, 2, 2])


def test_pairs_whose_first_language_is_not_the_teachers_are_refused(trainer):
    with pytest.raises(ConfigError, match="language is 'de', which must be the first one"):
        replace(trainer, pivot="de")


def test_pairs_in_the_wrong_order_are_seen_by_a_dictionary(trainer, tmp_path):
    (tmp_path / "lexicon.tsv").write_text("enaa\tdeaa\nenab\tdeab\n")
    lexicon = DictionaryFile(str(tmp_path / "lexicon.tsv"), "de")
    lines = [line.split("\t") for line in (tmp_path / "de.tsv").read_text().splitlines()]
    (tmp_path / "de.tsv").write_text("".join(f"{b}\t{a}\n" for a, b in lines))
    with pytest.raises(InputError, match=r"de\.tsv: the second sentences have more words of 'en'"):
        train(replace(trainer, dictionaries=(lexicon,)))


def test_a_table_without_the_sentences_of_the_pairs_is_refused(trainer, tmp_path):
    teacher = write_table(tmp_path, spelled("en"), MEANINGS)
    with pytest.raises(InputError, match=r"said has vectors of 0 of the sentences \(en\)"):
        train(replace(trainer, teacher=teacher))


def test_a_teacher_of_fewer_columns_than_wanted_is_refused(trainer):
    with pytest.raises(InputError, match="said has vectors of 8 columns, and dim = 9"):
        train(replace(trainer, dim=9))


def test_a_text_without_words_is_refused(trainer, tmp_path):
    (tmp_path / "de.tsv").write_text(" \t\n" * 60)
    with pytest.raises(InputError, match=r"de\.tsv: no pair has words on both sides"):
        train(trainer)


def test_a_dictionary_of_a_language_without_pairs_is_refused(trainer):
    with pytest.raises(ConfigError, match=r"es\.tsv is a dictionary of 'es', of which there"):
        replace(trainer, dictionaries=(DictionaryFile("es.tsv", "es"),))


def test_text_of_another_language_than_the_teachers_is_refused(trainer):
    with pytest.raises(ConfigError, match=r"de\.txt is text in 'de', and the teacher's language"):
        replace(trainer, texts=(LanguageText("de.txt", lang="de"),))


@pytest.mark.parametrize(
    "bad",
    [
        {"dim": 0}, {"words": 0}, {"epochs": 0}, {"batch": 1}, {"rate": 0.0}, {"dropout": 1.0},
        {"contrast": -1.0}, {"seed": -1}, {"pairs": ()},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused(bad, trainer):
    with pytest.raises((ConfigError, InputError), match=next(iter(bad))):
        replace(trainer, **bad)
