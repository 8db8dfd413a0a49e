"""Results made up for tests of what is done with results."""

import numpy as np

from pmeans_lab.evaluation.cells import Cell


def splits(values, **changes):
    """A cell with a score for every fold or repetition."""
    n = len(values)
    of_each = {"n_train": 900, "n_test": 100} | {
        key: changes.pop(key) for key in ("n_train", "n_test") if key in changes
    }
    made = {
        "id": "c0ffee000000",
        "encoder": "0123456789ab",
        "dim": 300,
        "task": "MR",
        "data": "da7a00000000",
        "protocol": "senteval-2018",
        "version": 1,
        "settings": {},
        "train_lang": "en",
        "test_lang": "en",
        "measure": "accuracy",
        "coverage": {"googlenews": 0.95},
        "seconds": 1.5,
        "versions": {"pmeans": "0.1.0"},
        "seeds": tuple(range(n)),
        "values": tuple(map(float, values)),
        "dev": (81.0,) * n,
        "chosen": {"l2": (0.001,) * n},
        **{key: (value,) * n for key, value in of_each.items()},
    }
    return Cell(**made | changes)


def result(value=80.0, **changes):
    """A cell with one score of a fixed test set."""
    return splits([value], **{"seeds": (1111,)} | changes)


def noisy(mean, seed, n=10, spread=1.0, **changes):
    """Scores about a mean; with equal seeds, encoders differ by their means alone."""
    noise = np.random.default_rng(seed).normal(size=n)
    noise -= noise.mean()
    return splits(mean + spread * noise, **changes)


def fixed(gold, predicted, **changes):
    """One score of a fixed test set with its predictions, as strings of digits."""
    right = 100 * float(np.mean([g == p for g, p in zip(gold, predicted, strict=True)]))
    return result(right, n_test=len(gold), gold=(gold,), predicted=(predicted,), **changes)
