"""N-grams fitted to words: what they make of other words, and how long they are."""

from itertools import product

import numpy as np
import pytest

from pmeans.encoder.postprocess import unit_rows
from pmeans.training.ngrams import fitted_ngrams, ngram_averages

# Words of three syllables, each of which adds its meaning.
SYLLABLES = ["ba", "do", "fi", "gu", "le", "mo"]
MEANINGS = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
SPELLED = ["".join(SYLLABLES[i] for i in ids) for ids in product(range(6), repeat=3)]
VECTORS = np.array([MEANINGS[list(ids)].sum(axis=0) for ids in product(range(6), repeat=3)])
LEFT_OUT = np.arange(len(SPELLED)) % 9 == 0


def composed(penalty, *, as_folded=False):
    """Return what the n-grams of the other words make of those left out, (n, 5)."""
    averages = ngram_averages(SPELLED, 500, 2, 5, as_folded=as_folded)
    ngrams = fitted_ngrams(
        averages[~LEFT_OUT], VECTORS[~LEFT_OUT], penalty, lambda share, text: None
    )
    return averages[LEFT_OUT] @ ngrams


@pytest.mark.parametrize("as_folded", [False, True])
def test_words_left_out_get_the_vectors_that_their_parts_suggest(as_folded):
    vectors = composed(0.01, as_folded=as_folded)
    cosines = np.einsum("ij,ij->i", unit_rows(vectors), unit_rows(VECTORS[LEFT_OUT]))
    assert cosines.mean() > 0.9


def test_a_larger_penalty_gives_shorter_vectors():
    long, short = (np.linalg.norm(composed(penalty)) for penalty in (0.01, 10.0))
    assert short < long
