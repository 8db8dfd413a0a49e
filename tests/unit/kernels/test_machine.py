import numpy as np
import pytest

from pmeans.kernels import machine

LARGE = (machine.LARGE // 4096, 1024)
keeps = pytest.mark.skipif(not machine._KEEPS, reason="memory is kept on Linux alone")


@pytest.fixture(autouse=True)
def _nothing_kept():
    machine._spare.clear()


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (2, 7), LARGE])
def test_rows_are_writable_float32_side_by_side(shape):
    rows = machine.empty_rows(*shape)
    rows[:] = 7
    assert rows.shape == shape
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert (rows == 7).all()


@keeps
def test_memory_of_a_dropped_result_serves_the_next():
    rows = machine.empty_rows(*LARGE)
    first = address(rows)
    del rows
    again = machine.empty_rows(*LARGE)
    assert address(again) == first


@keeps
def test_a_view_keeps_the_memory_from_being_used_again():
    rows = machine.empty_rows(*LARGE)
    rows[:] = 1
    view = rows[5:, 3:].T
    del rows
    machine.empty_rows(*LARGE)[:] = 2
    assert (view == 1).all()


@keeps
def test_memory_that_is_far_too_large_is_not_used():
    large = machine.empty_rows(3 * LARGE[0], LARGE[1])
    first = address(large)
    del large
    assert address(machine.empty_rows(*LARGE)) != first


@keeps
def test_one_piece_of_memory_is_kept_at_most():
    several = [machine.empty_rows(*LARGE) for _ in range(3)]
    del several
    assert len(machine._spare) == 1
