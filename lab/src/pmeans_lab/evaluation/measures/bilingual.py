"""Whether a word's translations are its nearest neighbours in the other language.

Neighbours are ranked by CSLS (cross-domain similarity local scaling): the cosine, less the mean
cosine of the candidate to its own nearest words of the source language. Without that, a few hubs,
near to everything, are the answer to most questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from pmeans.spaces.space import WordSpace
from pmeans.training import lexicon
from pmeans.types import Ints
from pmeans_lab.evaluation.measures import Measured
from pmeans_lab.training.csls import csls_neighbours

Translations = Mapping[str, Sequence[str]]


def read_dictionary(path: str | Path) -> dict[str, list[str]]:
    """Read a dictionary of two columns: the translations of each word, in the order of the file."""
    found: dict[str, list[str]] = {}
    pairs = lexicon.read_dictionary(path)
    for word, translation in zip(pairs.first, pairs.second, strict=True):
        found.setdefault(word, []).append(translation)
    return found


def precision(
    space: WordSpace,
    translations: Translations,
    langs: tuple[str, str],
    *,
    on: str = "",
    ks: tuple[int, ...] = (1, 5),
    commonest: int = 20_000,
) -> list[Measured]:
    """Measured how often one of the ``k`` best words is a translation, for each ``k``.

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
        queries, targets = space.rows(np.array(asked)), space.rows(candidates)
        among = space.rows(_first(space, source, commonest))
        best = candidates[csls_neighbours(queries, targets, top=max(ks), among=among)]
        for k in ks:
            pairs = zip(right, best[:, :k].tolist(), strict=True)
            hits[k] = float(np.mean([not rows.isdisjoint(row) for rows, row in pairs]))
    name = f"{source}-{target}"
    return [Measured(f"P@{k}", name, on, hits[k], len(asked), len(translations)) for k in ks]


def _first(space: WordSpace, lang: str, n: int, also: Iterable[int] = ()) -> Ints:
    table = space.table(lang)
    rows = np.arange(table.start, table.start + min(n, len(table)))
    return np.union1d(rows, np.array(sorted(also), dtype=np.int64))
