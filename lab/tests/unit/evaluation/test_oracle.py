"""The plain torch protocols and the NumPy specification of the kernel agree fit by fit."""

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold

import oracle
from pmeans.kernels.softmax import FitGroup, FitRule, train_group
from pmeans_lab.evaluation.random_splits import glorot, linear

torch = pytest.importorskip("torch")

SENTEVAL = FitRule(64, 4, 200, 6, False, "sum", "accuracy")
UKP = FitRule(32, 1, 1000, 5, True, "mean", "macro-f1")
N, DIM, N_CLASSES = 150, 10, 3


@pytest.fixture(scope="module", autouse=True)
def penalties():
    """Penalties that matter to a hundred rows of ten numbers; SentEval's would not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oracle, "L2", (0.01, 3.0, 10.0, 100.0))
        yield


@pytest.fixture(scope="module")
def problem():
    """Rows of three overlapping classes of unlike size."""
    rng = np.random.default_rng(11)
    labels = rng.choice(N_CLASSES, N, p=[0.5, 0.3, 0.2])
    centres = rng.normal(0, 0.7, (N_CLASSES, DIM))
    return (centres[labels] + rng.normal(0, 1, (N, DIM))).astype(np.float32), labels


@pytest.fixture(scope="module")
def nested(problem):
    return oracle.senteval_nested(*problem, folds=3)


def trained(problem, train, dev, *, seed, drawn, first, rates, l2, rule):
    x, labels = problem
    train, dev = train.astype(np.int32), dev.astype(np.int32)
    labels = labels.astype(np.int32)
    return train_group(FitGroup(x, labels, train, dev, seed, drawn, *first, rates, l2), rule)


def senteval(problem, train, dev, l2, drawn=0):
    return trained(
        problem, train, dev, seed=1111, drawn=drawn, first=linear(1111, N_CLASSES, DIM),
        rates=(1e-3,) * len(l2), l2=l2, rule=SENTEVAL,
    )  # fmt: skip


def test_every_inner_fit_of_senteval_is_that_of_the_specification(problem, nested):
    _, labels = problem
    for split, (outer, _) in enumerate(oracle.stratified_folds(labels, 3, 1111)):
        for inner, (train, dev) in enumerate(oracle.stratified_folds(labels[outer], 3, 1111)):
            fits = [fit for fit in nested.fits if (fit.split, fit.inner) == (split, inner)]
            expected = senteval(problem, outer[train], outer[dev], oracle.L2)
            assert [fit.setting for fit in fits] == list(oracle.L2)
            assert [fit.epochs for fit in fits] == [fit.epochs for fit in expected]
            assert [fit.dev for fit in fits] == [fit.score for fit in expected]


def test_every_refit_of_senteval_is_that_of_the_specification(problem, nested):
    x, labels = problem
    for fit, (outer, test) in zip(
        nested.reported, oracle.stratified_folds(labels, 3, 1111), strict=True
    ):
        shuffled = outer[np.random.RandomState(1111).permutation(len(outer))]
        cut = int(0.05 * len(outer))
        dev, train = shuffled[:cut], shuffled[cut:]
        (expected,) = senteval(problem, train, dev, (fit.setting,), drawn=len(outer))
        assert (fit.dev, fit.epochs) == (expected.score, expected.epochs)
        predicted = (x[test] @ expected.weights.T + expected.bias).argmax(axis=1)
        assert fit.test == {"": 100 * np.mean(predicted == labels[test])}


def test_the_penalty_with_the_best_rounded_mean_is_taken_and_the_smaller_of_equals(nested):
    for reported in nested.reported:
        means = [
            round(100 * np.mean([
                fit.dev for fit in nested.fits
                if (fit.split, fit.setting) == (reported.split, l2) and fit.inner is not None
            ]), 2)
            for l2 in oracle.L2
        ]  # fmt: skip
        assert reported.setting == oracle.L2[means.index(max(means))]


def test_translated_rows_are_only_tested(problem, nested):
    x, labels = problem
    other = oracle.senteval_nested(x, labels, folds=3, translations={"same": x, "against": -x})
    assert [fit.dev for fit in other.fits] == [fit.dev for fit in nested.fits]
    for fit, alone in zip(other.reported, nested.reported, strict=True):
        assert fit.test["same"] == fit.test[""] == alone.test[""]
        assert fit.test["against"] < fit.test[""]


def test_a_separate_test_set_leaves_all_rows_to_training(problem):
    x, labels = problem
    outcome = oracle.senteval_train_test(x, labels, {"": x[:50]}, labels[:50], folds=3)
    (reported,) = outcome.reported
    assert len(outcome.fits) == 3 * 4 + 1
    shuffled = np.random.RandomState(1111).permutation(N)
    (expected,) = senteval(problem, shuffled[7:], shuffled[:7], (reported.setting,), drawn=N)
    assert (reported.dev, reported.epochs) == (expected.score, expected.epochs)


def test_a_fixed_development_set_chooses_the_penalty(problem):
    x, labels = problem
    train, dev, test = np.split(np.arange(N), [90, 120])
    outcome = oracle.senteval_fixed(
        x[train], labels[train], x[dev], labels[dev], {"": x[test]}, labels[test]
    )
    expected = senteval(problem, train, dev, oracle.L2)
    assert [fit.dev for fit in outcome.fits] == [fit.score for fit in expected]
    (reported,) = outcome.reported
    assert reported.dev == max(fit.dev for fit in outcome.fits)


def test_every_fit_of_the_random_splits_is_that_of_the_specification(problem):
    x, labels = problem
    outcome = oracle.ukp({"en": x}, labels, "en", repetitions=3)
    for i in range(3):
        shuffled = np.random.RandomState(i).permutation(N)
        first = glorot(i, N_CLASSES, DIM), np.full(N_CLASSES, 0.1, np.float32)
        expected = trained(
            problem, shuffled[60:], shuffled[:30], seed=i, drawn=N, first=first,
            rates=oracle.RATES, l2=(0.0,) * 5, rule=UKP,
        )  # fmt: skip
        fits = [fit for fit in outcome.fits if fit.split == i]
        assert [fit.setting for fit in fits] == list(oracle.RATES)
        assert [fit.epochs for fit in fits] == [fit.epochs for fit in expected]
        assert [fit.dev for fit in fits] == [fit.score for fit in expected]
        for fit, other in zip(fits, expected, strict=True):
            test = shuffled[30:60]
            predicted = (x[test] @ other.weights.T + other.bias).argmax(axis=1)
            assert fit.test == {"en": 100 * oracle.macro_f1(labels[test], predicted)}


def test_the_learning_rate_with_the_best_mean_over_the_splits_is_reported(problem):
    x, labels = problem
    outcome = oracle.ukp({"en": x, "xx": -x}, labels, "en", repetitions=4, rates=(0.0001, 0.01))
    means = {
        rate: np.mean([fit.dev for fit in outcome.fits if fit.setting == rate])
        for rate in (0.0001, 0.01)
    }
    (best,) = {fit.setting for fit in outcome.reported}
    assert means[best] == max(means.values())
    assert [fit.split for fit in outcome.reported] == [0, 1, 2, 3]
    assert all(fit.test["xx"] < fit.test["en"] for fit in outcome.reported)


def test_training_without_progress_ends_at_the_sixth_round_or_the_fifth_epoch():
    x, labels = np.zeros((60, 1), np.float32), np.array([0] * 50 + [1] * 10)
    nested = oracle.senteval_nested(x, labels, folds=3)
    assert {fit.epochs for fit in nested.fits} == {4 * (1 + 6)}
    outcome = oracle.ukp({"en": x}, labels, "en", repetitions=2, rates=(0.05,))
    assert {fit.epochs for fit in outcome.fits} == {1 + 5}


def test_each_class_is_dealt_like_scikit_learns_plain_folds():
    labels = np.random.default_rng(3).choice(3, 101, p=[0.6, 0.3, 0.1])
    folds = oracle.stratified_folds(labels, 5, 1111)
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), range(101))
    for label in range(3):
        rows = np.flatnonzero(labels == label)
        dealt = KFold(5, shuffle=True, random_state=1111).split(rows)
        for (train, test), (own_train, own_test) in zip(folds, dealt, strict=True):
            np.testing.assert_array_equal(test[labels[test] == label], rows[own_test])
            np.testing.assert_array_equal(train[labels[train] == label], rows[own_train])


def test_a_class_smaller_than_the_folds_is_dealt_as_if_it_filled_them():
    labels = np.array([0] * 20 + [1] * 3)
    folds = oracle.stratified_folds(labels, 5, 1111)
    dealt = KFold(5, shuffle=True, random_state=1111).split(np.zeros(5))
    for (_, test), (_, (row,)) in zip(folds, dealt, strict=True):
        assert list(test[labels[test] == 1]) == ([20 + row] if row < 3 else [])


@pytest.mark.parametrize("n_predicted", [1, 2, 4])
def test_macro_f1_is_that_of_scikit_learn(n_predicted):
    rng = np.random.default_rng(n_predicted)
    gold, predicted = rng.integers(0, 3, 50), rng.integers(0, n_predicted, 50)
    expected = f1_score(gold, predicted, average="macro")
    assert oracle.macro_f1(gold, predicted) == pytest.approx(expected, rel=1e-12)
