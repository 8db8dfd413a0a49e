"""A table as a value: numbers as they are, to be rounded by whoever shows them."""

from __future__ import annotations

from dataclasses import dataclass

SIGNIFICANT = 0.05
"""A p-value below this, adjusted by Holm, is called significant."""


@dataclass(frozen=True)
class Cell:
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
    """A name, a cell for each column, and a footnote for a row that is empty as a whole."""

    name: str
    cells: tuple[Cell, ...]
    note: str | None = None


@dataclass(frozen=True)
class Group:
    """Rows under a heading of their own; None for rows that need none."""

    title: str | None
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """What is rendered.

    Attributes:
        title: Heading.
        stub: Heading of the rows' names.
        columns: Headings of the cells.
        groups: The rows.
        legend: Sentences that say how to read it.
        further: Smaller tables that belong to it.
    """

    title: str
    stub: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    legend: tuple[str, ...] = ()
    further: tuple[Table, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all groups."""
        return tuple(row for group in self.groups for row in group.rows)
