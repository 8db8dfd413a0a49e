"""Differences in the text of results pages are those that `pmeans eval compare` has."""

from pathlib import Path

import pytest

from pmeans_lab.experiments.claims import Book, Figure

LAB = Path(__file__).parents[2]
BOOK = Book(LAB / "experiments", LAB / "results")
POWERS, NORMED = "[-inf, 1, inf]", "[-inf, 1, inf] z-norm"
BASELINES = [
    ("baselines", f"GN {POWERS}", "GN mean"),
    ("baselines", "GN + SIF", "GN mean"),
    ("baselines", "GV + SIF", "GV mean"),
    ("baselines", "GN + uSIF", "GN mean"),
    ("baselines", "GV + uSIF", "GV mean"),
    ("baselines-transfer", f"AR {POWERS}", "AR mean"),
    ("baselines-transfer", "AR + SIF", "AR mean"),
    ("baselines-transfer", "AR + uSIF", "AR mean"),
    ("baselines", f"GN {POWERS}", "GN mean projected to 900 (BOREP)"),
    ("baselines", f"GN {POWERS}", "TF-IDF of 3600 words"),
    ("baselines", f"GN {POWERS}", "Sent2Vec"),
    ("baselines", f"GV + GN {NORMED}", "Sent2Vec"),
    ("paper-table2", f"GV100 + GNs + MS + AR {POWERS}", "Sent2Vec, ours"),
    ("baselines", "all-MiniLM-L6-v2", f"GV + GN {NORMED}"),
    ("baselines", "bge-small-en", f"GV + GN {NORMED}"),
    ("paper-table3", "InferSent TD en-de-fr", f"AR en-de-fr {POWERS}"),
    ("paper-table3", "InferSent TD en-de-fr", "BV + AR + FT en-de-fr [-inf, 1, 3, inf]"),
]
RESULTS = [
    *(("monolingual", f"{name} {POWERS}", f"{name} mean") for name in ("GV", "GN", "GV + GN")),
    *(
        ("monolingual", f"{name} {NORMED}", f"{name} mean z-norm")
        for name in ("GV", "GN", "GV + GN")
    ),
    *(
        ("monolingual", f"GV + GN {NORMED}", "GV + GN mean z-norm", task)
        for task in ("AM", "TREC", "MPQA")
    ),
    ("monolingual", f"GN {POWERS}", "GN mean projected to 900", "AM"),
    ("monolingual", f"GN {POWERS}", "GN mean projected to 900", "MPQA"),
    ("monolingual", "GV + GN mean z-norm", "GV + GN mean"),
    ("monolingual", f"GV + GN {NORMED}", f"GV + GN {POWERS}"),
    ("monolingual", f"GV + GN {NORMED}", f"GV + GN {POWERS}", "TREC"),
    (
        "paper-table2",
        f"GV100 + GNs + MS + AR {NORMED} of training rows",
        f"GV100 + GNs + MS + AR {POWERS}",
    ),
    ("monolingual-modern", "GV + GN mean z-norm", "GV + GN mean"),
    ("monolingual-modern", f"GV + GN {NORMED}", f"GV + GN {POWERS}"),
    ("monolingual-modern", f"GV + GN {POWERS}", "GV + GN mean"),
    ("monolingual-modern", f"GV + GN {NORMED}", "GV + GN mean z-norm"),
    ("monolingual-modern", f"GV + GN {NORMED}", "GV + GN mean z-norm", "AM"),
    ("monolingual-modern", f"GV + GN {NORMED}", "GV + GN mean z-norm", "TREC"),
    ("monolingual-modern", f"GV + GN {NORMED}", "GV + GN mean z-norm, projected to 1200"),
]
"""An experiment, two of its rows, and the task if it is one."""


@pytest.mark.parametrize(
    ("page", "compared"),
    [
        *(("results/baselines/README.md", each) for each in BASELINES),
        *(("results/README.md", each) for each in RESULTS),
    ],
    ids=str,
)
def test_a_difference_in_the_text_is_that_of_the_results(page, compared):
    experiment, row, over, *tasks = compared
    names = (f"{experiment}:{name}" for name in (row, over))
    got = BOOK.measured(Figure(*names, tasks=tuple(tasks))).difference
    words = f"{abs(got.mean):.1f} ±{(got.high - got.low) / 2:.1f}"
    assert words in (LAB / page).read_text(encoding="utf-8").replace("\n", " ").replace("± ", "±")
