"""How rows are divided: the folds of the paper's toolkit, and the subsamples of its program.

Both draw from NumPy's legacy generator, as the originals did, and its streams are frozen: the same
seed gives the same rows everywhere and for good.
"""

from __future__ import annotations

import numpy as np

from pmeans.types import Array, Ids

Fold = tuple[Ids, Ids]
"""Training rows and test rows, ascending."""


def stratified_folds(labels: Array, k: int, seed: int) -> list[Fold]:
    """Cut rows into k folds that hold every class in equal shares.

    This is the rule of scikit-learn 0.19, which was current in January 2018: every class is
    shuffled by a fresh generator of the same seed and cut on its own. Later versions deal the
    classes out differently, so their folds are others.

    Args:
        labels: Class of each row, (n,).
        k: Number of folds.
        seed: Seeds the generator.

    Returns:
        For each fold its training and its test rows.
    """
    fold_of = np.empty(len(labels), dtype=np.int32)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        order = np.random.RandomState(seed).permutation(max(len(rows), k))
        for fold, piece in enumerate(np.array_split(order, k)):
            fold_of[rows[piece[piece < len(rows)]]] = fold
    every = [fold_of == fold for fold in range(k)]
    return [(_rows(~test), _rows(test)) for test in every]


def subsample(n: int, seed: int) -> tuple[Ids, Ids, Ids]:
    """Draw training, development and test rows: 60, 20 and 20 per cent of one permutation.

    Returns:
        Training rows (the last 60 per cent of the permutation), development rows (the first 20),
        test rows (the next 20), each in the order of the permutation.
    """
    order = np.random.RandomState(seed).permutation(n).astype(np.int32)
    fifth = int(0.2 * n)
    return order[2 * fifth :], order[:fifth], order[fifth : 2 * fifth]


def held_out(n: int, share: float, seed: int) -> tuple[Ids, Ids]:
    """Set a random share of n rows aside: returns the other rows and them, as permuted."""
    order = np.random.RandomState(seed).permutation(n).astype(np.int32)
    size = int(share * n)
    return order[size:], order[:size]


def _rows(mask: Array) -> Ids:
    return np.flatnonzero(mask).astype(np.int32)
