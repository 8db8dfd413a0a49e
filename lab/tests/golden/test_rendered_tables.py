"""One table with everything a table can hold, in every format, to the letter.

The texts lie in ``tables/``; after a wanted change, ``python tests/golden/test_rendered_tables.py``
writes them anew, and the difference is read before it is committed.
"""

import csv
import io
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pmeans_lab.experiments.render import Column, Field, Row, Section, Table, render

FOLDER = Path(__file__).parent / "tables"
FORMATS = {"markdown": "md", "latex": "tex", "csv": "csv", "html": "html"}

COVERAGE = Table(
    "Known words, %",
    "encoder: word space",
    (Column("MR en"),),
    (Section(None, (Row("mean: gn", (Field(100 / 3),)),)),),
)
TABLE = Table(
    "Scores of <this> & that",
    "encoder",
    (Column("dim", 0), Column("MR_de"), Column("p", 4), Column("test")),
    (
        Section(
            "The paper's",
            (
                Row(
                    "[-inf, 1, inf]",
                    (
                        Field(900.0),
                        Field(200 / 3, 65.0, 68.0, 4.96, 66.7, -0.04, bold=True),
                        Field(0.00001),
                        Field(text="t-test"),
                    ),
                ),
                Row(
                    "gone",
                    (Field(), Field(published=70.25, published_gap=5.0), Field(), Field()),
                    note="needs 50% of {it} | all\nof it",
                ),
            ),
        ),
        Section(
            "Others",
            (
                Row(
                    r"a_b & <c> 100% $x$ #1 ~^\ *y*",
                    (
                        Field(300.0),
                        Field(70.0, published=71.0, note="in-language: not run yet"),
                        Field(0.5),
                        Field(note="not comparable"),
                    ),
                ),
                Row(
                    "lower",
                    (Field(300.0), Field(-0.04), Field(1.0), Field(note="not comparable")),
                ),
            ),
        ),
    ),
    ("Per cent; ± is half of it. From en→de – p < 0.05.",),
    (COVERAGE,),
)


@pytest.mark.parametrize("kind", FORMATS)
def test_rendered_table_is_the_golden_text(kind):
    golden = FOLDER / f"table.{FORMATS[kind]}"
    assert render(TABLE, kind) == golden.read_text(encoding="utf-8")


def test_csv_has_every_cell_with_its_numbers_unrounded():
    rows = list(csv.DictReader(io.StringIO(render(TABLE, "csv"))))
    assert len(rows) == 17
    assert float(rows[1]["value"]) == 200 / 3
    assert (rows[1]["bold"], rows[5]["value"]) == ("True", "")
    assert rows[5]["note"].startswith("needs 50%")


def test_html_is_well_formed():
    class Parser(HTMLParser):
        stack: list[str] = []  # noqa: RUF012 - one parser, one stack

        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "br"):
                self.stack.append(tag)

        def handle_endtag(self, tag):
            assert self.stack.pop() == tag

    parser = Parser()
    parser.feed(render(TABLE, "html"))
    parser.close()
    # The declaration is handled apart; nothing is left open.
    assert parser.stack == []


def test_every_row_of_markdown_has_as_many_fields():
    lines = [line for line in render(TABLE, "markdown").splitlines() if line.startswith("|")]
    fields = [line.replace(r"\|", "").count("|") for line in lines]
    assert set(fields) == {6, 3}


def _write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for kind, suffix in FORMATS.items():
        (FOLDER / f"table.{suffix}").write_text(render(TABLE, kind), encoding="utf-8")


if __name__ == "__main__":
    _write()
