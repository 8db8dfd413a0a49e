"""Tables as values, and as Markdown, LaTeX, HTML and CSV.

A table holds numbers as they are. The first three formats round them, and number the notes as they
come; CSV has one line per field with all numbers as they are, for further work.
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

Format = Literal["markdown", "latex", "csv", "html"]
SIGNIFICANT = 0.05
"""A p-value below this, adjusted by Holm, is called significant."""


@dataclass(frozen=True)
class Field:
    """One field of a table.

    Attributes:
        value: Our number; None prints as “–”, never as 0.
        low: Lower end of its 95 % confidence interval, if it has one.
        high: Upper end.
        gap: In-language minus cross-lingual score, shown in parentheses.
        published: The paper's number.
        published_gap: The paper's gap.
        bold: Whether it is significantly better than all others it is set against.
        note: A footnote; why there is no number, if there is none.
        text: Words instead of a number.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    gap: float | None = None
    published: float | None = None
    published_gap: float | None = None
    bold: bool = False
    note: str | None = None
    text: str | None = None

    @property
    def half_width(self) -> float | None:
        """Half of the length of the confidence interval."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2

    @property
    def difference(self) -> float | None:
        """Our number minus the paper's."""
        if self.value is None or self.published is None:
            return None
        return self.value - self.published


@dataclass(frozen=True)
class Column:
    """A heading, and to how many decimals its numbers are shown."""

    title: str
    digits: int = 1


@dataclass(frozen=True)
class Row:
    """A name, a field for each column, and a footnote for a row that is empty as a whole."""

    name: str
    fields: tuple[Field, ...]
    note: str | None = None


