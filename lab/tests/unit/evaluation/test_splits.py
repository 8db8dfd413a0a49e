import numpy as np
import pytest

from pmeans_lab.evaluation.random_splits import held_out, stratified_folds, subsample

LABELS = np.array([0] * 23 + [1] * 14 + [2] * 10)


def test_every_row_is_tested_in_exactly_one_fold():
    folds = stratified_folds(LABELS, 5, 1111)
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested) == list(range(len(LABELS)))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(len(LABELS)))


def test_folds_hold_every_class_in_equal_shares():
    counts = [np.bincount(LABELS[test]) for _, test in stratified_folds(LABELS, 5, 1111)]
    assert (np.ptp(counts, axis=0) <= 1).all()


def test_each_class_is_shuffled_by_the_same_fresh_generator():
    # Two classes of equal size, one after the other: fold by fold the same places of each. This
    # holds for scikit-learn up to 0.21, and for no later version.
    folds = stratified_folds(np.repeat([0, 1], 20), 4, 1111)
    for _, test in folds:
        np.testing.assert_array_equal(test[test < 20], test[test >= 20] - 20)


def test_the_first_folds_take_the_rows_left_over():
    sizes = [len(test) for _, test in stratified_folds(np.zeros(13, int), 5, 1111)]
    assert sizes == [3, 3, 3, 2, 2]


def test_a_fold_is_cut_from_the_legacy_permutation():
    order = np.random.RandomState(7).permutation(10)
    _, test = stratified_folds(np.zeros(10, int), 5, 7)[1]
    np.testing.assert_array_equal(test, np.sort(order[2:4]))


def test_rows_of_a_scarce_class_go_to_some_folds_only():
    labels = np.array([0] * 20 + [1] * 3)
    counts = [
        np.bincount(labels[test], minlength=2)[1] for _, test in stratified_folds(labels, 5, 1)
    ]
    assert sum(counts) == 3


def test_a_subsample_is_one_permutation_dev_first_then_test():
    train, dev, test = subsample(450, 3)
    order = np.random.RandomState(3).permutation(450)
    np.testing.assert_array_equal(np.concatenate([dev, test, train]), order)
    assert (len(dev), len(test), len(train)) == (90, 90, 270)


@pytest.mark.parametrize("n", [7141, 6000, 451, 11])
def test_subsamples_use_every_row_once(n):
    assert sorted(np.concatenate(subsample(n, 0))) == list(range(n))


def test_what_is_held_out_comes_first_in_the_permutation():
    kept, aside = held_out(3398, 0.05, 1111)
    order = np.random.RandomState(1111).permutation(3398)
    assert len(aside) == 169
    np.testing.assert_array_equal(np.concatenate([aside, kept]), order)
