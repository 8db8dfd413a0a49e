"""Two encoders side by side, by their results on the same tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pmeans.errors import InputError
from pmeans_lab.evaluation.cells import Cell
from pmeans_lab.experiments import statistics
from pmeans_lab.experiments.render import SIGNIFICANT, Column, Field, Row, Section, Table
from pmeans_lab.experiments.results import Where
from pmeans_lab.experiments.statistics import Comparison, holm, interval
from pmeans_lab.experiments.tables import field


def compare(name_a: str, cells_a: Iterable[Cell], name_b: str, cells_b: Iterable[Cell]) -> Table:
    """Compare two encoders by their scores on every task and language that either has any of."""
    a, b = (
        {(cell.task, cell.train_lang, cell.test_lang): cell for cell in cells}
        for cells in (cells_a, cells_b)
    )
    if not a or not b:
        raise InputError(f"{(name_b if a else name_a)!r} has no results to compare: run it first.")
    keys = list(dict.fromkeys([*a, *b]))
    compared: dict[Where, Comparison] = {}
    reasons: dict[Where, str] = {}
    for key in keys:
        if key not in a or key not in b:
            reasons[key] = f"no results of {name_a if key not in a else name_b}"
            continue
        try:
            compared[key] = statistics.compare(a[key], b[key])
        except InputError as error:
            reasons[key] = str(error)
    adjusted = dict(zip(compared, holm([each.p for each in compared.values()]), strict=True))
    rows = []
    for key in keys:
        cells = [_score(each.get(key), reasons.get(key)) for each in (a, b)]
        if key in compared:
            got = compared[key]
            cells += _compared(got, Field(adjusted[key]))
        else:
            cells += [Field(note=reasons[key])] * 4
        task, train, test = key
        rows.append(Row(f"{task} {train}→{test}", tuple(cells)))
    if len(keys) > 1 and not reasons and len({key[1:] for key in keys}) == 1:
        rows.append(_average([(a[key], b[key]) for key in keys], list(compared.values())))
    second = name_b if name_b != name_a else f"{name_b} (second)"
    scores = (Column(name_a), Column(second), Column("difference"))
    columns = (*scores, Column("p", 4), Column("p, Holm", 4), Column("test"))
    legend = (
        "Per cent. ± is half of the 95 % confidence interval. The difference is the first minus "
        "the second. Holm's adjustment is over all tasks; what is then below "
        f"{SIGNIFICANT} is significant.",
    )
    title = f"{name_a} against {name_b}"
    return Table(title, "task", columns, (Section(None, tuple(rows)),), legend)


def _average(pairs: Sequence[tuple[Cell, Cell]], compared: Sequence[Comparison]) -> Row:
    """Return the row of the average over tasks: one question more, outside Holm's adjustment."""
    got = statistics.average_comparison(compared, independent=True)
    sides = [[interval(cell) for cell in side] for side in zip(*pairs, strict=True)]
    means = [statistics.average(side, independent=True) for side in sides]
    cells = [Field(mean.mean, mean.low, mean.high) for mean in means]
    return Row("average", (*cells, *_compared(got, Field())))


def _compared(got: Comparison, adjusted: Field) -> list[Field]:
    difference = Field(got.mean, got.low, got.high)
    return [difference, Field(got.p), adjusted, Field(text=got.test)]


def _score(cell: Cell | None, reason: str | None) -> Field:
    return field(interval(cell)) if cell else Field(note=reason)
