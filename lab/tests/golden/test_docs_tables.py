"""Tables and figures of the docs that are copied from ``lab/results/`` are those of it.

A table of a page has rows and columns of its own choice; its numbers are looked up. ``make
outputs`` writes them into the pages again, by ``python lab/tests/golden/test_docs_tables.py``.
Sentences with figures are compared, and are mended by hand, because they may say something else
then.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pmeans_lab.experiments import published
from pmeans_lab.experiments.claims import Book, Figure

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "lab" / "results"
CODES = {
    "English": "en", "German": "de", "French": "fr", "Spanish": "es", "Italian": "it",
    "Dutch": "nl", "Portuguese": "pt", "Polish": "pl", "Russian": "ru", "Swedish": "sv",
    "Czech": "cs",
}  # fmt: skip
MEASURES = {
    "found from English": "NTREX from English {}", "finds English": "NTREX into English {}→en",
    "STS, en-xx": "STS across {}", "STS, xx-xx": "STS within {0}→{0}",
    "genre, from English": "genre {}", "books": "books {}", "films": "films {}",
}  # fmt: skip
INFERSENT = ("table2_monolingual:InferSent",)
SYSTEMS = {
    "Siamese-CBOW": Figure("paper-table2:Siamese-CBOW, ours"),
    "random GoogleNews vectors, power means": Figure("baselines:random GN [-inf, 1, inf]"),
    "GloVe (ours 100 d of 6B, paper 300 d of 840B) + SIF": Figure("paper-table2:GV100 + SIF"),
    "the same, mean": Figure("paper-table2:GloVe 6B 100 d (GV100)"),
    "CVM-add, in English": Figure("baselines:CVM-add"),
    "the same GloVe, power means": Figure("paper-table2:GV100 [-inf, 1, inf]"),
    "GoogleNews, mean": Figure("paper-table2:GoogleNews subset (GNs)"),
    "Sent2Vec": Figure("paper-table2:Sent2Vec, ours"),
    "GoogleNews, mean projected (BOREP)": Figure("baselines:GN mean projected to 900 (BOREP)"),
    "GoogleNews, power means": Figure("paper-table2:GNs [-inf, 1, inf]"),
    "TF-IDF": Figure("baselines:TF-IDF of 3600 words"),
    "four spaces, mean": Figure("paper-table2:GV100 + GNs + MS + AR"),
    "four spaces, power means": Figure("paper-table2:GV100 + GNs + MS + AR [-inf, 1, inf]"),
    "four spaces, power means, z-normed": Figure(
        "paper-table2:GV100 + GNs + MS + AR [-inf, 1, inf] z-norm of training rows"
    ),
    "InferSent TD; paper: InferSent on SNLI": Figure("baselines:InferSent TD", published=INFERSENT),
    "all-MiniLM-L6-v2": Figure("baselines:all-MiniLM-L6-v2"),
    "bge-small-en": Figure("baselines:bge-small-en"),
    "CVM-add": Figure("paper-table3:CVM-add en-de-fr"),
    "BIVCD, mean": Figure("paper-table3:BV en-de-fr"),
    "fastText, power means": Figure("paper-table3:FT en-de-fr [-inf, 1, inf]"),
    "Attract-Repel, mean": Figure("paper-table3:AR en-de-fr"),
    "fastText, mean": Figure("paper-table3:FT en-de-fr"),
    "BIVCD, power means": Figure("paper-table3:BV en-de-fr [-inf, 1, inf]"),
    "Attract-Repel + SIF": Figure("paper-table3:AR en-de-fr + SIF"),
    "Attract-Repel, power means": Figure("paper-table3:AR en-de-fr [-inf, 1, inf]"),
    "Attract-Repel, mean projected (BOREP)": Figure(
        "baselines-transfer:AR mean projected to 900 (BOREP)"
    ),
    "three spaces, power means": Figure("paper-table3:BV + AR + FT en-de-fr [-inf, 1, inf]"),
    "three spaces, mean": Figure("paper-table3:BV + AR + FT en-de-fr"),
    "three spaces, power means with p = 3": Figure(
        "paper-table3:BV + AR + FT en-de-fr [-inf, 1, 3, inf]"
    ),
    "InferSent TD": Figure("paper-table3:InferSent TD en-de-fr"),
}
"""Rows of the page of baselines, and what they are in the results."""
TASKS = {"book reviews": "CLS-reviews", "film reviews": "CLS-films", "genre": "XNLI-genre"}


def numbers(name: str, key: int = 1) -> dict[tuple[str, str], str]:
    """Return the cells of all tables of ``results/NAME/table.md``, by row and column.

    A row is called by its first ``key`` cells. Intervals, notes and bold type are left out.
    """
    found: dict[tuple[str, str], str] = {}
    header: list[str] = []
    for line in (RESULTS / name / "table.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
        row = " ".join(cells[:key])
        for column, cell in zip(header[key:], cells[key:], strict=True):
            found.setdefault((row, column), re.sub(r"<sup>.*?</sup>| ±[\d.]+|\*\*", "", cell))
    return found


def product(row: str, column: str) -> str:
    return numbers("product")[row, column]


def confidence(row: str, column: str) -> str:
    task, _, lang = row.rpartition(" ")
    return numbers("confidence", key=2)[f"{TASKS[task]} {lang}", column]


def languages(row: str, column: str) -> str:
    cells = numbers("languages")
    if column == "words known":
        return cells["wide: attracted-wide", f"NTREX {CODES[row]}"]
    if row == "English" and column.startswith("STS"):
        return cells["wide", "STS within en"]
    return cells.get(("wide", MEASURES[column].format(CODES[row])), "")


BOOK = Book(ROOT / "lab" / "experiments", RESULTS)


def system(row: str, column: str) -> str:
    figure = SYSTEMS[row]
    measured = BOOK.measured(figure)
    if column == "columns":
        name, _, encoder = figure.row.partition(":")
        return numbers(name)[encoder, "dimensions"]
    if column == "ours":
        return f"{measured.row.mean:.1f}"
    # Of all tasks, or in brackets of those that ours are over.
    return measured.paper.rpartition("[")[2].rstrip("]")


TABLES: list[tuple[str, str, Callable[[str, str], str]]] = [
    ("docs/transfer.md", "AM de", product),
    ("lab/results/README.md", "AM de", product),
    ("docs/transfer.md", "answered at 0.7", confidence),
    ("docs/languages.md", "words known", languages),
    ("lab/results/baselines/README.md", "English, nine tasks ([all](table.md))", system),
    (
        "lab/results/baselines/README.md",
        "to German and French: AM, AC, CLS ([all](../paper-table3/table.md))",
        system,
    ),
]
"""A page, a column by which its table is found, and what its cells are."""


def cells_of(page: str, column: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, and the numbers it has and should have, of each row of a table."""
    look_up = next(f for p, c, f in TABLES if (p, c) == (page, column))
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if f"| {column} |" in line)
    header = [cell.strip() for cell in lines[start].strip("|").split("|")]
    for i, line in enumerate(lines[start + 2 :], start + 2):
        if not line.startswith("|"):
            return
        row = line.strip("|").split("|")[0].strip()
        wanted = [row, *(look_up(row, name) for name in header[1:])]
        yield i, line, wanted


