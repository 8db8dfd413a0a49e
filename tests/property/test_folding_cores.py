"""The native core folds words as the specification does, and the specification as Unicode says."""

import re
import sys
import unicodedata

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import folding, numpy_core
from pmeans.kernels.folding import aliases

ROWS = np.random.default_rng(0).normal(size=(997, 3)).astype(np.float32)
# Letters of spellings that are one sound, sigmas, and what has a lower case of its own kind.
TRICKY = (
    "tschzkrdpxeiyaTSC"
    + "ČčćŠśžźżÇŁłßøæœđðþıİчщйёЙЁжюяъьΣςσ"
    + "ǅﬁℌ각\u1112\u1161é\u0301\u0307'’-.1"
)
WORDS = st.text(st.sampled_from(TRICKY) | st.characters(), max_size=20) | st.text("tschzkrdpxeiya")


def assert_same(words, minn, maxn):
    vectors, counts = kernels.compose(words, ROWS, minn, maxn, folded=True)
    same, equal = numpy_core.compose(words, ROWS, minn, maxn, folded=True, n_threads=1)
    np.testing.assert_array_equal(counts, equal)
    np.testing.assert_array_equal(vectors, same)


@settings(max_examples=500)
@given(words=st.lists(WORDS, max_size=5), minn=st.integers(0, 6), more=st.integers(0, 3))
def test_the_core_composes_folded_words_of_the_specification(words, minn, more):
    assert_same(words, minn, minn + more)


def test_the_core_knows_what_becomes_of_every_character():
    every = [chr(code) for code in range(sys.maxunicode + 1)]
    moved = [c for c in every if folding.folded(c) != c]
    both = "".join(moved + every[::40])  # of those that stay, one in forty
    words = [both[i : i + 64] for i in range(0, len(both), 64)]
    assert_same(words, 1, 1)
    assert_same([f"k{c}bd" for x in folding._SOUNDING for c in (x, x.upper())], 1, 4)


@given(word=WORDS)
def test_folding_drops_accents_as_unicode_splits_them(word):
    # The definition at once for the whole word, where `folded` goes character by character.
    letters = str.maketrans(folding._LETTERS)
    split = unicodedata.normalize("NFKD", word.lower().translate(letters))
    plain = "".join(c for c in split if not unicodedata.combining(c)).translate(letters)
    assert folding.folded(word) == plain


@given(word=WORDS)
def test_aliases_drop_all_accents_but_that_of_the_short_i(word):
    split = unicodedata.normalize("NFD", word.replace("й", "\ue000"))
    plain = "".join(c for c in split if not unicodedata.combining(c)).replace("\ue000", "й")
    bare = unicodedata.normalize("NFC", plain)
    assert word.isascii() or bare in aliases(word) | {word}


@given(word=WORDS)
def test_a_skeleton_is_the_sounds_from_left_to_right(word):
    plain = folding.spoken(word)
    sounds = ["A"] if plain[:1] in "aeiouyhj" else []
    while plain:
        fits = [letters for letters in folding.SOUNDS if plain.startswith(letters)]
        soft = re.match("c[eiy]", plain)
        sound = "S" if soft else folding.SOUNDS[fits[0]] if fits else ""
        if sound and sounds[-1:] != [sound]:
            sounds.append(sound)
        plain = plain[len(fits[0]) if fits and not soft else 1 :]
    spelled = "".join(sounds) if len(sounds) >= 3 and word.isalpha() else ""
    assert folding.skeleton(word) == spelled
