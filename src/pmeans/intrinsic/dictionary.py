"""Whether a word's translations are its nearest neighbours in the other language.

Neighbours are ranked by CSLS (cross-domain similarity local scaling): the cosine, less the mean
cosine of the candidate to its own nearest words of the source language. Without that, a few hubs,
near to everything, are the answer to most questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pmeans.errors import FormatError
from pmeans.intrinsic.measure import Measure
from pmeans.output import unit_rows
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import read_lines
from pmeans.types import Floats, Ints

Translations = Mapping[str, Sequence[str]]
_BLOCK = 1024  # rows compared at a time: 80 MB of cosines to 20,000 words
_NEIGHBOURS = 10


def read_dictionary(path: str | Path) -> dict[str, list[str]]:
    """Read a dictionary: a word and a translation a line, with a tab between them."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if len(cells) != 2:
            raise FormatError(f"{path}, line {number:,}: {len(cells)} columns, expected 2.")
        found.setdefault(cells[0], []).append(cells[1])
    return found


def hubness(targets: Floats, sources: Floats, n_neighbours: int = _NEIGHBOURS) -> Floats:
    """Return how near each target is to its nearest sources, on average, (n_targets,).

    Args:
        targets: (n_targets, dim), rows of length 1.
        sources: (n_sources, dim), rows of length 1.
        n_neighbours: How many sources are averaged.
    """
    n = min(n_neighbours, len(sources))
    means = np.empty(len(targets), dtype=np.float32)
    for low in range(0, len(targets), _BLOCK):
        cosines = targets[low : low + _BLOCK] @ sources.T
        cosines.partition(cosines.shape[1] - n, axis=1)
        means[low : low + _BLOCK] = cosines[:, -n:].mean(axis=1)
    return means


def nearest(queries: Floats, targets: Floats, hubs: Floats, k: int) -> Ints:
    """Return the ``k`` best targets of each query by CSLS, best first, (n_queries, k).

    Args:
        queries: (n_queries, dim), rows of length 1.
        targets: (n_targets, dim), rows of length 1.
        hubs: What `hubness` says of the targets.
        k: How many; fewer come where there are fewer targets.
    """
    k = min(k, len(targets))
    found = np.empty((len(queries), k), dtype=np.int64)
    for low in range(0, len(queries), _BLOCK):
        # The query's own hubness is the same for all targets, and changes no order.
        scores = 2 * (queries[low : low + _BLOCK] @ targets.T) - hubs
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        found[low : low + _BLOCK] = np.take_along_axis(best, order, axis=1)
    return found


def precision(
    space: WordSpace,
    translations: Translations,
    langs: tuple[str, str],
    *,
    on: str = "",
    ks: tuple[int, ...] = (1, 5),
    commonest: int = 20_000,
) -> list[Measure]:
    """Measure how often one of the ``k`` best words is a translation, for each ``k``.

    Args:
        space: Of both languages.
        translations: What is right; other words count as wrong.
        langs: From which language into which.
        on: A name for the dictionary.
        ks: How many answers are allowed.
        commonest: Answers, and the words that hubs are found with, are the first so many words of
            each language, and all translations.

    Returns:
        A measure for each k. A word is covered if it and one of its translations are in the space.
    """
    source, target = langs
    asked, right = [], []
    for word, answers in translations.items():
        row = space.row(word, source)
        rows = {space.row(each, target) for each in answers} - {-1}
        if row >= 0 and rows:
            asked.append(row)
            right.append(rows)
    hits: dict[int, float | None] = dict.fromkeys(ks)
    if asked:
        candidates = _first(space, target, commonest, set().union(*right))
        sources = unit_rows(space.rows(_first(space, source, commonest)))
        targets = unit_rows(space.rows(candidates))
        queries = unit_rows(space.rows(np.array(asked)))
        best = candidates[nearest(queries, targets, hubness(targets, sources), max(ks))]
        for k in ks:
            found = [
                bool(rows & set(row[:k])) for rows, row in zip(right, best.tolist(), strict=True)
            ]
            hits[k] = float(np.mean(found))
    name = f"{source}-{target}"
    return [Measure(f"P@{k}", name, on, hits[k], len(asked), len(translations)) for k in ks]


def _first(space: WordSpace, lang: str, n: int, also: Iterable[int] = ()) -> Ints:
    table = space.table(lang)
    rows = np.arange(table.start, table.start + min(n, len(table)))
    return np.union1d(rows, np.array(sorted(also), dtype=np.int64))
