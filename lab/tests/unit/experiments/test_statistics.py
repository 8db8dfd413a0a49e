"""Against scipy where it has the same test, else by hand or by simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from some_results import fixed, noisy, result, splits

from pmeans.errors import InputError
from pmeans_lab.experiments import statistics
from pmeans_lab.experiments.statistics import (
    Interval,
    average,
    average_comparison,
    compare,
    holm,
    interval,
)

A, B = [80.0, 82, 78, 81, 85], [79.0, 80, 79, 78, 81]


def test_corrected_interval_is_that_of_a_calculation_by_hand():
    # mean 81.2, s² = (1.44 + 0.64 + 10.24 + 0.04 + 14.44) / 4 = 6.7, rho = 30/90;
    # error = sqrt((1/5 + 1/3) * 6.7) = 1.890326, t(0.975, 4) = 2.776445
    got = interval(splits(A, n_test=30, n_train=90))
    assert (got.mean, got.error, got.df) == (pytest.approx(81.2), pytest.approx(1.8903262505), 4)
    assert (got.low, got.high) == pytest.approx((81.2 - 5.248387, 81.2 + 5.248387), abs=1e-5)


def test_corrected_test_is_that_of_a_calculation_by_hand():
    # differences 1 2 -1 3 4: mean 1.8, s² = 3.7, error = sqrt((1/5 + 1/3) * 3.7) = 1.404754;
    # t = 1.281363 with 4 degrees of freedom: p = 0.26929
    got = compare(splits(A, n_test=30, n_train=90), splits(B, n_test=30, n_train=90))
    assert got.mean == pytest.approx(1.8)
    assert got.error == pytest.approx(1.404754, abs=1e-6)
    assert got.p == pytest.approx(2 * stats.t.sf(1.281363, 4), abs=1e-6)
    assert (got.low, got.high) == pytest.approx((1.8 - 3.900222, 1.8 + 3.900222), abs=1e-5)


def test_without_the_correction_it_is_scipys_paired_t_test():
    got = compare(splits(A, n_test=0), splits(B, n_test=0))
    theirs = stats.ttest_rel(A, B)
    assert got.p == pytest.approx(theirs.pvalue)
    assert (got.low, got.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))


def test_splits_with_other_seeds_are_not_matched():
    with pytest.raises(InputError, match="different splits"):
        compare(splits(A), splits(B, seeds=(3, 0, 4, 1, 2)))


def test_wilson_interval_is_scipys():
    got = interval(result(97.0, n_test=500))
    theirs = stats.binomtest(485, 500).proportion_ci(0.95, method="wilson")
    assert (got.low, got.high) == pytest.approx((100 * theirs.low, 100 * theirs.high))


def test_a_perfect_score_is_not_certain():
    got = interval(result(100.0, n_test=100))
    assert got.low < 97
    assert got.high == 100


def test_scores_that_are_all_alike_are_not_certain():
    got = interval(splits([100.0] * 5, n_test=20))
    low, high = stats.binomtest(20, 20).proportion_ci(method="wilson")
    assert (got.low, got.high) == pytest.approx((100 * low, 100 * high))


def test_macro_f1_of_a_fixed_test_set_has_a_bootstrap_interval():
    gold, predicted = "0011" * 50, "0111" * 50
    got = interval(fixed(gold, predicted, measure="macro-f1"))
    assert got.low < 100 * np.mean([2 / 3, 4 / 5]) < got.high
    assert got.high - got.low == pytest.approx(2 * 1.96 * got.error, rel=0.05)


def test_a_single_score_without_predictions_has_no_interval():
    assert math.isnan(interval(result(measure="macro-f1")).error)


def test_repeated_random_splits_cover_the_truth():
    """Scores with the correlation that the correction assumes: 95 % of the intervals hold."""
    rng = np.random.default_rng(1)
    rho, n, covered = 0.25, 10, 0  # rho = n_test / (n_test + n_train), as for 25 and 75 rows
    for _ in range(400):
        shared, own = rng.normal(), rng.normal(size=n)
        values = 70 + 2 * (math.sqrt(rho) * shared + math.sqrt(1 - rho) * own)
        got = interval(splits(values, n_test=25, n_train=75))
        covered += got.low <= 70 <= got.high
    # Three standard errors of a share of 0.95 among 400 are 0.033.
    assert 0.917 <= covered / 400 <= 0.983


def test_bootstrap_agrees_with_plain_resampling_of_rows():
    rng = np.random.default_rng(0)
    gold, one, other = (rng.integers(0, 3, 60) for _ in range(3))
    digits = ["".join(map(str, each)) for each in (gold, one, other)]
    a, b = fixed(digits[0], digits[1]), fixed(digits[0], digits[2])
    got = compare(a, b)
    rows = rng.integers(0, 60, (10_000, 60))
    plain = 100 * ((gold == one)[rows].mean(axis=1) - (gold == other)[rows].mean(axis=1))
    assert got.test == "paired bootstrap"
    assert got.mean == pytest.approx(a.values[0] - b.values[0])
    # Two bootstraps of 10,000 draws: their spread agrees within 2 %, their ends within a row.
    assert got.error == pytest.approx(plain.std(), rel=0.03)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(plain, [0.025, 0.975])), abs=1.7)


def test_bootstrap_macro_f1_is_sklearns():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(0)
    gold, one, other = (rng.integers(0, 4, 50) for _ in range(3))
    each_once = np.ones((1, 50), dtype=int)
    got = statistics._scores(np.stack([gold, one, other]), each_once, "macro-f1")[:, 0]
    theirs = [100 * f1_score(gold, each, average="macro") for each in (one, other)]
    np.testing.assert_allclose(got, theirs)


def test_bootstrap_skips_a_class_that_a_sample_lacks():
    # Every class is always predicted right: whatever is drawn, macro-F1 is 100.
    rows = np.array([[0, 0, 0, 0, 1], [0, 0, 0, 0, 1]])
    got = statistics._resampled(rows, "macro-f1", np.random.default_rng(0))
    np.testing.assert_allclose(got, 100)


def test_bootstrap_p_value_agrees_with_mcnemars_exact_test():
    # 24 rows that only A gets right, 8 that only B does, 168 alike.
    gold = "0" * 200
    a = fixed(gold, "0" * 24 + "1" * 8 + "0" * 168)
    b = fixed(gold, "1" * 24 + "0" * 8 + "0" * 168)
    exact = stats.binomtest(8, 32).pvalue
    # The one takes the rows as drawn, the other the discordant ones as given: 0.004 and 0.007.
    assert compare(a, b).p == pytest.approx(exact, abs=0.005)
    assert compare(a, b).p > 0


def test_equal_predictions_are_no_difference():
    a = fixed("0101", "0111")
    got = compare(a, a)
    assert (got.mean, got.p, got.low, got.high) == (0, 1, 0, 0)


def test_bootstrap_finds_few_differences_where_there_are_none():
    rng, found = np.random.default_rng(3), 0
    for _ in range(200):
        one, other = ("".join("01"[int(each)] for each in rng.random(150) < 0.3) for _ in range(2))
        found += compare(fixed("0" * 150, one), fixed("0" * 150, other)).p < 0.05
    # Three standard errors above 10 of 200.
    assert found <= 19


def test_bootstrap_is_offered_for_folds_over_the_rows_of_all():
    a = splits([100] * 3, gold=("0011",) * 3, predicted=("0011",) * 3)
    b = splits([50] * 3, gold=("0011",) * 3, predicted=("0110",) * 3)
    got = compare(a, b, test="paired bootstrap")
    assert (got.test, got.mean) == ("paired bootstrap", 50)


def test_the_same_generator_state_gives_the_same_interval():
    a, b = fixed("0110" * 9, "0111" * 9), fixed("0110" * 9, "1110" * 9)
    draws = [compare(a, b, rng=np.random.default_rng(7)) for _ in range(2)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize(
    ("b", "said"),
    [
        (splits(B[:4]), "different splits"),
        (splits(B, n_test=99), "different splits"),
        (splits(B, task="CR"), "cannot be compared"),
        (splits(B, test_lang="de"), "cannot be compared"),
        (splits(B, protocol="modern"), "cannot be compared"),
    ],
)
def test_results_that_do_not_match_are_refused(b, said):
    with pytest.raises(InputError, match=said):
        compare(splits(A), b)


def test_a_fixed_test_set_without_predictions_is_refused():
    with pytest.raises(InputError, match="hold no predictions"):
        compare(result(), result())


def test_predictions_of_other_rows_are_refused():
    with pytest.raises(InputError, match="different rows"):
        compare(fixed("0011", "0000"), fixed("0101", "0000"))


def test_a_t_test_of_a_single_split_is_refused():
    with pytest.raises(InputError, match="use the bootstrap"):
        compare(fixed("01", "01"), fixed("01", "01"), test="corrected t-test")


def test_differences_without_spread_are_judged_by_their_signs():
    assert compare(splits([81, 82]), splits([80, 81])).p == 0.5
    assert compare(splits([80, 81]), splits([80, 81])).p == 1


def test_holm_is_that_of_a_calculation_by_hand():
    # sorted 0.01 0.02 0.03 0.04, times 4 3 2 1: 0.04 0.06 0.06 0.04, never falling
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_stays_at_one_and_below():
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_tasks_are_independent_and_their_errors_cancel():
    got = average(
        [Interval(70, 64, 76, 3.0, math.inf), Interval(80, 72, 88, 4.0, math.inf)], independent=True
    )
    assert (got.mean, got.error) == (75, 2.5)
    assert got.high - got.mean == pytest.approx(2.5 * 1.959964, abs=1e-5)


def test_degrees_of_freedom_of_an_average_are_welchs():
    a, b = [1.0, 4, 2, 8], [3.0, 3, 5, 1, 9, 7]
    parts = [interval(splits(each, n_test=0, task=str(i))) for i, each in enumerate((a, b))]
    welch = stats.ttest_ind(a, b, equal_var=False)
    assert average(parts, independent=True).df == pytest.approx(welch.df)


def test_languages_of_a_task_share_their_errors():
    got = average([Interval(70, 64, 76, 3.0, 9), Interval(80, 72, 88, 4.0, 49)], independent=False)
    assert (got.mean, got.error, got.df) == (75, 3.5, 9)


def test_an_average_of_differences_can_be_surer_than_each():
    parts = [compare(noisy(81, i), noisy(80, i + 50)) for i in range(9)]
    together = average_comparison(parts, independent=True)
    assert together.mean == pytest.approx(1)
    assert together.p < min(part.p for part in parts)


def test_a_rank_correlation_has_fishers_interval():
    got = interval(result(60.0, measure="spearman", n_test=1500))
    # atanh(0.6) = 0.693147, half = 1.959964 * sqrt(1.06 / 1497) = 0.052155
    expected = 100 * math.tanh(0.693147 - 0.052155), 100 * math.tanh(0.693147 + 0.052155)
    assert (got.low, got.high) == pytest.approx(expected, abs=1e-3)
    assert got.error == pytest.approx((got.high - got.low) / 2 / 1.959964)


def test_a_rank_correlation_of_three_pairs_has_no_interval():
    assert math.isnan(interval(result(60.0, measure="spearman", n_test=3)).error)
