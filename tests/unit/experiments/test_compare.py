import pytest
from some_experiments import scored
from some_results import noisy, result, splits

from pmeans.errors import InputError
from pmeans.experiments import statistics
from pmeans.experiments.compare import compare


def test_a_row_has_both_scores_their_difference_and_its_p_values():
    a, b = noisy(76, 1, encoder="A"), noisy(75, 2, encoder="B")
    table = compare(a, b)
    one, other, difference, p, holm, test = table.rows[0].cells
    expected = statistics.compare(a, b)
    assert table.rows[0].name == "MR en→en"
    assert (one.value, other.value) == (pytest.approx(76), pytest.approx(75))
    assert (difference.low, difference.value) == (expected.low, expected.difference)
    assert (p.value, holm.value, test.text) == (expected.p, expected.p, "corrected t-test")


def test_p_values_are_adjusted_over_all_rows():
    table = compare(scored("A", 76, seed=1), scored("B", 75, seed=2))
    *rows, _average = table.rows
    raw = [row.cells[3].value for row in rows]
    assert [row.cells[4].value for row in rows] == statistics.holm(raw)
    assert [row.cells[5].text for row in rows][-1] == "paired bootstrap"


def test_the_average_over_all_tasks_is_one_more_row():
    table = compare(scored("A", 76, seed=1), scored("B", 75, seed=2))
    *tasks, average = table.rows
    assert average.name == "average"
    for column in (0, 1, 2):
        values = [row.cells[column].value for row in tasks]
        assert average.cells[column].value == pytest.approx(sum(values) / len(values))
    assert average.cells[4].value is None


def test_languages_are_not_averaged():
    a = [*splits([80, 81], encoder="A"), *splits([70, 71], encoder="A", test_lang="de")]
    b = [*splits([81, 83], encoder="B"), *splits([71, 73], encoder="B", test_lang="de")]
    assert [row.name for row in compare(a, b).rows] == ["MR en→en", "MR en→de"]


def test_a_task_of_one_encoder_alone_says_so():
    table = compare(scored("A", 76), scored("B", 75, tasks=("MR",)))
    am = table.rows[0].cells
    assert am[0].value == pytest.approx(56)
    assert (am[1].value, am[2].value, am[2].note) == (None, None, "no results of B")


def test_results_that_do_not_match_say_why():
    table = compare(splits([80, 81], encoder="A"), splits([80, 81, 82], encoder="B"))
    assert "different splits" in table.rows[0].cells[3].note


def test_a_run_can_be_compared_with_another_of_the_same_encoder():
    assert [column.title for column in compare(splits([1, 2]), splits([2, 3])).columns][:2] == [
        "GN",
        "GN (second)",
    ]


@pytest.mark.parametrize(
    ("results", "said"),
    [([], "no results"), ([result(encoder="A"), result(encoder="B")], "'A', 'B'")],
)
def test_other_than_one_encoder_is_refused(results, said):
    with pytest.raises(InputError, match=said):
        compare(results, [result()])