def written(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize(("page", "column", "_"), TABLES)
def test_a_table_has_the_numbers_of_the_results(page, column, _):
    rows = list(cells_of(page, column))
    assert rows
    assert [line for _, line, _ in rows] == [written(wanted) for _, _, wanted in rows]


def gain(name: str, better: str, worse: str, *columns: str) -> list[float]:
    """Return how much higher the numbers of one row are than those of another."""
    cells = numbers(name)
    return [float(cells[better, c]) - float(cells[worse, c]) for c in columns]


def figures() -> Iterator[tuple[str, str]]:
    """Yield a page, and words that stand in it if its figures are those of the results."""
    uneven = gain("product", "balanced", "as encoded", "AM de", "AM fr", "AC de", "AC fr")
    yield "docs/guide.md", f"gains {min(uneven):.0f} to {max(uneven):.0f} points of macro-F1"
    reviews = gain("product", "adapted", "as encoded", "CLS-reviews de", "CLS-reviews fr")
    yield "docs/guide.md", f"German book reviews gain {reviews[0]:.1f} points"
    package, wide = "the model in the package", "wide"
    cost = gain("width", package, wide, "mean of groups", "STS", "Tatoeba", "NTREX")
    rest = gain("width", package, wide, "AM", "AC", "CLS", "books", "films", "genre")
    yield (
        "docs/languages.md",
        (
            f"Width costs {cost[0]:.1f} points on average "
            f"([table](../lab/results/width/table.md)): {cost[1]:.1f} on graded "
            f"pairs, {cost[2]:.1f} and {cost[3]:.1f} on retrieval, "
            f"{min(rest):.1f} to {max(rest):.1f} on the rest."
        ),
    )
    genres = numbers("languages")
    others, english = genres["wide", "genre from other languages"], genres["wide", "genre"]
    yield "docs/languages.md", f"are {others} % right on average, from English {english} %"
    error = numbers("confidence")
    before, after = (error[by, "calibration error"] for by in ("before", "translations"))
    yield "docs/transfer.md", f"is {before} points without translations and {after} with them"

    found = numbers("sentences")
    raw, normed = (
        [found[row, f"NTREX {lang}"] for lang in ("de", "fr")]
        for row in ("power means", "power means, z-norm")
    )
    yield (
        "docs/search.md",
        f"the German translation for {raw[0]} % and the French one for {raw[1]} %, with a z-norm "
        f"they find {normed[0]} % and {normed[1]} %",
    )
    yield from spaces()
    table = published.load("table2_monolingual")
    rows = (
        ("GoogleNews subset (GNs)", "GoogleNews (GN)"),
        ("GNs [-inf, 1, inf]", "GN [-inf, 1, inf]"),
    )
    far = [
        abs(BOOK.measured(Figure(f"paper-table2:{ours}", tasks=(task,))).row.mean - score)
        for ours, theirs in rows
        for task in table.tasks
        for score in [table.scores[theirs, task]]
    ]
    words = f"{sum(each < 1.5 for each in far)} of {len(far)} scores lie within 1.5 points"
    yield "lab/results/README.md", words


def spaces() -> Iterator[tuple[str, str]]:
    """Yield the figures of word spaces of several languages."""
    page, names = "lab/results/README.md", ("BV", "FT", "AR")
    aligned = [
        gain("maps", f"{name} canonical directions of sentences", f"{name} none", "average")[0]
        for name in names
    ]
    yield page, f"worth {min(aligned):.0f} to {max(aligned):.0f} points over raw means"
    means = [BOOK.measured(Figure(f"paper-table3:{name} en-de-fr")) for name in names]
    below = [float(each.paper.partition("[")[2].rstrip("]")) - each.row.mean for each in means]
    yield page, f"are {min(below):.1f} to {max(below):.1f} points below the published ones"
    first = "{:.1f}, {:.1f} and {:.1f}".format(*(each.row.mean for each in means))
    second = [numbers("maps")[f"{name} tanh projection", "average"] for name in names]
    yield page, f"are {first} in Table 3, and {{}}, {{}} and {{}} in [maps]".format(*second)


@pytest.mark.parametrize(("page", "words"), list(figures()))
def test_a_sentence_has_the_figures_of_the_results(page, words):
    assert words in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def _write() -> None:
    for page, column, _ in TABLES:
        lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
        for i, _, wanted in cells_of(page, column):
            lines[i] = written(wanted)
        (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write()
