"""The batched engine trains what `train_group` trains, many at a time."""

import dataclasses

import numpy as np
import pytest

from pmeans.errors import InputError
from pmeans.kernels.softmax import FitGroup, FitRule, train_group
from pmeans_lab.evaluation.random_splits import linear

torch = pytest.importorskip("torch")
torch_engine = pytest.importorskip("pmeans_lab.evaluation.torch_engine")

SUMMED = FitRule(16, 4, 60, 6, False, "sum", "accuracy")
AVERAGED = FitRule(8, 1, 100, 5, True, "mean", "macro-f1")
N, DIM, N_CLASSES = 150, 12, 3


@pytest.fixture(scope="module")
def problem():
    """Rows of three overlapping classes."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, N_CLASSES, N).astype(np.int32)
    centres = rng.normal(0, 0.6, (N_CLASSES, DIM))
    return (centres[labels] + rng.normal(0, 1, (N, DIM))).astype(np.float32), labels


def group(problem, seed, n_train=100, n_dev=40, drawn=0, fits=4):
    x, labels = problem
    rows = np.random.default_rng(seed).permutation(N).astype(np.int32)
    weights, bias = linear(seed, N_CLASSES, DIM)
    return FitGroup(
        x, labels, rows[:n_train], rows[n_train : n_train + n_dev], seed, drawn, weights, bias,
        rates=(0.05, 0.01, 0.002, 0.0005)[:fits], l2=(0.0, 1e-4, 1e-3, 1e-1)[:fits],
    )  # fmt: skip


def check(groups, rule):
    trained = torch_engine.train_classifiers(groups, rule, "cpu")
    assert len(trained) == len(groups)
    for got, given in zip(trained, groups, strict=True):
        expected = train_group(given, rule)
        assert [fit.epochs for fit in got] == [fit.epochs for fit in expected]
        assert [fit.score for fit in got] == [fit.score for fit in expected]
        for one, other in zip(got, expected, strict=True):
            # Sums of float32 in another order, over some hundred steps of Adam.
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(one.bias, other.bias, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("rule", [SUMMED, AVERAGED])
def test_one_group_trains_as_specified(problem, rule):
    check([group(problem, 1)], rule)


@pytest.mark.parametrize("rule", [SUMMED, AVERAGED])
def test_classifiers_that_train_together_do_not_touch_each_other(problem, rule):
    groups = [group(problem, seed) for seed in range(6)]
    epochs = {fit.epochs for each in groups for fit in train_group(each, rule)}
    assert len(epochs) > 3  # or there would be no stopping points to keep apart
    check(groups, rule)


def test_groups_of_unlike_sizes_train_in_one_call(problem):
    # 96 rows are six steps of sixteen, 97 are seven, and 100 end within a minibatch.
    sizes = [(97, 40, 4), (96, 40, 4), (100, 13, 4), (110, 40, 1), (97, 30, 4)]
    groups = [group(problem, 3, n_train, n_dev, fits=fits) for n_train, n_dev, fits in sizes]
    for rule in (SUMMED, AVERAGED):
        check(groups, rule)


def test_groups_of_several_matrices_keep_their_order(problem):
    x, labels = problem
    other = (-x, labels)
    check([group(problem, 1), group(other, 1), group(problem, 2), group(other, 2)], SUMMED)


def test_a_permutation_drawn_before_is_skipped(problem):
    check([group(problem, 5, drawn=140), group(problem, 5)], SUMMED)


def test_the_memory_bound_changes_no_result(problem, monkeypatch):
    groups = [group(problem, seed) for seed in range(5)]
    # Rows of 16 columns: two groups at a time.
    monkeypatch.setattr(torch_engine, "GATHERED", 2 * torch_engine.DEV_ROWS * 16 * 4)
    check(groups, SUMMED)


def test_many_development_rows_are_scored_in_pieces(problem, monkeypatch):
    monkeypatch.setattr(torch_engine, "DEV_ROWS", 7)
    check([group(problem, seed) for seed in range(2)], AVERAGED)


def test_training_ends_at_the_last_epoch_allowed(problem):
    rule = dataclasses.replace(SUMMED, max_epochs=8)
    (fits,) = torch_engine.train_classifiers([group(problem, 1)], rule, "cpu")
    assert [fit.epochs for fit in fits] == [8, 8, 8, 8]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")
def test_a_device_that_is_not_there_is_an_error(problem):
    with pytest.raises(InputError, match="no CUDA for device 'cuda:1'"):
        torch_engine.train_classifiers([group(problem, 1)], SUMMED, "cuda:1")
