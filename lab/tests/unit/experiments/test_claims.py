"""Claims of the paper: what is compared, what the paper has, and what it came to."""

import json
from dataclasses import replace

import pytest
from some_results import noisy

from pmeans.errors import ConfigError, InputError
from pmeans_lab.evaluation import cells
from pmeans_lab.experiments import published
from pmeans_lab.experiments.claims import Book, Claim, Claims, Figure, Measured, page, verdict
from pmeans_lab.experiments.statistics import Interval

EXPERIMENT = """
name = "toy"
title = "Toy"
layout = "transfer"
published = "table3_crosslingual"
tasks = ["AM", "AC"]
test = ["de", "fr"]
in_language = true

[[encoders]]
name = "mean"
published = "BIVCD (BV)"
parts = [{ space = "bivcd", powers = [1] }]

[[encoders]]
name = "powers"
published = "BV [-inf, 1, inf]"
parts = [{ space = "bivcd" }]

[[encoders]]
name = "half"
parts = [{ space = "bivcd", powers = [2] }]

[[encoders]]
name = "one way"
parts = [{ space = "bivcd", powers = [3] }]
"""
LEVELS = {
    "mean": {"AM": 40, "AC": 60},
    "powers": {"AM": 44, "AC": 62},
    "half": {"AM": 50},
    "one way": {"AC": 60},
}
DROP = 5


@pytest.fixture
def book(tmp_path):
    """Scores of three rows: a level in German, a point more in French, 5 more in-language."""
    (tmp_path / "toy.toml").write_text(EXPERIMENT, encoding="utf-8")
    results = tmp_path / "results"
    rows = []
    for seed, (name, levels) in enumerate(LEVELS.items()):
        for task, level in levels.items():
            ways = (("en", "de"), ("en", "fr"), ("de", "de"), ("fr", "fr"))
            for train, lang in ways[:2] if name == "one way" else ways:
                cell = noisy(
                    level + (lang == "fr") + DROP * (train == lang), seed, n=50, id=f"{len(rows)}",
                    spread=0.1, task=task, train_lang=train, test_lang=lang, measure="macro-f1",
                    protocol="ukp-subsample",
                )  # fmt: skip
                cells.append(results, cell)
                rows.append([name, task, train, lang, cell.id])
    (results / "toy").mkdir()
    index = {"cells": rows, "absent": []}
    (results / "toy" / "rows.json").write_text(json.dumps(index), encoding="utf-8")
    return Book(tmp_path, results)


def test_two_rows_are_compared_over_all_their_tasks_and_languages(book):
    got = book.measured(Figure("toy:powers", "toy:mean", label="BV"))
    assert got.row.mean == pytest.approx((44.5 + 62.5) / 2)
    assert got.over.mean == pytest.approx((40.5 + 60.5) / 2)
    assert got.difference.mean == pytest.approx(3)
    assert str(got).startswith("BV: 50.5 → 53.5, +3.0 ±0.")


def test_tasks_and_a_language_may_be_chosen(book):
    assert book.measured(Figure("toy:mean", tasks=("AM",), lang="fr")).row.mean == pytest.approx(41)


def test_a_drop_is_the_in_language_minus_the_cross_lingual_score(book):
    got = book.measured(Figure("toy:mean", of="drop"))
    assert got.row.mean == pytest.approx(DROP)
    assert got.over is None
    assert str(got) == "5.0 ±0.0"


def test_a_drop_needs_in_language_scores(book):
    with pytest.raises(InputError, match="no in-language scores of AC"):
        book.measured(Figure("toy:one way", of="drop"))


def test_the_papers_numbers_are_over_its_tasks_and_in_brackets_over_ours(book):
    table = published.load("table3_crosslingual")
    models = ("BIVCD (BV)", "BV [-inf, 1, inf]")
    whole = " → ".join(str(table.scores[model, "avg"]) for model in models)
    ours = [(table.scores[m, "AM"] + table.scores[m, "AC"]) / 2 for m in models]
    got = book.measured(Figure("toy:powers", "toy:mean"))
    assert got.paper == f"{whole} [{ours[0]:.1f} → {ours[1]:.1f}]"


