"""The tokeniser and the look-up agree with Python's own strings and dictionaries."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import Splitting, index, split
from pmeans.kernels.splitting import plain

# Characters that cutting and lower-casing trip over, and ordinary ones in between.
TRICKY = "Σςσİıßẞäöé'’-‐.,0١_ \t\n\x1c\x85\xa0\u2028\u3000\u200d\ufe0f\u0301😀𝔘ǅABCabczZ"
TRICKY += "\u0323\u0302\u212b"
# Characters that tokens leave out or spell by others, in strings of every width.
TRICKY += "\xad\xb5\u200b\u200c\ufeff\U000e0067ﬁﬃĳŉſẛϹϲⅧＡｚ５＇．－！𝐁𝟗ㅋև℃²"
# Whole endings and numbers as well, which characters alone would seldom make up.
WHOLE = ["n't", "’s", "-lhes", "‐o", "d'", "1,2", ".3", "4’5", "６.7'8"]
TEXT = st.lists(
    st.sampled_from(TRICKY) | st.characters() | st.sampled_from(WHOLE),
    max_size=40,
).map("".join)


def tokens_of(sentence: str, splitting: Splitting, case: str) -> list[str]:
    """Ask the core: with an empty table every token is unknown, numbered and returned."""
    empty = index.word_table([])
    (batch,) = kernels.lookup([sentence], [(empty, case, 0)], splitting)
    return [batch.unknown_words[i] for i in batch.ids]


@pytest.mark.parametrize("splitting", list(Splitting))
@settings(max_examples=300)
@given(sentence=TEXT)
def test_the_core_cuts_text_as_the_specification_does(splitting, sentence):
    assert tokens_of(sentence, splitting, "cased") == split(sentence, splitting)


@pytest.mark.parametrize("splitting", list(Splitting))
@settings(max_examples=300)
@given(sentence=TEXT)
def test_lower_casing_is_pythons(splitting, sentence):
    expected = [token.lower() for token in split(sentence, splitting)]
    assert tokens_of(sentence, splitting, "lower") == expected


def test_lower_casing_is_pythons_for_every_character():
    characters = [c for c in map(chr, range(sys.maxunicode + 1)) if not c.isspace()]
    sentence = " ".join(f"x{c}Σ{c}" for c in characters)
    assert tokens_of(sentence, Splitting.WHITESPACE, "lower") == sentence.lower().split()


def test_white_space_is_pythons_for_every_character():
    text = "".join(f"a{chr(c)}" for c in range(sys.maxunicode + 1))
    assert tokens_of(text, Splitting.WHITESPACE, "cased") == text.split()


def test_letters_and_marks_are_those_of_the_unicode_database():
    text = "".join(f"\n{chr(c)}a" for c in range(sys.maxunicode + 1))
    assert tokens_of(text, Splitting.WORDS, "cased") == split(text, Splitting.WORDS)
    assert unicodedata.unidata_version  # the one that both were built with


def test_plain_forms_are_those_of_the_unicode_database():
    # Behind an emoji, a few invisible characters stay.
    text = "".join(f" {chr(c)} a{chr(c)}1 ☝{chr(c)}" for c in range(sys.maxunicode + 1))
    assert tokens_of(text, Splitting.WORDS, "cased") == split(text, Splitting.WORDS)


@settings(max_examples=300)
@given(text=TEXT)
def test_plain_text_is_plain_already_and_has_the_same_tokens(text):
    assert plain(plain(text)) == plain(text)
    assert split(plain(text), Splitting.WORDS) == split(text, Splitting.WORDS)


@settings(max_examples=300)
@given(text=st.text("aB' -.3é☝\u0301", max_size=12), places=st.sets(st.integers(0, 12)))
def test_soft_hyphens_anywhere_change_no_token(text, places):
    hyphenated = "".join("\xad" * (i in places) + c for i, c in enumerate(text + " "))
    assert split(hyphenated, Splitting.WORDS) == split(text, Splitting.WORDS)


def test_every_character_is_composed_of_its_letter_and_marks():
    composed = [c for c in map(chr, range(sys.maxunicode + 1)) if _has_marks(c)]
    apart = " ".join(unicodedata.normalize("NFD", f"a{c}b") for c in composed)
    assert len(composed) > 800
    assert split(apart, Splitting.WORDS) == [f"a{plain(c)}b" for c in composed]
    assert tokens_of(apart, Splitting.WORDS, "cased") == split(apart, Splitting.WORDS)


def _has_marks(c: str) -> bool:
    """Whether a letter is composed, in Unicode's preferred spelling, of a letter and marks."""
    apart = unicodedata.normalize("NFD", c)
    marks = all(unicodedata.category(mark)[0] == "M" for mark in apart[1:])
    same = unicodedata.normalize("NFC", c) == c
    return len(apart) > 1 and marks and same and unicodedata.category(c)[0] == "L"


