"""The native core finds grams and languages as the specification does."""

import sys
from unicodedata import category

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import GramWeights, letters
from pmeans.kernels.splitting import plain

# Characters that words end with, or that have a lower case of their own kind.
TRICKY = "Σςσİıßẞäé'’-.0١_ \n\x85\u3000\u200d\ufe0f\u0301😀𝔘ǅABCabcЖж中\xad\xb5ﬁⅧＡ＇ſ"
TEXT = st.text(st.sampled_from(TRICKY) | st.characters(), max_size=40) | st.text("aB ", max_size=99)


def bits(alphabet: str) -> np.ndarray:
    found = np.zeros(1024, dtype=np.uint64)
    for c in map(ord, alphabet):
        found[c >> 6] |= np.uint64(1 << (c & 63))
    return found


KNOWN = bits("abcdefghijklmnopqrstuvwxyzäßéжσ")


def buckets_of(text: str) -> list[int]:
    found, offsets = kernels.grams([text], KNOWN, 1 << 12)
    assert offsets.tolist() == [0, len(found)]
    return found.tolist()


@settings(max_examples=300)
@given(text=TEXT)
def test_the_core_finds_the_grams_of_the_specification(text):
    assert buckets_of(text) == letters.grams(text, KNOWN, 1 << 12)


def test_letters_are_pythons_for_every_character():
    assigned = [c for c in map(chr, range(sys.maxunicode + 1)) if category(c) not in ("Cn", "Co")]
    texts = [f"a{c}" for c in assigned]
    _, offsets = kernels.grams(texts, KNOWN, 1 << 12)
    # One letter has 4 grams, two have 8, up to "aⅧ" with five; here an apostrophe is a letter.
    lengths = np.diff(offsets).tolist()
    further = [sum(part.isalpha() or part in "'’" for part in plain(c)) for c in assigned]
    assert lengths == [(4, 8, 13, 19, 24)[n] for n in further]


def test_a_text_reads_the_same_in_other_letter_forms():
    text = "Waſſer ﬁndet den Oﬃzier, l’eau"
    assert buckets_of("Ｗasser \ufefffin\xaddet den Offizier, l＇eau") == buckets_of(text)
    assert buckets_of(text) == buckets_of("Wasser findet den Offizier, l'eau")


@settings(max_examples=200)
@given(texts=st.lists(TEXT, min_size=1, max_size=5), seed=st.integers(0, 99), data=st.data())
def test_the_core_finds_the_languages_of_the_specification(texts, seed, data):
    n = data.draw(st.integers(1, 40))
    wanted = data.draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 256, (1 << 12, 64), dtype=np.uint8)
    model = GramWeights(KNOWN, weights, np.array(wanted), sharpness=0.01)
    columns, probabilities = kernels.identify(texts, model)
    found = list(zip(columns.tolist(), probabilities.tolist(), strict=True))
    assert found == [letters.identify(text, model) for text in texts]


def test_threads_change_nothing():
    weights = np.random.default_rng(0).integers(0, 256, (1 << 12, 32), dtype=np.uint8)
    model = GramWeights(KNOWN, weights, np.ones(3, dtype=bool), sharpness=0.01)
    texts = [f"word {chr(97 + i % 26) * (i % 9)}" for i in range(2000)]
    one, two = (kernels.identify(texts, model, n_threads=n) for n in (1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_a_long_text_is_read_to_its_limit():
    text = "ab " * 2000
    assert buckets_of(text) == buckets_of(text[: letters.ENOUGH])


def test_sums_beyond_sixteen_bits_are_exact():
    weights = np.full((1, 32), 255, dtype=np.uint8)
    weights[:, 1] = 254
    model = GramWeights(KNOWN, weights, np.array([True, True]), sharpness=1e-3)
    (column,), _ = kernels.identify(["word " * 800], model)
    assert column == 0
