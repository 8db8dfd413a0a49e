"""Rows times a matrix: the same bits, whatever the batch, the threads or the processor."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.kernels import CodedMatrix
from pmeans.kernels.reference import map_coded_row, map_row

NATIVE = kernels.backend() != "numpy"
LARGEST = np.finfo(np.float32).max


def sizes(draw):
    """Rows, and columns in and out; they end within, at and beyond blocks, vectors and tiles."""
    n, n_in = draw(st.integers(0, 60)), draw(st.integers(0, 40))
    return n, n_in, draw(st.integers(0, 40) | st.sampled_from([63, 64, 65, 127, 129, 300]))


@st.composite
def floats(draw):
    """Rows and a matrix of float32."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_in, n_out = sizes(draw)
    scales = [draw(st.sampled_from([1e-30, 1.0, 1e25])) for _ in range(2)]
    rows = rng.normal(size=(n, n_in)) * scales[0]
    return rows.astype(np.float32), (rng.normal(size=(n_in, n_out)) * scales[1]).astype(np.float32)


@st.composite
def codes(draw):
    """Rows, int8 codes and the scales of their rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_in, n_out = sizes(draw)
    n_in += draw(st.sampled_from([0, 0, 512, 1024]))  # a run of sums, and another
    rows = rng.standard_t(2, size=(n, n_in)) * draw(st.sampled_from([1e-40, 1e-20, 1.0, 1e30]))
    scale = rng.lognormal(size=n_in) * draw(st.sampled_from([0, 1e-30, 1.0, 1e30]))
    whole = rng.integers(-128, 128, size=(n_in, n_out), dtype=np.int8)
    return rows.astype(np.float32), whole, scale.astype(np.float32)


@st.composite
def products(draw):
    """Rows and a matrix of either kind."""
    if draw(st.booleans()):
        return draw(floats())
    rows, whole, scale = draw(codes())
    return rows, CodedMatrix.of(whole, scale)


@settings(max_examples=200)
@given(case=floats())
def test_kernel_agrees_with_the_plain_sum(case):
    rows, matrix = case
    got = kernels.map_rows(rows, matrix)
    expected = np.array([map_row(row, matrix) for row in rows]).reshape(got.shape)
    if NATIVE:
        np.testing.assert_array_equal(got, expected)
    else:
        # BLAS chooses its order: each of n_in additions may err by half a unit in the 24th bit of
        # the largest partial sum, in either order. Nearly nothing is lost below 1e-37.
        largest = np.abs(rows).astype(float) @ np.abs(matrix).astype(float)
        assert (
            np.abs(got - expected.astype(float)) <= largest * len(matrix) * 2**-23 + 1e-37
        ).all()


@settings(max_examples=200)
@given(case=codes())
def test_a_product_with_codes_has_the_bits_of_the_plain_sum_on_either_core(case):
    rows, whole, scale = case
    got = kernels.map_rows(rows, CodedMatrix.of(whole, scale))
    expected = np.array([map_coded_row(row, whole, scale) for row in rows]).reshape(got.shape)
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=100)
@given(case=codes())
def test_rounding_a_row_moves_it_by_no_more_than_half_a_step_for_each_code(case):
    rows, whole, scale = case
    scaled = rows.astype(float) * scale
    exact = np.clip(scaled @ whole.astype(float), -LARGEST, LARGEST)
    step = np.abs(scaled).max(axis=1, initial=0) / 32767
    bound = step[:, None] / 2 * np.abs(whole.astype(float)).sum(axis=0)
    got = kernels.map_rows(rows, CodedMatrix.of(whole, scale))
    # 1 %: products and scales are rounded to float32 as well. Rows below 1e-30 of the largest
    # scale are rounded to steps of that.
    floor = 1e-30 * float(scale.max(initial=0)) * np.abs(whole.astype(float)).sum(axis=0)
    assert (np.abs(got - exact) <= 1.01 * bound + floor + 1e-37).all()


def test_codes_keep_their_places():
    whole = np.arange(-60, 59, dtype=np.int8).reshape(7, 17)
    matrix = CodedMatrix.of(whole, np.ones(7, np.float32))
    assert matrix.shape == (7, 17)
    np.testing.assert_array_equal(matrix.codes, whole)


@pytest.mark.parametrize("n_in", [512, 513, 40_000])
def test_sums_beyond_32_bits_are_exact(n_in):
    matrix = CodedMatrix.of(np.full((n_in, 3), -128, np.int8), np.ones(n_in, np.float32))
    got = kernels.map_rows(np.full((2, n_in), 2, np.float32), matrix)
    np.testing.assert_array_equal(got, np.full((2, 3), -256 * n_in))


@settings(max_examples=100)
@given(case=products(), n_threads=st.integers(1, 4), data=st.data())
def test_a_row_depends_on_itself_alone(case, n_threads, data):
    rows, matrix = case
    whole = kernels.map_rows(rows, matrix, n_threads=n_threads)
    order = data.draw(st.permutations(range(len(rows))))
    np.testing.assert_array_equal(kernels.map_rows(rows[order], matrix), whole[order])
    for i in order[:2]:
        np.testing.assert_array_equal(kernels.map_rows(rows[[i]], matrix)[0], whole[i])


@pytest.mark.skipif(not NATIVE, reason="instruction sets of the native core")
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
@settings(max_examples=100)
@given(case=products())
def test_every_instruction_set_gives_the_same_bits(isa, case):
    rows, matrix = case
    got = np.empty((len(rows), matrix.shape[1]), np.float32)
    kernels.core.map_rows(rows, matrix, got, 1, isa)
    np.testing.assert_array_equal(got, kernels.map_rows(rows, matrix))


@settings(max_examples=50)
@given(case=products())
def test_rows_and_out_may_be_columns_of_wider_arrays(case):
    rows, matrix = case
    wide = np.full((len(rows), rows.shape[1] + 3), np.nan, np.float32)
    target = np.full((len(rows), matrix.shape[1] + 5), 7, np.float32)
    wide[:, 1:-2], out = rows, target[:, 3:-2]
    assert kernels.map_rows(wide[:, 1:-2], matrix, out) is out
    np.testing.assert_array_equal(out, kernels.map_rows(rows, matrix))
    assert (target[:, [0, 1, 2, -2, -1]] == 7).all()


@pytest.mark.parametrize("n", [1, 6, 100])
def test_rows_beyond_one_thread_s_share_are_the_same(n):
    rng = np.random.default_rng(n)
    rows, matrix = (rng.normal(size=size).astype(np.float32) for size in ((n, 900), (900, 300)))
    got = kernels.map_rows(rows, matrix, n_threads=2)
    np.testing.assert_array_equal(got, kernels.map_rows(rows, matrix, n_threads=1))
    # atol: 900 float32 additions of products around 1 err by less than 1e-3 together.
    np.testing.assert_allclose(got, rows.astype(float) @ matrix, atol=1e-3)
    coded = CodedMatrix.of(rng.integers(-127, 128, (900, 300)), np.ones(900, np.float32))
    np.testing.assert_array_equal(
        kernels.map_rows(rows, coded, n_threads=2), kernels.map_rows(rows, coded, n_threads=1)
    )


def test_out_may_be_the_rows_themselves():
    rng = np.random.default_rng(0)
    rows, matrix = (rng.normal(size=size).astype(np.float32) for size in ((9, 70), (70, 70)))
    expected = kernels.map_rows(rows, matrix)
    np.testing.assert_array_equal(kernels.map_rows(rows, matrix, rows), expected)


@pytest.mark.parametrize("n_out", [2, 50])
def test_what_float32_cannot_hold_is_cut_off_and_other_rows_do_not_notice(n_out):
    matrix = np.full((2, n_out), 2, np.float32)
    matrix[1, ::2] = -2
    rows = np.array([[LARGEST, LARGEST], [1, 1], [-LARGEST, 0]], np.float32)
    got = kernels.map_rows(rows, matrix)
    assert got[:, :2].tolist() == [[0, LARGEST], [0, 4], [-LARGEST, -LARGEST]]
    np.testing.assert_array_equal(got, np.tile(got[:, :2], n_out // 2))
    coded = CodedMatrix.of(matrix.astype(np.int8), np.ones(2, np.float32))
    np.testing.assert_array_equal(kernels.map_rows(rows, coded), got)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_nan_or_infinity_is_named(bad):
    rows, matrix = np.ones((120, 3), np.float32), np.zeros((3, 20), np.float32)
    rows[107, 1] = bad
    coded = CodedMatrix.of(matrix.astype(np.int8), np.ones(3, np.float32))
    for each in (matrix, coded):
        with pytest.raises(InputError, match="row 107 or the matrix has NaN or infinity"):
            kernels.map_rows(rows, each)


@pytest.mark.parametrize(
    ("rows", "matrix", "out", "message"),
    [
        ((3, 4), (5, 2), None, r"rows must be \(3, 5\) float32, not \(3, 4\)"),
        ((3, 5), (5, 2), (3, 3), r"out must be \(3, 2\)"),
        ((3, 5), (5,), None, "matrix must be"),
        ((3,), (3, 5), None, "rows must be"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(rows, matrix, out, message):
    rows, matrix = np.ones(rows, np.float32), np.ones(matrix, np.float32)
    out = out and np.ones(out, np.float32)
    with pytest.raises(InputError, match=message):
        kernels.map_rows(rows, matrix, out)


def test_numbers_of_another_type_are_refused():
    with pytest.raises(InputError, match="float64"):
        kernels.map_rows(np.ones((2, 2)), np.ones((2, 2), np.float32))
