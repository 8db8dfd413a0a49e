"""Orthogonal Procrustes: the rotation that brings a language's words nearest to the pivot's.

With word pairs (x, y), ``W = U V'`` of the singular value decomposition ``X'Y = U S V'`` minimises
``|XW - Y|`` over orthogonal W (Schönemann 1966). Where the spaces differ in width, the same formula
gives a W whose shorter side is orthonormal. Vectors are first scaled to length 1, centred and
scaled again (Artetxe et al. 2016), as only then the criterion is about cosines.

Refinement (Conneau et al. 2018): words that are each other's CSLS neighbour under the map join the
dictionary, and the map is fitted again, as long as frequent words move nearer to their neighbours.
It is a closed form throughout: nothing is random, and no state is kept but the aligner's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans.errors import InputError
from pmeans.output import unit_rows
from pmeans.spaces.space import WordSpace
from pmeans.training.csls import csls_neighbours
from pmeans.training.lexicon import (
    AlignerState,
    Other,
    join,
    known,
    open_language,
    vectors_of,
)
from pmeans.training.trainer import Progress, space_beside
from pmeans.types import Array, Floats, Ints


@dataclass(frozen=True)
class Procrustes:
    """Languages rotated into the space of a pivot.

    Attributes:
        name: Of the space to be made.
        space: Name or file of the pivot's space.
        others: The languages to map, each with its space and word pairs.
        lang: The pivot.
        normalise: Scale to length 1, centre by language, scale again: the pivot's vectors too.
        refinements: How often the dictionary may grow; 0 for the given word pairs alone.
        frequent: How many words of each language, the first of its space, may join it.
    """

    name: str
    space: str
    others: tuple[Other, ...]
    lang: str = "en"
    normalise: bool = True
    refinements: int = 5
    frequent: int = 5_000

    def beside(self, folder: Path) -> Procrustes:
        """Return the same trainer with its relative paths taken from a folder."""
        others = tuple(other.beside(folder) for other in self.others)
        return replace(self, space=space_beside(folder, self.space), others=others)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Fit a rotation for each language, and put all languages into one space."""
        check_languages(self.lang, self.others)
        pivot = open_language(self.space, self.lang)
        spaces = [open_language(other.space, other.lang) for other in self.others]
        goal = vectors_of(pivot, self.lang)
        if self.normalise:
            goal = normalised(goal)
        parts = [(pivot, self.lang, goal)]
        state = AlignerState(checkpoint, self, [other.text for other in self.others])
        for i, (other, space) in enumerate(zip(self.others, spaces, strict=True)):
            share = i / len(self.others)
            pairs = other.pairs(self.lang, state, within(progress, share, len(self.others)))
            y, x, weights = known(pairs, (pivot, self.lang), (space, other.lang))
            vectors = vectors_of(space, other.lang)
            if self.normalise:
                vectors = normalised(vectors)
            progress(
                share + 1 / len(self.others), f"rotating {other.lang} by {len(x):,} word pairs"
            )
            w = fit(vectors[x], goal[y], weights)
            if self.refinements:
                w = self._refined(w, (x, y, weights), vectors, goal)
            parts.append((space, other.lang, vectors @ w))
        progress(1.0, "rotated")
        names = ", ".join(space.name for space, _, _ in parts[1:])
        return join(self.name, parts, f"{names} rotated to {pivot.name} by Procrustes")

    def _refined(
        self, w: Floats, seed: tuple[Ints, Ints, Array], vectors: Floats, goal: Floats
    ) -> Floats:
        x, y = vectors[: self.frequent], goal[: self.frequent]
        best, (there, criterion) = w, _nearest(x @ w, y)
        for _ in range(self.refinements):
            back = csls_neighbours(y, x @ best)[:, 0]
            mutual = np.flatnonzero(back[there] == np.arange(len(x)))
            w = fit(
                vectors[np.concatenate([seed[0], mutual])],
                goal[np.concatenate([seed[1], there[mutual]])],
                np.concatenate([seed[2], np.ones(len(mutual))]),
            )
            there, reached = _nearest(x @ w, y)
            if reached <= criterion:
                break
            best, criterion = w, reached
        return best


def fit(x: Array, y: Array, weights: Array) -> Floats:
    """Return the orthogonal map from rows of x to rows of y, (x_dim, y_dim) float32."""
    # In float64: the map then is orthogonal to the last bit that float32 can show.
    covariance = (x.astype(np.float64) * weights[:, None]).T @ y.astype(np.float64)
    u, _, v = np.linalg.svd(covariance, full_matrices=False)
    return (u @ v).astype(np.float32)


def normalised(vectors: Array) -> Floats:
    """Scale rows to length 1, take their mean away, and scale again."""
    rows = unit_rows(vectors)
    return unit_rows(rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32))


def _nearest(queries: Floats, targets: Floats) -> tuple[Ints, float]:
    """Return the CSLS neighbour of each query, and their mean cosine."""
    found = csls_neighbours(queries, targets)[:, 0]
    cosines = np.einsum("ij,ij->i", unit_rows(queries), unit_rows(targets)[found])
    return found, float(cosines.mean(dtype=np.float64))


def check_languages(pivot: str, others: tuple[Other, ...]) -> None:
    """Refuse a map from no language, or from one language twice."""
    langs = [pivot, *(other.lang for other in others)]
    if len(langs) == 1:
        raise InputError("there is no language to map; 'others' must name at least one.")
    if len(set(langs)) < len(langs):
        raise InputError(f"each language may occur once, and these are {', '.join(langs)}.")


def within(progress: Progress, start: float, parts: int) -> Progress:
    """Return a progress that fills one of so many equal parts of another."""
    return lambda share, words: progress(start + share / parts, words)
