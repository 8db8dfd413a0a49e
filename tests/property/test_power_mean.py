"""The cores agree with the paper's formula, over powers, roots, lengths and number formats."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pmeans import kernels, tensors
from pmeans.kernels import coded
from pmeans.kernels.reference import power_mean
from pmeans.types import TokenBatch

POWERS = [-np.inf, -3, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 5, 8, 9, 40, np.inf]
ROOTS = ["signed", "principal"]


def one_sentence(ids) -> TokenBatch:
    ids = np.asarray(ids, dtype=np.int32)
    return TokenBatch(ids, np.array([0, len(ids)]), np.zeros(1, np.int32))


@st.composite
def sentences(draw, longest=60):
    """A matrix of any of the four formats, and the rows of one sentence."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_words, dim = draw(st.integers(1, 30)), draw(st.integers(1, 70))
    values = rng.normal(scale=draw(st.sampled_from([1e-3, 1.0, 50.0])), size=(n_words, dim))
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.2]))] = 0
    kind, scale = draw(st.sampled_from(["float32", "float16", "int8", "int4"])), None
    if kind == "int8":
        values = np.clip(values * 40, -127, 127)
        scale = rng.random(n_words).astype(np.float32)
    if kind == "int4":
        scale = rng.random(n_words).astype(np.float32)
        values = rng.integers(0, 256, size=(n_words, (dim + 1) // 2))
        kind = "uint8"
    ids = rng.integers(0, n_words, size=draw(st.integers(1, longest)))
    return values.astype(kind), scale, ids


def decoded(matrix, scale, ids):
    return tensors.decoded(matrix, scale, ids)


def assert_close(got, rows, p, root):
    expected = np.clip(power_mean(rows, p, root), -3.4e38, 3.4e38)
    # rtol: float32 has 24 bits. atol: a mean of float32 additions is as exact as its largest
    # partial sum, which cancellation makes far larger than the mean; elsewhere float64 is at
    # work, and only the cosine of a right angle is 1e-17 where it should be 0.
    atol = (4e-6 if p == 1 else 1e-15) * np.abs(rows).max(initial=0)
    tolerance = 1e-6 * np.abs(expected) + atol + cancellation(rows, p) * np.abs(expected)
    np.testing.assert_array_less(np.abs(got - expected), np.nextafter(tolerance, np.inf))


def cancellation(rows, p):
    """Return the relative error that powers of either sign allow, (dim,).

    If they cancel all but 1e-12 of each other, as do (a, -a, a / 20) at p = 9, then that share is
    known to 1e-16 / 1e-12, and its p-th root p times better.
    """
    if p in (0, 1) or np.isinf(p):
        return np.zeros(rows.shape[1])
    whole, rest = power_mean(np.abs(rows), p), np.abs(power_mean(rows, p))
    cancelled = np.divide(whole, rest, where=rest > 0, out=np.ones_like(rest)) ** p
    return len(rows) * 2**-52 * cancelled / abs(p)


@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("p", POWERS)
@settings(max_examples=25)
@example(case=(np.float32([[1, 7], [-1, 3], [-0.05, 5]]), None, np.arange(3)))
@given(case=sentences())
def test_kernel_agrees_with_the_papers_formula(p, root, case):
    matrix, scale, ids = case
    got = kernels.power_means(matrix, one_sentence(ids), [p], root=root, scale=scale)
    assert_close(got[0], decoded(*case), p, root)


@settings(max_examples=15)
@given(case=sentences(longest=10_000))
def test_long_sentences_lose_no_precision(case):
    matrix, scale, ids = case
    powers = [-np.inf, 1, 3, np.inf]
    got = kernels.power_means(matrix, one_sentence(ids), powers, scale=scale)
    for k, p in enumerate(powers):
        dim = coded.n_columns(matrix)
        assert_close(got[0, k * dim : (k + 1) * dim], decoded(*case), p, "signed")


@pytest.mark.skipif(kernels.backend() == "numpy", reason="instruction sets of the native core")
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
@settings(max_examples=50)
@given(case=sentences(longest=200))
def test_every_instruction_set_gives_the_same_bits(isa, case):
    matrix, scale, ids = case
    batch = one_sentence(ids)
    powers = [-np.inf, 1, np.inf, 2, 3]
    means = kernels.SpaceMeans(matrix, powers, scale=scale)
    best, other = (np.empty((1, 5 * coded.n_columns(matrix)), np.float32) for _ in range(2))
    for out, name in ((best, ""), (other, isa)):
        kernels.core.power_means([means], [(batch, None)], [], 0, out, 1, name)
    np.testing.assert_array_equal(best, other)


@settings(max_examples=40)
@given(data=st.data(), n_threads=st.integers(1, 4))
def test_a_row_depends_on_its_own_sentence_alone(data, n_threads):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    matrix = rng.normal(size=(50, 19)).astype(np.float32)
    lengths = data.draw(st.lists(st.integers(0, 80), min_size=1, max_size=300))
    ids = rng.integers(0, 50, size=sum(lengths)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    batch = TokenBatch(ids, offsets, np.zeros(len(lengths), np.int32))
    together = kernels.power_means(matrix, batch, [1, 3, np.inf], n_threads=n_threads)
    i = data.draw(st.integers(0, len(lengths) - 1))
    alone = kernels.power_means(
        matrix, one_sentence(ids[offsets[i] : offsets[i + 1]]), [1, 3, np.inf], n_threads=1
    )
    np.testing.assert_array_equal(together[i], alone[0])


@settings(max_examples=40)
@given(case=sentences(), p=st.sampled_from([-np.inf, np.inf]))
def test_min_and_max_do_not_care_about_word_order(case, p):
    matrix, scale, ids = case
    forwards = kernels.power_means(matrix, one_sentence(ids), [p], scale=scale)
    backwards = kernels.power_means(matrix, one_sentence(ids[::-1]), [p], scale=scale)
    np.testing.assert_array_equal(forwards, backwards)


@settings(max_examples=60)
@given(
    rows=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1),
    p=st.floats(1e-3, 100) | st.floats(-100, -1e-3) | st.sampled_from(POWERS),
    root=st.sampled_from(ROOTS),
)
def test_no_finite_input_gives_nan_or_infinity(rows, p, root):
    matrix = np.array(rows, dtype=np.float32)[:, None]
    got = kernels.power_means(matrix, one_sentence(range(len(rows))), [p], root=root)
    assert np.isfinite(got).all()
