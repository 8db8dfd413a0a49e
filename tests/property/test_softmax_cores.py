"""The cores train the classifiers of the specification, alone or in any company."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmeans import kernels
from pmeans.kernels.softmax import FitGroup, FitRule, train_group


@st.composite
def groups(draw, fewest=1):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.sampled_from([2, 2, 3, 4, 6, 9, 100]))
    dim = draw(st.integers(1, 70) | st.sampled_from([128, 159]))
    n_train, n_dev = draw(st.integers(1, 80)), draw(st.integers(1, 80))
    n, fits = n_train + n_dev, draw(st.integers(fewest, 6))
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    x = rng.normal(size=(n, dim)) + rng.normal(size=(n_classes, dim))[labels]
    x[rng.random(n) < draw(st.sampled_from([0, 0.1]))] = 0
    x[:, rng.random(dim) < draw(st.sampled_from([0, 0.1]))] = 0
    rows = rng.permutation(n).astype(np.int32)
    return FitGroup(
        x=x.astype(np.float32),
        labels=labels,
        train=rows[:n_train],
        dev=rows[n_train:],
        seed=draw(st.integers(0, 2**32 - 1)),
        drawn=draw(st.sampled_from([0, 1, n])),
        weights=rng.normal(scale=0.1, size=(n_classes, dim)).astype(np.float32),
        bias=rng.normal(scale=0.1, size=n_classes).astype(np.float32),
        rates=tuple(rng.choice([1e-3, 1e-2], fits).tolist()),
        l2=tuple(rng.choice([0, 1e-4, 1e-2], fits).tolist()),
    )


RULES = st.builds(
    FitRule,
    batch=st.sampled_from([1, 7, 32, 64, 200]),
    epochs_a_round=st.integers(1, 2),
    max_epochs=st.integers(1, 4),
    patience=st.integers(1, 3),
    patience_resets=st.booleans(),
    loss=st.sampled_from(["sum", "mean"]),
    measure=st.sampled_from(["accuracy", "macro-f1"]),
)


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)
        np.testing.assert_array_equal(a.bias, b.bias)
        assert (a.score, a.epochs) == (b.score, b.epochs)


# The same examples each time: of some thousand, one has a gradient that is all cancellation.
@settings(max_examples=80, derandomize=True)
@given(group=groups(), rule=RULES)
def test_core_trains_as_the_specification_says(group, rule):
    [fits] = kernels.train_classifiers([group], rule)
    for got, expected in zip(fits, train_group(group, rule), strict=True):
        # A development row within rounding of the border between two classes could be counted
        # differently; over these few epochs of random numbers none comes so near.
        assert (got.score, got.epochs) == (expected.score, expected.epochs)
        off = np.abs(np.column_stack([got.weights - expected.weights, got.bias - expected.bias]))
        # Adam divides a gradient by its own size. Where rows cancel to some 1e-8, what rounding
        # has left of it counts like any other: one in a thousand may be off by part of a step.
        assert np.count_nonzero(off > 1e-4) <= off.size // 1000
        assert off.max() < 1e-2


@settings(max_examples=20)
@given(some=st.lists(groups(), min_size=1, max_size=6), rule=RULES, n_threads=st.integers(2, 4))
def test_threads_and_other_groups_change_no_bit(some, rule, n_threads):
    together = kernels.train_classifiers(some, rule, n_threads=n_threads)
    for group, fits in zip(some, together, strict=True):
        assert_same(fits, kernels.train_classifiers([group], rule, n_threads=1)[0])


@settings(max_examples=40)
@given(group=groups(fewest=2), rule=RULES)
def test_other_classifiers_of_the_group_change_no_bit(group, rule):
    [together] = kernels.train_classifiers([group], rule)
    for fit, rate, l2 in zip(together, group.rates, group.l2, strict=True):
        alone = replace(group, rates=(rate,), l2=(l2,))
        assert_same([fit], kernels.train_classifiers([alone], rule)[0])


@pytest.mark.skipif(kernels.backend() == "numpy", reason="instruction sets of the native core")
@pytest.mark.parametrize("isa", ["baseline", "avx2"])
@settings(max_examples=40)
@given(group=groups(), rule=RULES)
def test_every_instruction_set_gives_the_same_bits(isa, group, rule):
    best, other = (kernels.core.train_classifiers([group], rule, 1, name) for name in ("", isa))
    for a, b in zip(best[0], other[0], strict=True):
        np.testing.assert_array_equal(a[0], b[0])
        np.testing.assert_array_equal(a[1], b[1])
        assert a[2:] == b[2:]
