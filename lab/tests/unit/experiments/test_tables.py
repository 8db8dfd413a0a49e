import numpy as np
import pytest
from some_experiments import REASONS, ROWS, at, experiment, results, scored
from some_results import noisy, result, splits

from pmeans.errors import ConfigError
from pmeans_lab.experiments import tables
from pmeans_lab.experiments.plan import Columns, EncoderRow
from pmeans_lab.experiments.statistics import interval


def cell(table, row, column):
    index = [each.title for each in table.columns].index(column)
    return next(each for each in table.rows if each.name == row).fields[index]


@pytest.fixture
def table():
    return tables.build(experiment(), results(), REASONS)


def test_a_cell_has_our_mean_its_interval_and_the_published_value(table):
    got = cell(table, "mean", "MR")
    ours = interval(noisy(75, 1))
    assert (got.value, got.low, got.high) == (ours.mean, ours.low, ours.high)
    assert got.published == 76.3
    assert got.difference == pytest.approx(75 - 76.3)


def test_rows_stand_in_their_sets(table):
    names = [[row.name for row in section.rows] for section in table.sections]
    assert names == [["GN [-inf, 1, inf]"], [row.name for row in ROWS[1:]]]


def test_a_cell_without_results_is_empty_and_says_why(table):
    got = cell(table, "same size", "TREC")
    assert (got.value, got.note) == (None, "its test set is not there")


def test_a_cell_that_nobody_can_explain_was_not_run():
    got = cell(tables.build(experiment(), results()), "same size", "TREC")
    assert (got.value, got.note) == (None, "not run yet")


def test_an_incomplete_row_has_no_average(table):
    got = cell(table, "same size", "average")
    assert got.value is None
    assert "without TREC" in got.note


def test_a_row_that_cannot_be_had_shows_published_values_and_one_note(table):
    row = table.sections[0].rows[0]
    assert row.note == "its vectors cannot be had"
    assert all(each.value is None and each.note is None for each in row.fields)
    assert cell(table, row.name, "AM").published == 55.6


def test_results_under_the_name_of_an_absent_row_are_not_its_own():
    table = tables.build(experiment(), scored("GN [-inf, 1, inf]", 70))
    assert cell(table, "GN [-inf, 1, inf]", "MR").value is None


def test_the_average_is_that_of_unrounded_scores(table):
    parts = [cell(table, "mean", task).value for task in ("AM", "MR", "TREC")]
    assert cell(table, "mean", "average").value == pytest.approx(np.mean(parts), abs=1e-12)


