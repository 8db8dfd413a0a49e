"""The cores train as the specification says, on every instruction set, and refuse bad arrays."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.kernels.skipgram import SkipGramJob, sigmoid, train_sentences
from pmeans.training.word2vec import alias_table

N_WORDS, N_ROWS, WIDTH = 23, 40, 32


def job(**changed) -> SkipGramJob:
    """Thirty sentences of up to 12 words that repeat themselves."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 13, 30))])
    coin, alias = alias_table(rng.random(N_WORDS))
    made = SkipGramJob(
        ids=rng.integers(0, N_WORDS, offsets[-1]).astype(np.int32),
        offsets=offsets,
        keep=rng.integers(2**30, 2**32 + 1, N_WORDS, dtype=np.uint64),
        coin=coin,
        alias=alias,
        window=5,
        negatives=6,
        epochs=2,
        rate=0.1,
        last_rate=1e-4,
        seed=7,
        shuffle=False,
    )
    return replace(made, **changed)


def pieces() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    borders = np.concatenate([[0], np.cumsum(rng.integers(1, 5, N_WORDS))])
    return {"pieces": rng.integers(0, N_ROWS, borders[-1]).astype(np.int32), "borders": borders}


def matrices(n_rows=N_WORDS) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return tuple(rng.normal(size=(n, WIDTH)).astype(np.float32) for n in (n_rows, N_WORDS))


@pytest.mark.parametrize(
    "changed", [{}, {"shuffle": True}, pieces()], ids=["", "shuffled", "pieces"]
)
def test_core_trains_as_the_specification_says(changed):
    some = job(**changed)
    n_rows = N_ROWS if some.pieces is not None else N_WORDS
    got, expected = matrices(n_rows), matrices(n_rows)
    for epoch in range(2):
        kernels.train_skipgram(some, *got, epoch, 0, 30, n_threads=1)
        train_sentences(some, *expected, epoch, 0, 30)
    for one, other, first in zip(got, expected, matrices(n_rows), strict=True):
        assert np.abs(one - first).max() > 0.1
        # Rounding of thousands of steps of about 0.1.
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.skipif(kernels.backend() == "numpy", reason="NumPy has one instruction set")
@pytest.mark.parametrize("changed", [{}, pieces()], ids=["words", "pieces"])
def test_every_instruction_set_gives_the_same_bits(changed):
    some = job(**changed)
    n_rows = N_ROWS if some.pieces is not None else N_WORDS
    results = []
    for isa in ("", "baseline", "avx2"):
        results.append(matrices(n_rows))
        kernels.core.train_skipgram(some, *results[-1], 0, 0, 30, 1, isa)
    for result in results[1:]:
        np.testing.assert_array_equal(result[0], results[0][0])
        np.testing.assert_array_equal(result[1], results[0][1])


def test_blocks_of_sentences_change_no_bit():
    whole, blocks = matrices(), matrices()
    kernels.train_skipgram(job(), *whole, 0, 0, 30, n_threads=1)
    kernels.train_skipgram(job(), *blocks, 0, 0, 11, n_threads=1)
    kernels.train_skipgram(job(), *blocks, 0, 11, 30, n_threads=1)
    np.testing.assert_array_equal(whole[0], blocks[0])


def test_sigmoid_is_within_5e_5_of_the_logistic_function():
    x = np.linspace(-20, 20, 10_001, dtype=np.float32)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    assert np.abs(sigmoid(x) - exact).max() < 5e-5


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"ids": np.full(12, N_WORDS, np.int32), "offsets": np.array([0, 12])}, "ids"),
        ({"offsets": np.array([0, 5, 3])}, "offsets"),
        ({"alias": np.full(N_WORDS, -1, np.int32)}, "alias"),
        ({"coin": np.zeros(3, np.uint64)}, "coin"),
        ({"keep": np.ones(N_WORDS)}, "keep"),
        ({"window": 0}, "window"),
        ({**pieces(), "pieces": np.full_like(pieces()["pieces"], N_WORDS)}, "pieces"),
        ({**pieces(), "borders": None}, "pieces"),
    ],
)
def test_what_would_be_read_past_its_end_is_refused(changed, complaint):
    with pytest.raises(InputError, match=complaint):
        kernels.train_skipgram(job(**changed), *matrices(), 0, 0, 1)


def test_rows_that_are_not_padded_are_refused():
    rows = np.zeros((N_WORDS, 20), np.float32)
    with pytest.raises(InputError, match="multiple of 16"):
        kernels.train_skipgram(job(), rows, rows.copy(), 0, 0, 1)
