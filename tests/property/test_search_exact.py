"""Search in blocks finds what a full sort of cosines in float64 finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pmeans.encoder.postprocess import unit_rows
from pmeans.search import top_k


class InBlocks:
    """Rows in blocks of a size of our own."""

    def __init__(self, array, size):
        self.shape, self._array, self._size = array.shape, array, size

    def blocks(self, n_rows):
        return (self._array[i : i + self._size] for i in range(0, len(self._array), self._size))


def by_sorting(queries, rows, k):
    found = np.full((len(queries), k), -1)
    scores = np.full((len(queries), k), -np.inf, dtype=np.float32)
    able = np.flatnonzero(rows.any(axis=1))
    exact = rows[able].astype(np.float64)
    for i, query in enumerate(unit_rows(queries).astype(np.float64)):
        if query.any():
            cosines = ((exact * query).sum(1) / np.sqrt((exact**2).sum(1))).astype(np.float32)
            best = np.argsort(-cosines, kind="stable")[:k]
            found[i, : len(best)], scores[i, : len(best)] = able[best], cosines[best]
    return found, scores


# Small whole numbers: many rows are zero, equal, or equal up to their length.
NUMBERS = st.integers(-2, 2).map(np.float32)
ROWS = arrays(np.float32, st.tuples(st.integers(0, 40), st.just(3)), elements=NUMBERS)
QUERIES = arrays(np.float32, (2, 3), elements=NUMBERS)


@given(queries=QUERIES, rows=ROWS, k=st.integers(1, 12), size=st.integers(1, 20))
def test_blocks_of_any_size_give_the_answer_of_a_full_sort(queries, rows, k, size):
    found, scores = top_k(queries, InBlocks(rows, size), k)
    expected, values = by_sorting(queries, rows, k)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(scores, values)


@given(seed=st.integers(0, 2**32 - 1), size=st.integers(1, 400), k=st.integers(1, 30))
def test_neither_blocks_nor_other_queries_change_a_bit(seed, size, k):
    rng = np.random.default_rng(seed)
    queries = rng.normal(size=(4, 37)).astype(np.float32)
    rows = rng.normal(size=(300, 37)).astype(np.float32)
    together = top_k(queries, rows, k)
    for i in range(len(queries)):
        for got, expected in zip(
            top_k(queries[i : i + 1], InBlocks(rows, size), k), together, strict=True
        ):
            np.testing.assert_array_equal(got[0], expected[i])
