"""The aligner on corpora small enough to read."""

import numpy as np
import pytest

from pmeans.errors import InputError
from pmeans.training import aligner
from pmeans.training.aligner import Sentences, WordAlignment, digamma, mutual


def sentences(lists):
    """Lay lists of word ids one after the other."""
    ids = np.array([word for words in lists for word in words], dtype=np.int32)
    return Sentences(ids, np.cumsum([0, *map(len, lists)]))


def align(source, target, iterations=5):
    """Learn how likely each source word is to be expressed by each target word."""
    alignment = WordAlignment(source, target)
    alignment.run(iterations)
    return alignment


def lexicon(first, second):
    """Align both ways, and count the word pairs that both directions agree on."""
    return mutual(first, second, align(first, second).best(), align(second, first).best())


def entries(alignment):
    """Return the source and the target word of each probability."""
    return np.divmod(alignment._entries, alignment._width)


THE, HOUSE, BOOK, A = 1, 2, 3, 4
DAS, HAUS, BUCH, EIN = 1, 2, 3, 4
ENGLISH = sentences([[THE, HOUSE], [THE, BOOK], [A, BOOK]])
GERMAN = sentences([[DAS, HAUS], [DAS, BUCH], [EIN, BUCH]])


def probability(alignment, source, target):
    sources, targets = entries(alignment)
    return alignment.probabilities[(sources == source) & (targets == target)].sum()


def test_em_finds_the_translations_that_every_sentence_agrees_with():
    first, second, _ = lexicon(ENGLISH, GERMAN)
    pairs = set(zip(first.tolist(), second.tolist(), strict=True))
    assert pairs == {(THE, DAS), (HOUSE, HAUS), (BOOK, BUCH), (A, EIN)}


def test_a_lexicon_counts_links():
    first, _, counts = lexicon(ENGLISH, GERMAN)
    assert dict(zip(first.tolist(), counts.tolist(), strict=True)) == {
        THE: 2, HOUSE: 1, BOOK: 2, A: 1,
    }  # fmt: skip


def test_one_step_of_em_is_what_one_counts_by_hand():
    # One pair, one word a side: NULL and the word share it by their priors.
    alignment = WordAlignment(sentences([[1]]), sentences([[1]]))
    alignment.run(1)
    null = np.exp(digamma(0.08 + 0.01) - digamma(0.08 + 0.02))
    word = np.exp(digamma(0.92 + 0.01) - digamma(0.92 + 0.02))
    np.testing.assert_allclose(alignment.probabilities, [null, word], rtol=1e-12)


def test_more_steps_make_the_right_translation_likelier():
    few = align(ENGLISH, GERMAN, iterations=1)
    many = align(ENGLISH, GERMAN, iterations=5)
    assert probability(many, HOUSE, HAUS) > probability(few, HOUSE, HAUS)
    assert probability(many, HOUSE, DAS) < probability(few, HOUSE, DAS)


def test_probabilities_of_a_source_word_never_exceed_1():
    alignment = align(ENGLISH, GERMAN)
    assert np.bincount(entries(alignment)[0], alignment.probabilities).max() <= 1


def test_words_that_occur_only_together_are_linked_along_the_diagonal():
    side = sentences([[1, 2, 3]])
    alignment = WordAlignment(side, side)
    alignment.run(1)
    assert alignment.best().tolist() == [0, 1, 2]


def test_the_earlier_of_two_equal_choices_wins():
    # The third of four words lies midway between the two places of the source.
    alignment = WordAlignment(sentences([[1, 1]]), sentences([[1, 2, 3, 4]]))
    assert alignment.best()[2] == 0


def test_a_choice_that_is_not_returned_is_no_link():
    first, second = sentences([[7]]), sentences([[8, 9]])
    found = mutual(first, second, np.array([0, 0]), np.array([1]))
    assert [each.tolist() for each in found] == [[7], [9], [1]]


def test_blocks_change_nothing(monkeypatch):
    whole = align(ENGLISH, GERMAN)
    monkeypatch.setattr(aligner, "_LINKS", 6)  # one pair of sentences each
    np.testing.assert_allclose(align(ENGLISH, GERMAN).probabilities, whole.probabilities)


def test_going_on_from_kept_probabilities_ends_with_the_same_bytes():
    kept = {}
    whole = WordAlignment(ENGLISH, GERMAN)
    whole.run(5, kept.__setitem__)
    resumed = WordAlignment(ENGLISH, GERMAN)
    resumed.probabilities = kept[2]
    resumed.run(5, finished=2)
    assert resumed.probabilities.tobytes() == whole.probabilities.tobytes()


def test_a_pair_with_an_empty_or_an_endless_side_is_passed_over():
    endless = [1] * (aligner.LONGEST + 1)
    first = sentences([[], [1], endless, [THE, HOUSE]])
    second = sentences([[1], [], [1], [DAS, HAUS]])
    assert WordAlignment(first, second).best()[:2].tolist() == [-1, -1]
    assert lexicon(first, second)[2].sum() == 2


def test_a_corpus_without_pairs_is_refused():
    with pytest.raises(InputError, match="nothing to align"):
        align(sentences([[]]), sentences([[1]]))


def test_sides_of_different_length_are_refused():
    with pytest.raises(InputError, match="3 sentences cannot be aligned with 1"):
        align(ENGLISH, sentences([[1]]))


def test_digamma_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(0.01, 20, 500), [1e3, 1e6]])
    np.testing.assert_allclose(digamma(x), special.digamma(x), rtol=1e-9, atol=1e-9)
