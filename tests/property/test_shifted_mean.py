"""Shifted means, one power per column: the cores agree with the formula, and its laws hold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_power_mean import decoded, one_sentence, sentences

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.kernels import coded
from pmeans.kernels.reference import power_mean

EXACT = 3e-6
"""Of the distance from min to max: what polynomials in float32 give for the logarithm."""

SQUARES = st.sampled_from([sign * size for size in kernels.SQUARES for sign in (1, -1)])

POWERS = st.one_of(
    SQUARES,
    st.floats(1, 50),
    st.floats(-50, -1),
    st.floats(1, 1e12),
    st.sampled_from([1.0, -1.0, np.inf, -np.inf, 1 + 1e-9, 1e300, -1e300]),
)


def powers_for(data, dim, some=POWERS):
    few = data.draw(st.lists(some, min_size=1, max_size=6))
    return tuple(few[i % len(few)] for i in range(dim))


def spread(rows):
    # A mean of float32 additions is as exact as its largest partial sum.
    return np.ptp(rows, axis=0) + np.abs(rows).max(initial=0)


@settings(max_examples=150)
@given(case=sentences(longest=300), data=st.data())
def test_kernel_agrees_with_the_specification(case, data):
    matrix, scale, ids = case
    dim = coded.n_columns(matrix)
    powers = [powers_for(data, dim), 1, np.inf, 2.5, powers_for(data, dim, SQUARES)]
    powers = list(dict.fromkeys(powers))
    got = kernels.power_means(matrix, one_sentence(ids), powers, root="shifted", scale=scale)[0]
    rows = decoded(*case)
    for k, p in enumerate(powers):
        error = np.abs(got[k * dim : (k + 1) * dim] - power_mean(rows, p, "shifted"))
        assert (error <= EXACT * spread(rows)).all()


@settings(max_examples=60)
@given(case=sentences(longest=100), data=st.data())
def test_limits_have_the_bits_of_mean_min_and_max(case, data):
    matrix, scale, ids = case
    limits = [1.0, np.inf, -np.inf]
    dim = coded.n_columns(matrix)
    chosen = data.draw(st.lists(st.sampled_from(limits), min_size=dim, max_size=dim))
    options = {"root": "shifted", "scale": scale}
    got = kernels.power_means(matrix, one_sentence(ids), [tuple(chosen)], **options)[0]
    plain = kernels.power_means(matrix, one_sentence(ids), limits, **options)[0].reshape(3, dim)
    expected = plain[[limits.index(p) for p in chosen], np.arange(dim)]
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=80)
@given(case=sentences(), data=st.data())
def test_the_mean_rises_with_the_power_from_min_to_max(case, data):
    rows = decoded(*case)
    p = np.sort(np.array(data.draw(st.lists(st.floats(1, 1e4), min_size=2, max_size=2))))
    low, mean, high = (power_mean(rows, each, "shifted") for each in (-np.inf, 1, np.inf))
    order = [low, *(power_mean(rows, each, "shifted") for each in (-p[1], -p[0]))]
    order += [mean, *(power_mean(rows, each, "shifted") for each in p), high]
    rounding = 1e-12 * np.abs(rows).max(initial=1)
    assert all((b >= a - rounding).all() for a, b in pairwise(order))


@settings(max_examples=60)
@given(case=sentences(), p=st.floats(1, 100), moved=st.floats(-10, 10))
def test_the_mean_moves_with_its_numbers_and_turns_with_their_signs(case, p, moved):
    rows = decoded(*case).astype(np.float64)
    rounding = 1e-9 * (np.abs(rows).max(initial=1) + abs(moved))
    shifted = power_mean(rows + moved, p, "shifted")
    np.testing.assert_allclose(shifted, power_mean(rows, p, "shifted") + moved, atol=rounding)
    turned = -power_mean(-rows, -p, "shifted")
    np.testing.assert_allclose(power_mean(rows, p, "shifted"), turned, atol=rounding)


def test_worked_out_by_hand():
    # Distances from the least are 0, 3 and 4: their root mean square is 5 / sqrt(3).
    rows = np.array([[-1.0], [2.0], [3.0]])
    assert power_mean(rows, 2, "shifted")[0] == pytest.approx(-1 + 5 / 3**0.5)
    # Those from the largest are 4, 1 and 0.
    assert power_mean(rows, -2, "shifted")[0] == pytest.approx(3 - (17 / 3) ** 0.5)


@pytest.mark.skipif(kernels.backend() == "numpy", reason="instruction sets of the native core")
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
@settings(max_examples=50)
@given(case=sentences(longest=200), data=st.data())
def test_every_instruction_set_gives_the_same_bits(isa, case, data):
    matrix, scale, ids = case
    dim = coded.n_columns(matrix)
    powers = [powers_for(data, dim), 1, 3.3, powers_for(data, dim, SQUARES)]
    means = kernels.SpaceMeans(matrix, tuple(dict.fromkeys(powers)), "shifted", scale)
    best, other = (np.empty((1, means.width), np.float32) for _ in range(2))
    for out, name in ((best, ""), (other, isa)):
        kernels.core.power_means([means], [(one_sentence(ids), None)], [], 0, out, 1, name)
    np.testing.assert_array_equal(best, other)


@settings(max_examples=60)
@given(
    rows=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1),
    p=POWERS,
)
def test_the_mean_of_any_finite_numbers_lies_among_them(rows, p):
    column = np.array(rows, dtype=np.float32)[:, None]
    got = kernels.power_means(column, one_sentence(range(len(rows))), [p], root="shifted")[0, 0]
    # A sum of float32 numbers is rounded, also in the mean.
    rounding = 1e-5 * np.abs(column.astype(np.float64)).max()
    assert column.min() - rounding <= got <= column.max() + rounding


@pytest.mark.parametrize("p", [2.0, 2.5])
@pytest.mark.parametrize("dim", [1, 40])
def test_differences_beyond_float32_are_taken_in_float64(dim, p):
    huge = np.full((2, dim), 3e38, dtype=np.float32)
    huge[1] *= -1
    got = kernels.power_means(huge, one_sentence([0, 1]), [(p,) * dim], root="shifted")
    np.testing.assert_allclose(got[0], -3e38 + 6e38 / 2 ** (1 / p), rtol=1e-6)


def test_a_part_takes_squares_only_of_lists_that_have_nothing_else():
    matrix = np.ones((1, 2), np.float32)
    means = kernels.SpaceMeans(matrix, ((16.0, -2.0), (16.0, 2.5), (-np.inf, 2.0), 1), "shifted")
    assert means.squarings.tolist() == [4, -1, 1, 0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("dim", "n"), [(1, 3), (40, 3), (40, 70)])
@pytest.mark.parametrize("p", [4, 2.5])
def test_a_word_vector_with_nan_or_infinity_is_named(dim, n, bad, p):
    matrix = np.ones((5, dim), np.float32)
    matrix[3, -1] = bad
    with pytest.raises(InputError, match="word vector 3 has NaN or infinity"):
        kernels.power_means(matrix, one_sentence([0, 1, 3] + [0] * (n - 3)), [p], root="shifted")


def test_powers_that_have_no_shifted_mean_are_refused():
    matrix = np.ones((2, 3), np.float32)
    for powers, root, message in [
        ([0.5], "shifted", "0.5 is not a power of a shifted mean"),
        ([(1.0, np.nan, 2.0)], "shifted", "nan is not a power"),
        ([(1.0, 2.0)], "shifted", "2 powers for 3 dimensions"),
        ([(1.0, 2.0, 3.0)], "signed", "needs root = 'shifted'"),
        ([2], "shift", "root 'shift' is not"),
    ]:
        with pytest.raises(InputError, match=message):
            kernels.power_means(matrix, one_sentence([0]), powers, root=root)
