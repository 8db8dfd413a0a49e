import pytest
from some_experiments import scored
from some_results import noisy, splits

from pmeans.errors import InputError
from pmeans_lab.experiments import comparison, statistics


def compare(a, b, names=("A", "B")):
    return comparison.compare(names[0], a, names[1], b)


def both(**changes):
    """Scores of two encoders on three tasks."""
    a, b = scored("A", 76, seed=1), scored("B", 75, seed=2, **changes)
    return compare(a.values(), b.values())


def test_a_row_has_both_scores_their_difference_and_its_p_values():
    a, b = noisy(76, 1), noisy(75, 2)
    table = compare([a], [b])
    one, other, difference, p, holm, test = table.rows[0].fields
    expected = statistics.compare(a, b)
    assert table.rows[0].name == "MR en→en"
    assert (one.value, other.value) == (pytest.approx(76), pytest.approx(75))
    assert (difference.low, difference.value) == (expected.low, expected.mean)
    assert (p.value, holm.value, test.text) == (expected.p, expected.p, "corrected t-test")


def test_p_values_are_adjusted_over_all_rows():
    table = both()
    *rows, _average = table.rows
    raw = [row.fields[3].value for row in rows]
    assert [row.fields[4].value for row in rows] == statistics.holm(raw)
    assert [row.fields[5].text for row in rows][-1] == "paired bootstrap"


def test_the_average_over_all_tasks_is_one_more_row():
    table = both()
    *tasks, average = table.rows
    assert average.name == "average"
    for column in (0, 1, 2):
        values = [row.fields[column].value for row in tasks]
        assert average.fields[column].value == pytest.approx(sum(values) / len(values))
    assert average.fields[4].value is None


def test_languages_are_not_averaged():
    a = [splits([80, 81]), splits([70, 71], test_lang="de")]
    b = [splits([81, 83]), splits([71, 73], test_lang="de")]
    assert [row.name for row in compare(a, b).rows] == ["MR en→en", "MR en→de"]


def test_a_task_of_one_encoder_alone_says_so():
    table = both(tasks=("MR",))
    am = table.rows[0].fields
    assert am[0].value == pytest.approx(56)
    assert (am[1].value, am[2].value, am[2].note) == (None, None, "no results of B")


def test_results_that_do_not_match_say_why():
    table = compare([splits([80, 81])], [splits([80, 81, 82])])
    assert "different splits" in table.rows[0].fields[3].note


def test_rows_of_the_same_name_are_told_apart():
    table = compare([splits([1, 2])], [splits([2, 3])], ("GN", "GN"))
    assert [column.title for column in table.columns][:2] == ["GN", "GN (second)"]


@pytest.mark.parametrize(("a", "b", "said"), [([], [1], "'A' has no"), ([1], [], "'B' has no")])
def test_a_row_without_results_is_refused(a, b, said):
    with pytest.raises(InputError, match=said):
        compare([splits([1, 2]) for _ in a], [splits([1, 2]) for _ in b])