def test_of_chosen_tasks_the_paper_has_these_alone(book):
    got = book.measured(Figure("toy:powers", "toy:mean", label="AM", tasks=("AM",)))
    assert got.paper == "AM: 40.5 → 48.0"


def test_the_papers_drops_are_shown_beside_ours(book):
    table = published.load("table3_crosslingual")
    assert book.measured(Figure("toy:mean", of="drop")).paper.startswith(
        str(table.gaps["BIVCD (BV)", "avg"])
    )


def test_rows_of_the_paper_may_be_named(book):
    names = ("table2_monolingual:InferSent", "table2_monolingual:GloVe (GV)")
    got = book.measured(Figure("toy:powers", "toy:mean", published=names))
    assert got.paper.startswith("77.2 → 81.7")


def test_rows_with_other_tasks_are_not_compared(book):
    with pytest.raises(InputError, match="different results"):
        book.measured(Figure("toy:half", "toy:mean"))


def test_an_unknown_row_is_refused(book):
    with pytest.raises(ConfigError, match=r"no row 'means' in toy\. Did you mean 'mean'"):
        book.measured(Figure("toy:means"))


def measured(low, high, claimed):
    of = Interval((low + high) / 2, low, high, 1.0, 10)
    return Measured(Figure("toy:mean", claimed=claimed), of, None, of, "")


@pytest.mark.parametrize(
    ("low", "high", "above", "below", "level"),
    [(1, 2, True, False, False), (-2, -1, False, True, False), (-1, 1, False, False, True)],
)
def test_a_figure_is_as_claimed_if_its_interval_lies_on_that_side(low, high, above, below, level):
    assert measured(low, high, "above").as_claimed is above
    assert measured(low, high, "below").as_claimed is below
    assert measured(low, high, "level").as_claimed is level


def test_the_verdict_counts_the_figures_that_are_as_claimed():
    claim, right, wrong = Claim("so"), measured(1, 2, "above"), measured(1, 2, "below")
    assert verdict(claim, [right, right]) == "holds"
    assert verdict(claim, [right, wrong]) == "in part"
    assert verdict(claim, [wrong]) == "not here"
    assert verdict(replace(claim, verdict="holds"), [wrong]) == "holds"


TOML = """
[[parts]]
title = "Words"
data = "Two tasks."

[[parts.claims]]
says = "Powers beat the mean"
figures = [{ row = "toy:powers", over = "toy:mean" }]
why = "as hoped"

[[parts.claims]]
says = "Pigs fly"
paper = "9.9"
verdict = "cannot be tested"
why = "no pigs"
"""


def test_a_page_has_a_table_for_each_part(book, tmp_path):
    (tmp_path / "claims.toml").write_text(TOML, encoding="utf-8")
    shown = page(Claims.from_toml(tmp_path / "claims.toml"), book).splitlines()
    counted = "Of 2 claims 1 hold here, 0 in part and 0 not; 1 cannot be tested."
    assert shown[:5] == [counted, "", "## Words", "", "Two tasks."]
    assert shown[-2].startswith("| Powers beat the mean | 67.3 → 68.7 [54.0 → 58.4] | 50.5 → 53.5")
    assert shown[-2].endswith("| **holds**: as hoped |")
    assert shown[-1] == "| Pigs fly | 9.9 | – | **cannot be tested**: no pigs |"


def test_what_the_paper_does_not_say_is_not_counted(book, tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(TOML.replace("data =", 'of = "a guess"\ndata ='), encoding="utf-8")
    shown = page(Claims.from_toml(path), book)
    assert shown.startswith("Of 0 claims")
    assert "| a guess | paper | ours | here |" in shown


def test_a_claim_without_figures_needs_a_verdict_and_why(tmp_path):
    path = tmp_path / "claims.toml"
    path.write_text(TOML.replace('why = "no pigs"', ""), encoding="utf-8")
    with pytest.raises(ConfigError, match="'Pigs fly' needs figures, or a verdict and why"):
        Claims.from_toml(path)