def test_a_published_average_is_of_the_same_tasks(table):
    of_three = (50.6 + 76.3 + 81.0) / 3
    assert cell(table, "mean", "average").published == pytest.approx(of_three)
    nine = ("AM", "AC", "CLS", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC")
    assert cell(tables.build(experiment(tasks=nine), {}), "mean", "average").published == 76.1


def test_the_significantly_best_is_bold(table):
    assert cell(table, "power & means_1 <50%", "MR").bold
    assert cell(table, "power & means_1 <50%", "average").bold


def test_nothing_but_the_best_is_bold(table):
    bold = {row.name for row in table.rows for each in row.fields if each.bold}
    assert bold == {"power & means_1 <50%"}


def test_a_best_that_may_be_chance_is_not_bold():
    close = {**scored("mean", 75, seed=1), **scored("same size", 75.2, seed=2)}
    table = tables.build(experiment(), close)
    assert not any(each.bold for row in table.rows for each in row.fields)


def test_a_best_that_beats_all_but_one_is_not_bold():
    three = {**scored("mean", 60, seed=1), **scored("same size", 75.2, seed=2)}
    three |= scored("power & means_1 <50%", 75, seed=3)
    table = tables.build(experiment(), three)
    assert not any(each.bold for row in table.rows for each in row.fields)


def test_bold_stands_holms_correction():
    """One comparison at p = 0.03 is significant, and not as the weakest of two such."""
    rows = (EncoderRow("a"), EncoderRow("b"), EncoderRow("c"))
    a, b = noisy(76, 1), noisy(75, 5)
    spread = np.subtract(a.values, b.values).std(ddof=1)
    wanted = 2.57 * np.sqrt(1 / 10 + 1 / 9) * spread  # t = 2.57 with 9 df: p = 0.030
    b = c = noisy(76 - wanted, 5)

    def bold(rows, found):
        table = tables.build(experiment(tasks=("MR",), encoders=rows), found)
        return cell(table, "a", "MR").bold

    assert bold(rows[:2], {**at("a", a), **at("b", b)})
    assert not bold(rows, {**at("a", a), **at("b", b), **at("c", c)})


def test_a_row_alone_is_not_bold():
    table = tables.build(experiment(), scored("mean", 75))
    assert not any(each.bold for row in table.rows for each in row.fields)


def test_sets_are_not_played_off_against_each_other():
    rows = (EncoderRow("old", "paper"), EncoderRow("new", "available"))
    found = {**scored("old", 60), **scored("new", 90)}
    table = tables.build(experiment(encoders=rows), found)
    assert not any(each.bold for row in table.rows for each in row.fields)


def test_results_that_cannot_be_compared_are_not_bold():
    rows = (EncoderRow("a"), EncoderRow("b"))
    found = at("a", result(90.0, task="TREC")) | at("b", result(50.0, task="TREC"))
    table = tables.build(experiment(tasks=("TREC",), encoders=rows), found)
    assert cell(table, "a", "TREC").value == 90
    assert not cell(table, "a", "TREC").bold


def test_coverage_is_the_lowest_and_the_mean_over_tasks():
    found = at(
        "mean",
        result(task="AM", coverage={"gn": 0.9, "gv": 0.8}),
        result(task="MR", coverage={"gn": 1.0, "gv": 0.9}),
    )
    table = tables.build(experiment(tasks=("AM", "MR")), found)
    lowest, mean = (cell(table, "mean", f"known words, {each}") for each in ("lowest", "mean"))
    assert (lowest.value, mean.value) == (80, pytest.approx(90))
    details = {row.name: [each.value for each in row.fields] for row in table.further[0].rows}
    assert details == {"mean: gn": [90, 100], "mean: gv": [80, 90]}


def crossed(level, gain, lang):
    """An encoder's scores from English, and in the language itself."""
    return {
        **scored("mean", level, test=lang),
        **scored("mean", level + gain, train=lang, test=lang),
    }


TRANSFER = {"test": ("de", "fr"), "in_language": True, "published": "table3_crosslingual"}


def test_transfer_averages_languages_and_shows_in_language_minus_cross_lingual():
    rows = (EncoderRow("mean", published="BIVCD (BV)"),)
    found = {**crossed(70, 4, "de"), **crossed(72, 2, "fr")}
    got = cell(tables.build(experiment("transfer", encoders=rows, **TRANSFER), found), "mean", "MR")
    assert (got.value, got.gap) == (pytest.approx(71), pytest.approx(3))
    assert (got.published, got.published_gap) == (64.4, 1.9)


def test_transfer_to_some_of_the_languages_is_none_at_all():
    found = crossed(70, 4, "de")
    table = tables.build(
        experiment("transfer", **TRANSFER), found, {("mean", "MR", "fr"): "no text"}
    )
    got = cell(table, "mean", "MR")
    assert (got.value, got.note) == (None, "no text")


def test_a_missing_in_language_run_leaves_the_score_and_says_so():
    found = {**scored("mean", 70, test="de"), **scored("mean", 72, test="fr")}
    got = cell(tables.build(experiment("transfer", **TRANSFER), found), "mean", "MR")
    assert (got.value, got.gap) == (pytest.approx(71), None)
    assert got.note == "in-language: not run yet"


def test_languages_have_columns_of_their_own():
    rows = (EncoderRow("mean", published="BIVCD (BV)"),)
    changes = TRANSFER | {"published": "table6_crosslingual_by_language", "encoders": rows}
    found = {**crossed(70, 4, "de"), **crossed(72, 2, "fr")}
    table = tables.build(experiment("languages", **changes), found)
    got = cell(table, "mean", "MR fr")
    assert (got.value, got.gap) == (pytest.approx(72), pytest.approx(2))
    assert (got.published, got.published_gap) == (66.5, 1.5)
    assert cell(table, "mean", "average de").value == pytest.approx((50 + 70 + 70) / 3)


GROUPS = (
    Columns("AM", ("de", "fr"), group="arguments"),
    Columns("MR", ("en",), group="films"),
    Columns("MR", ("en",), train="de", group="films"),
)


def grouped():
    changes = {"columns": GROUPS, "tasks": ("AM", "MR"), "encoders": (EncoderRow("mean"),)}
    found = {
        **scored("mean", 70, test="de", tasks=("AM",)),
        **scored("mean", 72, test="fr", tasks=("AM",), seed=1),
        **scored("mean", 80, tasks=("MR",)),
        **scored("mean", 90, train="de", tasks=("MR",), seed=2),
    }
    return tables.build(experiment("groups", published=None, **changes), found)


def test_groups_have_a_mean_each_and_weigh_the_same():
    values = [
        cell(grouped(), "mean", each).value for each in ("arguments", "films", "mean of groups")
    ]
    assert values == pytest.approx([51, 85, 68])


def test_groups_are_followed_by_every_column_with_its_interval():
    every = grouped().further[0]
    titles = ["arguments de", "arguments fr", "films en", "films de→en"]
    assert [column.title for column in every.columns] == titles
    got = cell(every, "mean", "films de→en")
    assert got.value == pytest.approx(90)
    assert got.low < got.value < got.high


def test_a_group_without_one_of_its_columns_has_no_mean():
    changes = {"columns": GROUPS, "tasks": ("AM", "MR"), "encoders": (EncoderRow("mean"),)}
    found = scored("mean", 80, tasks=("MR",))
    table = tables.build(experiment("groups", published=None, **changes), found)
    assert cell(table, "mean", "films").note == "not run yet"
    assert cell(table, "mean", "mean of groups").note == (
        "an average of all 2 tasks, without AM, MR"
    )


def test_averages_are_the_cross_lingual_and_the_in_language_one():
    found = {**crossed(70, 4, "de"), **crossed(72, 2, "fr")}
    table = tables.build(experiment("averages", **TRANSFER | {"published": None}), found)
    means = [cell(table, "mean", each).value for each in ("cross-lingual", "in-language")]
    # Scores on the test set of 300 rows are whole rows, so TREC is exact here too.
    assert means == pytest.approx([71 - 20 / 3, 74 - 20 / 3])


@pytest.mark.parametrize("layout", ["averages", "transfer", "languages"])
def test_where_tasks_are_missing_those_at_hand_have_an_average_of_their_own(layout):
    changes = TRANSFER | {"tasks": ("AM", "AC", "MR"), "encoders": (EncoderRow("mean"),)}
    parts = [crossed(70, 4, lang) for lang in ("de", "fr")]
    found = {key: each for part in parts for key, each in part.items() if key[1] != "TREC"}
    table = tables.build(experiment(layout, **changes), found)
    said = "cross-lingual" if layout == "averages" else "average"
    assert cell(table, "mean", said).value is None
    assert cell(table, "mean", f"{said} (AM, MR: 2 of 3 tasks)").value == pytest.approx(60)


def test_published_averages_stay_over_the_papers_tasks_and_languages():
    rows = (EncoderRow("mean", published="BV (orig)"),)
    changes = TRANSFER | {"published": "table5_mapping", "encoders": rows}
    found = {**crossed(70, 4, "de"), **crossed(72, 2, "fr")}
    table = tables.build(experiment("averages", **changes), found)
    got = cell(table, "mean", "cross-lingual")
    assert (got.value, got.published) == (None, 70.9)
    ours = cell(table, "mean", "cross-lingual (AM, MR, TREC: 3 of 3 tasks in de, fr)")
    assert (ours.value, ours.published) == (pytest.approx(71 - 20 / 3), None)


def test_an_average_of_tasks_at_hand_has_the_published_one_of_the_same_tasks_beside_it():
    rows = (EncoderRow("mean", published="BIVCD (BV)"),)
    changes = TRANSFER | {"tasks": ("AM", "AC", "MR"), "encoders": rows}
    found = {**crossed(70, 4, "de"), **crossed(72, 2, "fr")}
    got = cell(
        tables.build(experiment("transfer", **changes), found),
        "mean",
        "average (AM, MR: 2 of 3 tasks)",
    )
    assert got.published == pytest.approx((40.5 + 64.4) / 2)
    assert got.published_gap == pytest.approx((5.6 + 1.9) / 2)


def translated(scores):
    rows = tuple(EncoderRow(f"e{i}") for i in range(len(scores)))
    found = {}
    for row, (human, machine) in zip(rows, scores, strict=True):
        found |= at(row.name, noisy(human, 0, task="AM", test_lang="de"))
        found |= at(row.name, noisy(machine, 0, task="AM-MT", test_lang="de"))
    changes = {"tasks": ("AM", "AM-MT"), "encoders": rows, "published": "translations"}
    return tables.build(experiment("translations", test=("de",), **changes), found)


def test_correlations_of_translations_are_scipys():
    from scipy import stats

    human, machine = [50.0, 52, 55, 51, 60], [49.0, 53, 54, 50, 61]
    got = translated(list(zip(human, machine, strict=True))).rows[0].fields
    assert got[0].value == 5
    rho, r = stats.spearmanr(human, machine), stats.pearsonr(human, machine)
    assert (got[1].value, got[2].value) == pytest.approx((100 * rho.statistic, rho.pvalue))
    assert (got[3].value, got[4].value) == pytest.approx((100 * r.statistic, r.pvalue))
    theirs = r.confidence_interval(0.95)
    assert (got[3].low, got[3].high) == pytest.approx((100 * theirs.low, 100 * theirs.high))
    assert (got[1].published, got[3].published) == (96.5, 98.4)


@pytest.mark.parametrize("scores", [[], [(50, 50), (60, 60)], [(50, 1), (50, 2), (50, 3)]])
def test_too_few_points_have_no_correlation(scores):
    if not scores:
        rows = (EncoderRow("x", absent="gone"),)
        changes = {"tasks": ("AM", "AM-MT"), "encoders": rows}
        got = tables.build(experiment("translations", **changes), {}).rows[0].fields
    else:
        got = translated(scores).rows[0].fields
    assert got[1].value is got[3].value is None
    assert got[1].note


def test_translations_need_a_task_and_its_translation():
    with pytest.raises(ConfigError, match="'AM' and 'AM-MT'"):
        tables.build(experiment("translations"), {})


def test_a_rank_correlation_is_explained_where_there_is_one():
    rows = (EncoderRow("mean"),)
    found = at("mean", result(60.0, task="STS", measure="spearman", n_test=1500, protocol="sts"))
    table = tables.build(experiment(tasks=("STS",), encoders=rows, published=None), found)
    assert cell(table, "mean", "STS").half_width == pytest.approx(3.3, abs=0.1)
    assert any("Fisher" in sentence for sentence in table.legend)
    plain = tables.build(experiment(), results())
    assert not any("Fisher" in sentence for sentence in plain.legend)


def test_calibration_is_shown_where_it_was_noted():
    rows = (EncoderRow("mean"), EncoderRow("other"))
    noted = {"ece": (4.0, 6.0), "penalty": (0.1, 0.1)}
    found = at("mean", splits([70, 72], chosen=noted)) | at("other", splits([70, 72]))
    table = tables.build(experiment(tasks=("MR",), encoders=rows), found)
    _, calibration = table.further
    assert [(row.name, row.fields[0].value) for row in calibration.rows] == [("mean", 5.0)]
    assert len(tables.build(experiment(), results()).further) == 1