@dataclass(frozen=True)
class Section:
    """Rows under a heading of their own; None for rows that need none."""

    title: str | None
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """What is rendered.

    Attributes:
        title: Heading.
        stub: Heading of the rows' names.
        columns: Headings of the fields.
        sections: The rows.
        legend: Sentences that say how to read it.
        further: Smaller tables that belong to it.
    """

    title: str
    stub: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    legend: tuple[str, ...] = ()
    further: tuple[Table, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all sections."""
        return tuple(row for section in self.sections for row in section.rows)


def render(table: Table, format: Format) -> str:  # noqa: A002 - it is what the user calls it
    """Return a table as text, with a newline at its end.

    Markdown is GitHub's, LaTeX needs the package ``booktabs``, and HTML is a page of its own.
    """
    if format == "csv":
        return _csv(table)
    lines = {"markdown": _markdown, "latex": _latex, "html": _page}[format](table)
    return "\n".join(lines) + "\n"


def _markdown(table: Table, level: str = "#") -> Iterator[str]:
    words = _Words(_markdown_escape, "**{}**", "<sup>{}</sup>", "<br>", "−", "±", "–")
    yield f"{level} {_markdown_escape(table.title)}\n"
    heads = [table.stub, *(column.title for column in table.columns)]
    yield f"| {' | '.join(map(_markdown_escape, heads))} |"
    yield f"| :-- |{' --: |' * len(table.columns)}"
    for section in table.sections:
        if section.title is not None:
            yield f"| *{_markdown_escape(section.title)}* |{' |' * len(table.columns)}"
        for row in section.rows:
            yield f"| {' | '.join(words.row(table, row))} |"
    for number, note in enumerate(words.notes, 1):
        yield f"\n<sup>{number}</sup> {_markdown_escape(note)}"
    for sentence in table.legend:
        yield f"\n{_markdown_escape(sentence)}"
    for other in table.further:
        yield ""
        yield from _markdown(other, level + "#")


def _latex(table: Table) -> Iterator[str]:
    words = _Words(
        _latex_escape, r"\textbf{{{}}}", r"\textsuperscript{{{}}}", r" \\ ", "$-$", r"$\pm$", "--"
    )
    heads = [table.stub, *(column.title for column in table.columns)]
    yield "\\begin{table}\n\\centering"
    yield f"\\caption{{{_latex_escape(table.title)}}}"
    yield f"\\begin{{tabular}}{{l{'r' * len(table.columns)}}}\n\\toprule"
    yield f"{' & '.join(map(_latex_escape, heads))} \\\\"
    for section in table.sections:
        yield "\\midrule"
        if section.title is not None:
            title = f"\\emph{{{_latex_escape(section.title)}}}"
            yield f"\\multicolumn{{{len(heads)}}}{{l}}{{{title}}} \\\\"
        for row in section.rows:
            cells = words.row(table, row)
            cells = [f"\\shortstack[r]{{{c}}}" if words.line in c else c for c in cells]
            yield f"{' & '.join(cells)} \\\\"
    yield "\\bottomrule\n\\end{tabular}"
    for number, note in enumerate(words.notes, 1):
        yield f"\\par{{\\footnotesize\\textsuperscript{{{number}}} {_latex_escape(note)}}}"
    for sentence in table.legend:
        yield f"\\par{{\\footnotesize {_latex_escape(sentence)}}}"
    yield "\\end{table}"
    for other in table.further:
        yield ""
        yield from _latex(other)


def _page(table: Table) -> Iterator[str]:
    title = html.escape(table.title)
    yield f'<!doctype html>\n<meta charset="utf-8">\n<title>{title}</title>\n{_STYLE}'
    yield from _html(table, 1)


_STYLE = """<style>
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; }
th, td { padding: .2em .7em; text-align: right; vertical-align: top; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th, tr.set th { border-bottom: 1px solid #888; }
tr.set th { text-align: left; font-style: italic; font-weight: normal; padding-top: .8em; }
p { font-size: 13px; max-width: 60em; margin: .4em 0; }
</style>"""


def _html(table: Table, level: int) -> Iterator[str]:
    escape = html.escape
    words = _Words(escape, "<b>{}</b>", "<sup>{}</sup>", "<br>", "−", "±", "–")
    heads = [table.stub, *(column.title for column in table.columns)]
    yield f"<h{level}>{escape(table.title)}</h{level}>\n<table>"
    yield f"<thead><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr></thead>"
    for section in table.sections:
        yield "<tbody>"
        if section.title is not None:
            yield f'<tr class="set"><th colspan="{len(heads)}">{escape(section.title)}</th></tr>'
        for row in section.rows:
            yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in words.row(table, row))}</tr>"
        yield "</tbody>"
    yield "</table>"
    for number, note in enumerate(words.notes, 1):
        yield f"<p><sup>{number}</sup> {escape(note)}</p>"
    for sentence in table.legend:
        yield f"<p>{escape(sentence)}</p>"
    for other in table.further:
        yield from _html(other, level + 1)


_FIELDS = (
    *("value", "low", "high", "gap", "published", "published_gap", "difference"),
    *("bold", "note", "text"),
)


def _csv(table: Table) -> str:
    """Return one line per field, with all numbers unrounded; an empty field is a missing number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["table", "group", "row", "column", *_FIELDS])
    for each in (table, *table.further):
        for section in each.sections:
            for row in section.rows:
                for column, cell in zip(each.columns, row.fields, strict=True):
                    where = [each.title, section.title, row.name, column.title]
                    noted = replace(cell, note=cell.note or row.note)
                    writer.writerow([*where, *(getattr(noted, name) for name in _FIELDS)])
    return out.getvalue()


@dataclass
class _Words:
    """How a format writes a cell, and the notes that were referred to so far."""

    escape: Callable[[str], str]
    bold: str
    raised: str
    line: str
    minus: str
    plus_minus: str
    dash: str
    notes: list[str] = field(default_factory=list)

    def row(self, table: Table, row: Row) -> list[str]:
        pairs = zip(row.fields, table.columns, strict=True)
        name = self.escape(row.name) + self._note(row.note)
        return [name, *(self.cell(cell, column.digits) for cell, column in pairs)]

    def cell(self, cell: Field, digits: int) -> str:
        """Write ours and, on a second line, the published value and the difference."""
        if cell.text is not None:
            return self.escape(cell.text)
        ours = self.dash if cell.value is None else self._ours(cell, cell.value, digits)
        ours += self._note(cell.note)
        if cell.published is None:
            return ours
        theirs = self._number(cell.published, digits)
        if cell.published_gap is not None:
            theirs += f" ({self._number(cell.published_gap, digits)})"
        if cell.difference is not None:
            theirs += f", {self._number(cell.difference, digits, '+')}"
        return f"{ours}{self.line}{self.escape('[')}{theirs}]"

    def _note(self, note: str | None) -> str:
        if note is None:
            return ""
        if note not in self.notes:
            self.notes.append(note)
        return self.raised.format(self.notes.index(note) + 1)

    def _ours(self, cell: Field, value: float, digits: int) -> str:
        smallest = 10**-digits
        if 0 < value < smallest / 2:  # a p-value is never 0
            text = self.escape(f"<{smallest:.{digits}f}")
        else:
            text = self._number(value, digits)
        if cell.bold:
            text = self.bold.format(text)
        if cell.half_width is not None:
            text += f" {self.plus_minus}{self._number(cell.half_width, digits)}"
        if cell.gap is not None:
            text += f" ({self._number(cell.gap, digits)})"
        return text

    def _number(self, value: float, digits: int, sign: str = "") -> str:
        # Adding 0 turns -0.0, as of -0.04, into 0.0.
        return f"{round(value, digits) + 0.0:{sign}.{digits}f}".replace("-", self.minus)


def _markdown_escape(text: str) -> str:
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\`*_|~$" else c for c in text)


_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "→": r"$\rightarrow$",
    "[": "{[}",  # after the end of a line it would begin an argument
}


def _latex_escape(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in " ".join(text.split()))
