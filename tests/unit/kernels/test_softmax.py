"""Training of many small classifiers: torch as the witness, stopping by hand, bad input."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans.errors import InputError
from pmeans.kernels import train_classifiers
from pmeans.kernels.softmax import FitGroup, FitRule, measured, train_group

RULE = FitRule(
    batch=8,
    epochs_a_round=1,
    max_epochs=3,
    patience=5,
    patience_resets=True,
    loss="mean",
    measure="accuracy",
)


def problem(n_classes=2, n=40, dim=11, **changed) -> FitGroup:
    """Noisy classes, 30 rows to train on and the others for development."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    x = rng.normal(size=(n, dim)) + rng.normal(size=(n_classes, dim))[labels]
    group = FitGroup(
        x=x.astype(np.float32),
        labels=labels,
        train=rng.permutation(n)[:30].astype(np.int32),
        dev=np.arange(30, n, dtype=np.int32),
        seed=1111,
        drawn=0,
        weights=rng.normal(scale=0.1, size=(n_classes, dim)).astype(np.float32),
        bias=np.full(n_classes, 0.1, np.float32),
        rates=(1e-2, 1e-3),
        l2=(1e-2, 0.0),
    )
    return replace(group, **changed)


def trained_by_torch(group, rule, rate, l2):
    """One classifier the way everybody trains one; returns the weights and bias of the end."""
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(group.x.shape[1], len(group.weights))
    with torch.no_grad():
        layer.weight[:] = torch.from_numpy(group.weights)
        layer.bias[:] = torch.from_numpy(group.bias)
    loss = torch.nn.CrossEntropyLoss(reduction=rule.loss)
    adam = torch.optim.Adam(layer.parameters(), lr=rate, weight_decay=l2)
    generator = np.random.RandomState(group.seed)
    x, y = torch.from_numpy(group.x), torch.from_numpy(group.labels).long()
    for _ in range(rule.max_epochs):
        order = group.train[generator.permutation(len(group.train))]
        for start in range(0, len(order), rule.batch):
            rows = torch.from_numpy(order[start : start + rule.batch]).long()
            adam.zero_grad()
            loss(layer(x[rows]), y[rows]).backward()
            adam.step()
    return layer.weight.detach().numpy(), layer.bias.detach().numpy()


