"""Whether cosines order pairs of words as people do: SimLex-999, WordSim-353 and their kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import FormatError, shown
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans_lab.evaluation.measures import Measured

_SCORES = ("score", "simlex999")


class Rated(NamedTuple):
    """Two words, and how alike people find them."""

    first: str
    second: str
    score: float


def read_rated(path: str | Path) -> list[Rated]:
    """Read rated pairs: two columns of words, and one called ``score`` or ``SimLex999``.

    Columns are divided by tabs. Lines may end as on any system, the old Macintosh included.
    """
    lines = [*read_lines(path)] or [""]
    header = [column.strip().lower() for column in lines[0].split("\t")]
    column = next((i for i, name in enumerate(header) if name in _SCORES), -1)
    if column < 0:
        raise FormatError(f"{path}: no column 'score' or 'SimLex999' in {shown(lines[0])}.")
    rated = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        try:
            rated.append(Rated(cells[0], cells[1], float(cells[column])))
        except (IndexError, ValueError):
            raise FormatError(
                f"{path}, line {number:,}: {shown(line)} is not two words and a score."
            ) from None
    return rated


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float | None:
    """Return the rank correlation of two rows of numbers, with the mean rank for equal ones.

    None where it does not exist: fewer than two numbers, or all of them equal.
    """
    from scipy.stats import rankdata

    if np.size(first) < 2:
        return None
    a, b = rankdata(first), rankdata(second)
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else None


def similarity(space: WordSpace, rated: Sequence[Rated], lang: str, on: str = "") -> Measured:
    """Correlate cosines with people's scores, over the pairs of which both words have a vector."""
    known = []
    for pair in rated:
        first, second = space.vector(pair.first, lang), space.vector(pair.second, lang)
        if first is not None and second is not None:
            known.append((first, second, pair.score))
    value = None
    if len(known) > 1:
        first, second = (unit_rows(np.stack(rows)) for rows in list(zip(*known, strict=True))[:2])
        cosines = np.einsum("ij,ij->i", first, second, dtype=np.float64)
        value = spearman(cosines, [score for *_, score in known])
    return Measured("Spearman", lang, on, value, len(known), len(rated))


def overlap(pairs: Iterable[tuple[str, str]], others: Iterable[tuple[str, str]]) -> int:
    """Count the distinct pairs that both have, whichever word comes first, in any case.

    Trained on pairs that it is tested on, a space knows the answers: this says how many.
    """
    found = [{frozenset((a.lower(), b.lower())) for a, b in some} for some in (pairs, others)]
    return len(found[0] & found[1])
