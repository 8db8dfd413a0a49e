"""Results made up for tests of what is done with results."""

import numpy as np

from pmeans.experiments.results import Result


def result(value=80.0, **changes):
    """One score of a fixed test set, or what the changes make of it."""
    values = {
        "cell": "c0ffee000000",
        "encoder": "GN",
        "encoder_id": "0123456789ab",
        "dim": 300,
        "znorm": "none",
        "task": "MR",
        "protocol": "senteval-2018",
        "train_lang": "en",
        "test_lang": "en",
        "split": 0,
        "seed": 1111,
        "measure": "accuracy",
        "value": value,
        "dev": 81.0,
        "chosen": {"l2": 0.001},
        "n_train": 900,
        "n_test": 100,
        "coverage": {"googlenews": 0.95},
        "seconds": 1.5,
        "versions": {"pmeans": "0.1.0"},
    }
    return Result(**values | changes)


def splits(values, **changes):
    """One score for every fold or repetition."""
    return [result(value, split=i, seed=i, **changes) for i, value in enumerate(values)]


def noisy(mean, seed, n=10, spread=1.0, **changes):
    """Scores about a mean; with equal seeds, encoders differ by their means alone."""
    noise = np.random.default_rng(seed).normal(size=n)
    noise -= noise.mean()
    return splits(mean + spread * noise, **changes)


def fixed(gold, predicted, **changes):
    """One score of a fixed test set with its predictions, as strings of digits."""
    right = 100 * float(np.mean([g == p for g, p in zip(gold, predicted, strict=True)]))
    return [result(right, n_test=len(gold), gold=gold, predicted=predicted, **changes)]