@pytest.mark.parametrize("loss", ["sum", "mean"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_agrees_with_torch(n_classes, loss):
    group = problem(n_classes)
    # One round, after which the weights are the best there have been.
    rule = replace(RULE, loss=loss, max_epochs=6, epochs_a_round=6)
    for fit, rate, l2 in zip(
        train_classifiers([group], rule)[0], group.rates, group.l2, strict=True
    ):
        weights, bias = trained_by_torch(group, rule, rate, l2)
        # 24 steps of 1e-2, each rounded to 24 bits in another order of the sums.
        np.testing.assert_allclose(fit.weights, weights, atol=1e-6)
        np.testing.assert_allclose(fit.bias, bias, atol=1e-6)


def rising(**changed) -> tuple[FitGroup, FitRule]:
    """One step an epoch of one weight and one bias, whose development score rises at 2, 4 and 6.

    The only training row is so wrong that its gradient stays the same, and Adam then moves every
    number by the rate, 1: after epoch t the second class leads by 2t x + 2t - 100. Development
    rows change over at t = 50 / (x + 1).
    """
    x = np.array([[1], [50 / 1.5 - 1], [50 / 3.5 - 1], [50 / 5.5 - 1]], np.float32)
    group = FitGroup(
        x=x,
        labels=np.ones(4, np.int32),
        train=np.array([0], np.int32),
        dev=np.array([1, 2, 3], np.int32),
        seed=0,
        drawn=0,
        weights=np.zeros((2, 1), np.float32),
        bias=np.array([100, 0], np.float32),
        rates=(1.0,),
        l2=(0.0,),
    )
    rule = FitRule(1, 1, 20, 2, False, "sum", "accuracy")
    return group, replace(rule, **changed)


@pytest.mark.parametrize(
    ("changed", "epochs", "score", "best"),
    [
        ({"patience_resets": False}, 5, 2 / 3, 4),  # stale at 3 and 5
        ({"patience_resets": True}, 8, 1, 6),  # stale at 7 and 8
        ({"patience_resets": True, "patience": 1}, 3, 1 / 3, 2),
        ({"patience": 20}, 20, 1, 6),
        ({"patience": 20, "max_epochs": 5}, 5, 2 / 3, 4),
        ({"epochs_a_round": 4, "max_epochs": 5}, 8, 1, 8),  # rounds are not cut short
    ],
)
def test_training_stops_by_the_rule_and_keeps_the_best_weights(changed, epochs, score, best):
    group, rule = rising(**changed)
    [[fit]] = train_classifiers([group], rule)
    assert (fit.epochs, fit.score) == (epochs, score)
    np.testing.assert_allclose(fit.weights, [[-best], [best]], rtol=1e-5)
    np.testing.assert_allclose(fit.bias, [100 - best, best], rtol=1e-5)


def test_rows_come_in_the_order_of_numpys_legacy_generator():
    # Steps of 1 on single rows: any other order ends elsewhere.
    rule = replace(RULE, batch=1, max_epochs=1)
    ends = []
    for changed in ({}, {"seed": 7}, {"drawn": 40}):
        group = problem(rates=(1.0,), l2=(0.0,), **changed)
        [[fit]] = train_classifiers([group], rule)
        np.testing.assert_allclose(fit.weights, train_group(group, rule)[0].weights, atol=1e-3)
        ends.append(fit.weights)
    assert min(np.abs(ends[0] - ends[1]).max(), np.abs(ends[0] - ends[2]).max()) > 0.1


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_first_of_equal_logits_is_predicted(n_classes):
    # One zero row of each class: all logits stay exactly 0.
    labels = np.arange(n_classes, dtype=np.int32)
    group = problem(
        n_classes,
        x=np.zeros((n_classes, 11), np.float32),
        labels=labels,
        train=labels,
        weights=np.zeros((n_classes, 11), np.float32),
        bias=np.zeros(n_classes, np.float32),
    )
    scores = [
        train_classifiers([replace(group, dev=np.array([k], np.int32))], RULE)[0][0].score
        for k in range(n_classes)
    ]
    assert scores == [1] + [0] * (n_classes - 1)


def test_a_column_of_zeros_keeps_its_weights():
    group = problem(3, l2=(0.0, 0.0))
    group.x[:, 4] = 0
    for fit in train_classifiers([group], RULE)[0]:
        np.testing.assert_array_equal(fit.weights[:, 4], group.weights[:, 4])
        assert (fit.weights[:, 5] != group.weights[:, 5]).all()


def test_nothing_to_train_is_no_error():
    assert train_classifiers([], RULE) == []
    assert train_classifiers([problem(rates=(), l2=())], RULE) == [[]]


def test_macro_f1_is_the_mean_over_classes_that_occur():
    gold, predicted = np.array([0, 0, 1, 3]), np.array([0, 1, 1, 1])
    # F1 of class 0: 2/3; of 1: 2/4; of 3: 0; class 2 does not occur.
    assert measured("macro-f1", gold, predicted, 4) == pytest.approx((2 / 3 + 1 / 2) / 3)


def ids(*values) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": np.ones((40, 11))}, "x must be float32 with 2"),
        ({"x": np.ones(40, np.float32)}, "x must be float32 with 2"),
        ({"x": np.ones((11, 40), np.float32).T}, "row by row"),
        ({"x": np.ones((40, 0), np.float32)}, "0 features"),
        ({"x": [[1.0]]}, "not list"),
        ({"x": np.full((40, 11), np.nan, np.float32)}, "NaN or infinity"),
        ({"labels": np.zeros(40)}, "labels must be int32"),
        ({"labels": ids(0, 1)}, r"labels is \(2,\), expected \(40,\)"),
        ({"labels": np.full(40, 2, np.int32)}, "labels names 2; there are 2 classes"),
        ({"labels": np.full(40, -1, np.int32)}, "labels names -1"),
        ({"train": ids()}, "train has no row"),
        ({"dev": ids()}, "dev has no row"),
        ({"train": ids(0, 40)}, "train names 40; there are 40 rows"),
        ({"dev": ids(-1)}, "dev names -1"),
        ({"train": np.array([0])}, "train must be int32"),
        ({"weights": np.zeros((2, 10), np.float32)}, "weights is"),
        ({"weights": np.zeros((1, 11), np.float32)}, "1 classes"),
        ({"weights": np.full((2, 11), np.inf, np.float32)}, "first weights"),
        ({"bias": np.zeros(3, np.float32)}, "bias is"),
        ({"bias": None}, "not NoneType"),
        ({"rates": (1e-3,)}, "1 rates and 2 l2"),
        ({"rates": (0.0, 1.0)}, "rates must be positive"),
        ({"rates": (float("nan"), 1.0)}, "rates must be positive"),
        ({"rates": ("a", 1.0)}, "tuple of numbers"),
        ({"l2": (-1.0, 0.0)}, "l2 must be finite"),
        ({"l2": None}, "tuple of numbers"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 2**32}, "seed must be"),
        ({"seed": 1.5}, "seed must be"),
        ({"drawn": -1}, "drawn must be"),
    ],
)
def test_a_malformed_group_is_refused(changed, message):
    with pytest.raises(InputError, match=f"group 1: .*{message}"):
        train_classifiers([problem(), problem(**changed)], RULE)


def test_a_single_number_that_is_not_finite_is_found():
    for value in (np.nan, np.inf, -np.inf):
        group = problem()
        group.x[17, 3] = value
        with pytest.raises(InputError, match="NaN or infinity"):
            train_classifiers([problem(), group], RULE)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"batch": 0}, "batch"),
        ({"epochs_a_round": -1}, "epochs_a_round"),
        ({"max_epochs": 2**70}, "max_epochs"),
        ({"patience": 1.5}, "patience"),
        ({"loss": "total"}, "neither 'sum' nor 'mean'"),
        ({"measure": "f1"}, "neither 'accuracy' nor 'macro-f1'"),
    ],
)
def test_a_rule_that_cannot_be_followed_is_refused(changed, message):
    with pytest.raises(InputError, match=message):
        train_classifiers([problem()], replace(RULE, **changed))
    with pytest.raises(InputError, match="n_threads"):
        train_classifiers([problem()], RULE, n_threads=0)
