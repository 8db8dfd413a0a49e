"""Linear classifiers, their penalties, samples, folds and calibration."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from pmeans.errors import InputError
from pmeans.transfer import linear, selection
from pmeans.transfer.linear import calibration, platt, probabilities, temperature


def problem(n=300, dim=6, n_classes=3, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, dim)).astype(np.float32) * 2 + 1
    scores = x @ rng.standard_normal((dim, n_classes)) + noise * rng.standard_normal((n, n_classes))
    return x, (scores - scores.mean(axis=0)).argmax(axis=1)


def centred_square(x):
    return float(np.square(x - x.mean(axis=0)).sum() / len(x))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_regression_is_scikit_learns(n_classes):
    x, y = problem(n_classes=n_classes)
    got = linear.fit("logistic", x, y, n_classes, 1e-2)
    other = LogisticRegression(C=1 / (1e-2 * centred_square(x) * len(x)), tol=1e-3).fit(x, y)
    p = probabilities(got.decide(x), multi_label=False)
    # atol: both stop where the gradient is below 1e-3.
    np.testing.assert_allclose(p, other.predict_proba(x), atol=1e-2)


@pytest.mark.parametrize("dim", [6, 400], ids=["more rows", "more columns"])
def test_ridge_regression_is_scikit_learns(dim):
    x, y = problem(dim=dim)
    got = linear.fit("ridge", x, y, 3, 1e-2)
    other = Ridge(alpha=1e-2 * centred_square(x) * len(x)).fit(x, np.eye(3)[y])
    np.testing.assert_allclose(got.decide(x), other.predict(x), atol=1e-4)  # atol: float32


@pytest.mark.parametrize("dim", [6, 400], ids=["more rows", "more columns"])
def test_classes_may_be_solved_for_some_at_a_time(dim, monkeypatch):
    x, y = problem(dim=dim, n_classes=5)
    whole = linear.fit("ridge", x, y, 5, 0.01).decide(x)
    monkeypatch.setattr(linear, "_CLASSES", 2)
    # rtol, atol: BLAS adds in another order.
    np.testing.assert_allclose(
        linear.fit("ridge", x, y, 5, 0.01).decide(x), whole, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("dim", [6, 400], ids=["more rows", "more columns"])
def test_balanced_ridge_regression_is_scikit_learns(dim):
    x, y = problem(dim=dim)
    weight = len(y) / 3 / np.bincount(y)[y]
    mean = np.average(x, axis=0, weights=weight)
    alpha = 1e-2 * float((weight[:, None] * np.square(x - mean)).sum())
    got = linear.fit("ridge", x, y, 3, 1e-2, balanced=True)
    other = Ridge(alpha=alpha).fit(x, np.eye(3)[y], sample_weight=weight)
    np.testing.assert_allclose(got.decide(x), other.predict(x), atol=1e-4)  # atol: float32


@pytest.mark.parametrize("method", ["logistic", "ridge"])
def test_a_penalty_means_the_same_for_repeated_and_scaled_rows(method):
    x, y = problem()
    one = linear.fit(method, x, y, 3, 1e-2).decide(x)
    other = linear.fit(method, np.tile(x, (3, 1)) * 10, np.tile(y, 3), 3, 1e-2).decide(x * 10)
    assert np.abs(one - other).max() < 0.05 * np.abs(one).max()  # both stop a little early


def test_a_warm_start_ends_where_a_cold_one_does():
    x, y = problem(n_classes=2)
    cold = linear.fit("logistic", x, y, 2, 1e-3)
    warm = linear.fit("logistic", x, y, 2, 1e-3, start=linear.fit("logistic", x, y, 2, 1e-1))
    np.testing.assert_allclose(warm.decide(x), cold.decide(x), atol=0.1)  # as above


def test_labels_that_all_rows_have_or_none_has_are_constants():
    x, y = problem(n_classes=2)
    labels = np.stack([y == 1, np.ones(len(y), bool), np.zeros(len(y), bool)], axis=1)
    got = linear.fit("logistic", x, labels, 3, 1e-2)
    assert not got.weights[1:].any()
    assert got.bias[1] > 4 > -4 > got.bias[2]


def test_balancing_thousands_of_labels_is_refused():
    x, _ = problem()
    with pytest.raises(InputError, match="one label a row"):
        linear.fit("ridge", x, np.ones((len(x), 3), bool), 3, 1e-2, balanced=True)


def test_the_temperature_finds_the_scale_that_made_the_labels():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((20000, 4)).astype(np.float32) * 2
    y = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    assert temperature(truth * 7, y) == pytest.approx(7, rel=0.05)  # rel: 20,000 draws


def test_decisions_that_are_always_right_keep_a_finite_slope():
    decisions = np.eye(2, dtype=np.float32)[[0, 1] * 20]
    p = probabilities(decisions / np.float32(temperature(decisions, np.array([0, 1] * 20))), False)
    assert 0.9 < p.max() < 1


def test_platt_finds_slope_and_offset_of_each_label():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((20000, 2)) * 2 + [0.5, -1]
    y = truth > rng.logistic(size=truth.shape)
    slopes, offsets = platt(((truth - 1) * [5, 0.2]).astype(np.float32), y)
    np.testing.assert_allclose(slopes, [0.2, 5], rtol=0.05)  # rtol, atol: 20,000 draws
    np.testing.assert_allclose(offsets, [1, 1], atol=0.1)


def test_calibration_never_turns_a_label_round():
    decisions = np.array([[-1], [1]] * 10, dtype=np.float32)
    assert calibration(decisions, decisions < 0).slope == [0]


def dealt(y):
    return selection.folds(np.array(y), np.random.default_rng(0), np.arange(len(y)))


def test_the_only_row_of_a_class_is_never_held_out():
    fold = dealt([0] * 6 + [1] * 2 + [2])
    assert fold[-1] == -1
    assert fold[6] != fold[7]
    assert np.bincount(fold[:6]).tolist() == [2, 2, 2]


@pytest.mark.parametrize("labels", ["classes", "several"])
def test_rows_of_one_text_are_never_on_both_sides_of_a_fold(labels):
    rng = np.random.default_rng(1)
    groups = rng.integers(40, size=200)
    y = rng.integers(3, size=200) if labels == "classes" else rng.random((200, 3)) < 0.4
    fold = selection.folds(y, np.random.default_rng(0), groups)
    for group in range(40):
        assert len(set(fold[groups == group])) <= 1
    assert set(fold.tolist()) == {0, 1, 2}


def test_a_class_is_never_held_out_as_a_whole():
    # Class 1 has two texts, which class 0 has too, class 2 has one text five times.
    y = np.array([0] * 12 + [1, 1] + [2] * 5)
    groups = np.array([*range(12), 3, 7, *[20] * 5])
    for seed in range(20):
        fold = selection.folds(y, np.random.default_rng(seed), groups)
        assert (fold[y == 2] == -1).all()
        for k in range(3):
            assert set(y[fold != k].tolist()) == {0, 1, 2}


def test_folds_without_repeated_texts_are_dealt_class_by_class():
    y = np.array([0] * 6 + [1] * 2 + [2])
    several = np.eye(3, dtype=bool)[y]
    for each in (y, several):
        alone = selection.folds(each, np.random.default_rng(5), np.arange(9))
        order = np.lexsort((np.random.default_rng(5).random(9), y))[:8]
        expected = np.full(9, -1)
        expected[order] = np.arange(8) % 3
        if each is several:
            expected[np.random.default_rng(5).permutation(9)] = np.arange(9) % 3
        assert alone.tolist() == expected.tolist()


def test_a_sample_has_all_classes_by_their_shares():
    y = np.repeat([0, 1], [9000, 1000])
    rows = selection.Examples(np.zeros((10000, 1), np.float32), y, 2, False, np.arange(10000))
    got = selection.sample(rows, np.random.default_rng(0))
    assert np.bincount(got.y).tolist() == [1800, 200]


def test_a_sample_of_thousands_of_classes_has_all_rows_of_some():
    y = np.repeat(np.arange(1000), 5)
    rows = selection.Examples(np.zeros((5000, 1), np.float32), y, 1000, False, np.arange(5000))
    got = selection.sample(rows, np.random.default_rng(0))
    assert got.n_classes == 400
    assert set(np.bincount(got.y).tolist()) == {5}