@settings(max_examples=200)
@given(
    words=st.lists(st.text(st.characters(codec="utf-8"), max_size=20), unique=True, max_size=60),
    others=st.lists(st.text(max_size=20), max_size=20),
)
def test_a_table_finds_its_words_and_no_others(words, others):
    table = index.word_table(words)
    rows = {word: i for i, word in enumerate(words)}
    both = [*words, *others]
    assert index.find(table, both).tolist() == [rows.get(word, -1) for word in both]
    # The core only sees what white space separates.
    asked = [word for word in [*words, *others] if word.split() == [word]]
    (batch,) = kernels.lookup(asked, [(table, "cased", -1)], Splitting.WHITESPACE)
    expected = [rows[word] for word in asked if word in rows]
    assert batch.ids.tolist() == expected
    assert batch.unknown.tolist() == [int(word not in rows) for word in asked]


@settings(max_examples=100)
@given(words=st.lists(st.binary(max_size=12), max_size=60))
def test_repeated_words_are_marked_from_the_second_on(words):
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    marks = index.repeated(np.frombuffer(b"".join(words), dtype=np.uint8), offsets)
    assert marks.tolist() == [word in words[:i] for i, word in enumerate(words)]


@settings(max_examples=50)
@given(
    sentences=st.lists(TEXT, max_size=600),
    n_threads=st.integers(1, 4),
    case=st.sampled_from(["lower", "cased", "cased-then-lower"]),
)
def test_threads_and_company_change_nothing(sentences, n_threads, case):
    tables = [(index.word_table(["a", "ä", "σς", "ABC"]), case, 4)]
    (together,) = kernels.lookup(sentences, tables, Splitting.WORDS, n_threads)
    alone = [kernels.lookup([s], tables, Splitting.WORDS, 1)[0] for s in sentences]
    assert together.known.tolist() == [int(one.known[0]) for one in alone]
    names = ("a", "ä", "σς", "ABC")

    def spelled(batch):
        return [(names + batch.unknown_words)[i] for i in batch.ids]

    assert spelled(together) == [word for one in alone for word in spelled(one)]


@settings(max_examples=100)
@given(damage=st.data())
def test_a_damaged_table_misses_words_but_never_leaves_its_arrays(damage):
    words = ["katze", "hund", "ein langes wort mit leerzeichen", "wort", "donaudampfschiff"]
    table = index.word_table(words)
    arrays = [np.array(a) for a in (table.words, table.offsets, table.slots)]
    for _ in range(damage.draw(st.integers(1, 8))):
        flat = damage.draw(st.sampled_from(arrays)).reshape(-1).view(np.uint8)
        flat[damage.draw(st.integers(0, len(flat) - 1))] = damage.draw(st.integers(0, 255))
    hurt = type(table)(*arrays)
    sentence = "katze hund wort donaudampfschiff maus"
    (batch,) = kernels.lookup([sentence], [(hurt, "cased", -1)], Splitting.WHITESPACE)
    assert ((batch.ids >= 0) & (batch.ids < len(words))).all()
