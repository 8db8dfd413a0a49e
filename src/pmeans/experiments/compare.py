"""Two encoders side by side: where do they differ, and by more than chance?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pmeans.errors import InputError
from pmeans.experiments.results import Result, latest
from pmeans.experiments.statistics import (
    Comparison,
    average,
    average_comparison,
    holm,
    interval,
)
from pmeans.experiments.statistics import compare as compare_scores
from pmeans.experiments.table import SIGNIFICANT, Cell, Column, Group, Row, Table

Key = tuple[str, str, str]
"""Task, training and test language."""


def compare(results_a: Sequence[Result], results_b: Sequence[Result]) -> Table:
    """Compare two encoders on every task and language that either has results of.

    Args:
        results_a: Results of one encoder.
        results_b: Results of another, or of the same one in another run.
    """
    (name_a, a), (name_b, b) = _by_key(results_a), _by_key(results_b)
    keys = list(dict.fromkeys([*a, *b]))
    compared: dict[Key, Comparison] = {}
    reasons: dict[Key, str] = {}
    for key in keys:
        if key not in a or key not in b:
            reasons[key] = f"no results of {name_a if key not in a else name_b}"
            continue
        try:
            compared[key] = compare_scores(a[key], b[key])
        except InputError as error:
            reasons[key] = str(error)
    adjusted = dict(zip(compared, holm([each.p for each in compared.values()]), strict=True))
    rows = []
    for key in keys:
        cells = [_score(each.get(key), reasons.get(key)) for each in (a, b)]
        if key in compared:
            got = compared[key]
            cells += [
                Cell(got.difference, got.low, got.high),
                Cell(got.p),
                Cell(adjusted[key]),
                Cell(text=got.test),
            ]
        else:
            cells += [Cell(note=reasons[key])] * 4
        task, train, test = key
        rows.append(Row(f"{task} {train}→{test}", tuple(cells)))
    if len(keys) > 1 and not reasons and len({key[1:] for key in keys}) == 1:
        rows.append(_average(keys, a, b, list(compared.values())))
    columns = (
        Column(name_a),
        Column(name_b if name_b != name_a else f"{name_b} (second)"),
        Column("difference"),
        Column("p", 4),
        Column("p, Holm", 4),
        Column("test"),
    )
    legend = (
        "Per cent. ± is half of the 95 % confidence interval. The difference is the first minus "
        "the second. Holm's adjustment is over all tasks; what is then below "
        f"{SIGNIFICANT} is significant.",
    )
    title = f"{name_a} against {name_b}"
    return Table(title, "task", columns, (Group(None, tuple(rows)),), legend)


def _average(
    keys: Sequence[Key],
    a: Mapping[Key, list[Result]],
    b: Mapping[Key, list[Result]],
    compared: Sequence[Comparison],
) -> Row:
    """Return the row of the average over tasks: one question more, outside Holm's adjustment."""
    got = average_comparison(compared, independent=True)
    means = [average([interval(each[key]) for key in keys], independent=True) for each in (a, b)]
    cells = [Cell(mean.mean, mean.low, mean.high) for mean in means]
    cells += [Cell(got.difference, got.low, got.high), Cell(got.p), Cell(), Cell(text=got.test)]
    return Row("average", tuple(cells))


def _by_key(results: Sequence[Result]) -> tuple[str, dict[Key, list[Result]]]:
    """Return the encoder's name and its splits by task and languages."""
    names = sorted({result.encoder for result in results})
    if not names:
        raise InputError("no results to compare: 'pmeans eval run' makes them.")
    if len(names) > 1:
        raise InputError(
            f"one encoder at a time can be compared, and here are {len(names)}: "
            f"{', '.join(map(repr, names[:5]))}. Name one."
        )
    return names[0], {key[1:]: splits for key, splits in latest(results).items()}


def _score(results: list[Result] | None, reason: str | None) -> Cell:
    if results is None:
        return Cell(note=reason)
    got = interval(results)
    return Cell(got.mean) if got.error != got.error else Cell(got.mean, got.low, got.high)
