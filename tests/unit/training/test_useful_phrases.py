"""Phrases of a taught space: which are chosen, and where they stand."""

import numpy as np
import pytest

from pmeans.training import phrases
from pmeans.training.bags import Side
from pmeans.training.corpus import PairFile
from pmeans.training.phrases import useful_phrases
from pmeans.training.taught import Taught
from pmeans.training.teacher import Teacher

RNG = np.random.default_rng(3)
MEANINGS = RNG.normal(size=(40, 8))
IDIOM = -MEANINGS[0] - MEANINGS[1]  # what the first two words mean together
SENTENCES = RNG.integers(0, 40, size=(1000, 5))
SENTENCES[::4, 1:3] = 0, 1


def meaning(ids) -> np.ndarray:
    """The sum of the words, but for the idiom."""
    total, i = np.zeros(8), 0
    while i < len(ids):
        both = list(ids[i : i + 2]) == [0, 1]
        total += IDIOM if both else MEANINGS[ids[i]]
        i += 2 if both else 1
    return total


def spelled(ids, lang="en") -> str:
    return " ".join(lang + chr(97 + i // 26) + chr(97 + i % 26) for i in ids)


@pytest.fixture
def trainer(tmp_path):
    pairs = "".join(f"{spelled(ids)}\t{spelled(ids, 'de')}\n" for ids in SENTENCES)
    (tmp_path / "de.tsv").write_text(pairs)
    said = {spelled(ids): meaning(ids) for ids in [*SENTENCES, *np.arange(40)[:, None], (0, 1)]}
    np.save(tmp_path / "said.npy", np.array(list(said.values()), dtype=np.float32))
    (tmp_path / "said.words.txt").write_text("\n".join(said) + "\n")
    teacher = Teacher(str(tmp_path / "said.npy"))
    pairs = (PairFile(str(tmp_path / "de.tsv"), "en", "de"),)
    return {
        "name": "t", "teacher": teacher, "pairs": pairs, "dim": 8, "epochs": 2, "batch": 64,
        "buckets": 3000,
    }  # fmt: skip


def train(settings, **changes):
    pytest.importorskip("torch", reason="pip install 'pmeans[train]'")
    return Taught(**settings, **changes).train(progress=lambda share, text: None)


def test_the_phrase_that_its_words_do_not_explain_is_chosen_in_every_language(trainer):
    space = train(trainer, phrases=1)
    assert [word for word in space.words("en") if " " in word] == ["enaa enab"]
    assert [word for word in space.words("de") if " " in word] == ["deaa deab"]


def test_phrases_follow_the_words_and_are_met_in_text(trainer):
    space = train(trainer, phrases=3)
    listed = list(space.words("de"))
    assert [" " in word for word in listed] == [False] * 40 + [True] * 3
    assert space.table("de").phrases is not None


def test_without_phrases_text_is_learned_word_by_word(trainer):
    space = train(trainer)
    assert len(space) == 80
    assert space.table("en").phrases is None


def chosen(texts, listed=(), most=10, bonus=3):
    """The phrases of some sentences, each of which has the same left over."""
    side = Side(texts, list(range(len(texts))))
    numbers = np.arange(len(texts))
    return useful_phrases(
        side, "en", listed, bonus, most, numbers, lambda some: np.ones((len(some), 1))
    )


def test_phrases_are_of_two_or_three_words_that_occur_often_enough():
    assert set(chosen(["not so bad"] * 5 + ["not here"] * 4)) == {
        "not so", "so bad", "not so bad",
    }  # fmt: skip


def test_what_occurs_most_is_worth_most_where_as_much_is_left():
    assert chosen(["not bad"] * 5 + ["not good"] * 6, most=1) == ["not good"]


def test_phrases_are_within_a_sentence_and_have_no_signs_or_numbers_in_them():
    texts = ["one, two", "7 three", "four"] * 5
    assert chosen(texts) == []


def test_an_entry_of_a_dictionary_may_be_rarer():
    texts = ["in spite of it", "in spite of that"]
    assert chosen(texts) == []
    assert chosen(texts, ["in spite of", "spite of", "nowhere at all"]) == ["spite of"]
    # Three words are found by way of the first two.
    assert set(chosen(texts, ["in spite", "in spite of"])) == {"in spite", "in spite of"}


def test_only_the_most_frequent_phrases_are_looked_at(monkeypatch):
    monkeypatch.setattr(phrases, "TRIED", 1)
    assert chosen(["so bad"] * 5 + ["not good"] * 6, most=1) == ["not good"]


def test_blocks_of_sentences_add_up(monkeypatch):
    texts = ["so bad"] * 5 + ["not good"] * 6
    whole = chosen(texts)
    monkeypatch.setattr(phrases, "_BLOCK", 2)
    assert chosen(texts) == whole
