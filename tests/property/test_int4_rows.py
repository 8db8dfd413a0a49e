"""Rows of four bits have the same means in every core, whatever their width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels import SpaceMeans, coded, numpy_core
from pmeans.tensors import decoded
from pmeans.types import TokenBatch

ROOTS = {"signed": [(-np.inf, 1, np.inf), (1,), (2, 3), (0.5,)], "shifted": [(-2, 1, 4), (3,)]}


@st.composite
def batches(draw, dim):
    """Bytes of int4, all 256 of them among others, a scale, and some sentences."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 20))
    matrix = rng.integers(0, 256, size=(n, dim // 2), dtype=np.uint8)
    scale = rng.random(n, dtype=np.float32) * np.float32(draw(st.sampled_from([1e-42, 1, 1e30])))
    lengths = draw(st.lists(st.integers(0, 150), min_size=1, max_size=5))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = rng.integers(0, n, size=offsets[-1]).astype(np.int32)
    return matrix, scale, TokenBatch(ids, offsets, np.zeros(len(lengths), np.int32))


def means(core, matrix, scale, powers, root, batch, *isa):
    space = SpaceMeans(matrix, powers, root, scale)
    out = np.empty((len(batch), space.width), dtype=np.float32)
    core.power_means([space], [(batch, None)], [], 0, out, 1, *isa)
    return out


@pytest.mark.parametrize("dim", [2, 6, 30, 256, 300])
@settings(max_examples=15)
@given(data=st.data())
def test_means_of_int4_are_those_of_its_decoded_rows_to_the_bit(dim, data):
    matrix, scale, batch = data.draw(batches(dim))
    plain = coded.unpacked(matrix).astype(np.float32) * scale[:, None]
    np.testing.assert_array_equal(decoded(matrix, scale), plain)
    native = kernels.backend().startswith("native")
    for isa in [("",), ("baseline",), ("avx2",)] if native else [()]:
        for root, lists in ROOTS.items():
            for powers in lists:
                rest = powers, root, batch, *isa
                got = means(kernels.core, matrix, scale, *rest)
                np.testing.assert_array_equal(got, means(kernels.core, plain, None, *rest))


@pytest.mark.parametrize("dim", [2, 6, 30, 256, 300])
@settings(max_examples=15)
@given(data=st.data())
def test_the_cores_agree_on_the_least_and_the_largest_of_int4(dim, data):
    matrix, scale, batch = data.draw(batches(dim))
    rest = (-np.inf, np.inf), "signed", batch
    expected = means(numpy_core, matrix, scale, *rest)
    np.testing.assert_array_equal(means(kernels.core, matrix, scale, *rest), expected)


@pytest.mark.parametrize("byte", range(256))
def test_every_byte_is_read_alike(byte):
    matrix, scale = np.full((1, 32), byte, np.uint8), np.float32([0.1])
    batch = TokenBatch(np.zeros(1, np.int32), np.array([0, 1]), np.zeros(1, np.int32))
    got = kernels.power_means(matrix, batch, [1], scale=scale)
    low, high = ((half + 8) % 16 - 8 for half in (byte % 16, byte // 16))
    np.testing.assert_array_equal(got[0], np.float32([low, high] * 32) * np.float32(0.1))
