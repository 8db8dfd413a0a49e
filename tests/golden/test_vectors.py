"""Golden vectors over real GloVe and GoogleNews rows, derived independently of our kernels.

The expected values are worked out here, in plain NumPy, word by word: complex powers for the
``principal`` root as the authors' program has them, signs and magnitudes for ``signed``.
"""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace

POWERS = [-np.inf, -1, 0.5, 1, 2, 3, np.inf]
SENTENCE = "the movie was not good , but the actors were"
SPACES = ["glove-6b-100d.en", "googlenews-w2v-300d.en"]


@pytest.fixture(scope="module", params=SPACES)
def real(request, data_dir):
    stem = data_dir / "vectors" / request.param
    matrix = np.load(f"{stem}.f16.npy", mmap_mode="r")
    with open(f"{stem}.words.txt", encoding="utf-8", newline="\n") as file:
        words = file.read().split("\n")[: len(matrix)]
    rows = {word: i for i, word in enumerate(words)}
    vectors = [matrix[rows[w]].astype(np.float64) for w in SENTENCE.split() if w in rows]
    return WordSpace.from_words("real", {"en": words}, matrix), np.array(vectors)


def encoded(space, p, root):
    recipe = Recipe((Part("real", (p,)),), root=root)
    return PowerMeanEncoder(recipe, {"real": space}).encode(SENTENCE)


@pytest.mark.data
@pytest.mark.parametrize("p", POWERS)
def test_principal_roots_are_the_authors_complex_powers(real, p):
    space, x = real
    assert len(x) >= 8
    if np.isinf(p):
        expected = x.max(axis=0) if p > 0 else x.min(axis=0)
    else:
        z = x.astype(complex) ** p
        expected = ((z.sum(axis=0) / len(x)) ** (1 / p)).real
    # rtol: float32 output; atol: float32 sums of numbers around 1 (p = 1), and the cosine of a
    # right angle, which is not quite 0, times a root.
    np.testing.assert_allclose(encoded(space, p, "principal"), expected, rtol=2e-6, atol=2e-7)


@pytest.mark.data
@pytest.mark.parametrize("p", POWERS)
def test_signed_roots_keep_signs_and_even_powers_lose_them(real, p):
    space, x = real
    if np.isinf(p):
        expected = x.max(axis=0) if p > 0 else x.min(axis=0)
    elif p == 2:
        expected = np.sqrt(np.mean(x * x, axis=0))
    else:
        mean = np.mean(np.where(x < 0, -1, 1) * np.abs(x) ** p, axis=0)
        expected = np.where(mean < 0, -1, 1) * np.abs(mean) ** (1 / p)
    np.testing.assert_allclose(encoded(space, p, "signed"), expected, rtol=2e-6, atol=2e-7)


@pytest.mark.data
def test_the_two_roots_differ_on_real_vectors_where_the_paper_says_so(real):
    space, _ = real
    signed, principal = encoded(space, 3, "signed"), encoded(space, 3, "principal")
    negative = signed < 0
    assert 0.2 < negative.mean() < 0.8
    # rtol: float32. cos(pi / 3) is one half.
    np.testing.assert_allclose(principal[negative], -signed[negative] / 2, rtol=1e-5)
    np.testing.assert_array_equal(principal[~negative], signed[~negative])
