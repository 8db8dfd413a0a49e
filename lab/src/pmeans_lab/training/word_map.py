"""Maps of words between languages: spaces and word pairs in, one space out.

Language by language, word pairs are read or aligned, those whose words both spaces have are kept,
and a closed form learns the map from them: nothing is random, and no state is kept but the
aligner's. Pairs are made when they are asked for: settings that cannot be meant are refused before
minutes go into an alignment.

**Canonical correlation** is the paper's baseline, "CCA on word alignments of the same text"
(Faruqui and Dyer 2014): word pairs that the aligner links, each counted as often as it is linked.
With covariances ``Cxx + ridge``, ``Cyy + ridge`` and Cxy of the pairs, the decomposition
``Cxx^-1/2 Cxy Cyy^-1/2 = U S V'`` gives the maps ``A = Cxx^-1/2 U`` and ``B = Cyy^-1/2 V``, cut
after `dim` directions. The canonical space belongs to the two languages. With one other language,
both are mapped into it. With several there would be a different pivot for each; every other
language is instead mapped into its canonical space and from there back by the (pseudo-)inverse of
the pivot's map, and the pivot's vectors stay as they are.

**Orthogonal Procrustes**: with word pairs (x, y), ``W = U V'`` of the singular value decomposition
``X'Y = U S V'`` minimises ``|XW - Y|`` over orthogonal W (Schönemann 1966). Where the spaces differ
in width, the same formula gives a W whose shorter side is orthonormal. Vectors are first scaled to
length 1, centred and scaled again (Artetxe et al. 2016), as only then the criterion is about
cosines. Refinement (Conneau et al. 2018): words that are each other's CSLS neighbour under the map
join the dictionary, and the map is fitted again, as long as frequent words move nearer to their
neighbours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans.training.lexicon import (
    AlignerState,
    WordPairs,
    aligned_words,
    open_language,
    read_dictionary,
    vectors_of,
)
from pmeans.training.trainer import FilePath, FromFiles, SpaceRef, Trainer, within
from pmeans.types import Array, Floats, Ints, Progress
from pmeans_lab.training.csls import csls_neighbours


class RowPairs(NamedTuple):
    """Rows of the pivot and of another language that translate each other, (n_pairs,) each."""

    pivot: Ints
    other: Ints
    weights: Array


@dataclass(frozen=True)
class MappedLanguage(FromFiles):
    """A language that is mapped to the pivot, and what the map is learned from.

    Attributes:
        space: Name or file of its word space; the pivot's if that is bilingual.
        lang: Its language.
        files: Dictionaries, two columns each.
        text: Pairs of sentences to be aligned, the pivot first.
    """

    space: SpaceRef
    lang: str
    files: tuple[FilePath, ...] = ()
    text: PairFile | None = None

    def pairs(self, pivot: str, state: AlignerState, progress: Progress) -> WordPairs:
        """Return the word pairs: dictionary entries count 1, aligned words as often as linked."""
        found = [read_dictionary(file) for file in self.files]
        if self.text is not None:
            found.append(aligned_words(self.text, (pivot, self.lang), state, progress))
        if not found:
            raise InputError(f"nothing to learn {self.lang!r} from: name 'files' or a 'text'.")
        return WordPairs.joined(found)


@dataclass(frozen=True)
class WordMap(Trainer):
    """Languages mapped to a pivot by word pairs.

    Attributes:
        space: Name or file of the pivot's space.
        others: The languages to map, each with its space and word pairs.
        lang: The pivot.
    """

    method: ClassVar[str]
    name: str
    space: SpaceRef
    others: tuple[MappedLanguage, ...]
    lang: str = field(default="en", kw_only=True)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Fit the map of each language, and put all languages into one space.

        Unknown words are no longer composed from subwords.
        """
        langs = [self.lang, *(other.lang for other in self.others)]
        if len(langs) == 1:
            raise InputError("there is no language to map; 'others' must name at least one.")
        if len(set(langs)) < len(langs):
            raise InputError(f"each language may occur once, and these are {', '.join(langs)}.")
        names = [self.space, *(other.space for other in self.others)]
        spaces = {lang: open_language(name, lang) for name, lang in zip(names, langs, strict=True)}
        goal, *others = (vectors_of(space, lang) for lang, space in spaces.items())
        mapped = self._mapped(goal, others, self._pairs(spaces, progress, checkpoint))
        progress(1.0, "mapped")
        first, *rest = (space.name for space in spaces.values())
        source = f"{first} and {', '.join(rest)} by {self.method}"
        return joined_languages(self.name, spaces, mapped, source)

    @abstractmethod
    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        """Return new vectors for the pivot and for every other language, all of one width.

        The goal are the pivot's vectors, (n_words, dim); the others may have other widths.
        """

    def _pairs(
        self, spaces: Mapping[str, WordSpace], progress: Progress, checkpoint: Path | None
    ) -> Iterator[RowPairs]:
        """Yield for each other language the pairs whose two words have vectors."""
        n, lang = len(self.others), self.lang
        state = AlignerState(checkpoint, self, [other.text for other in self.others])
        for i, other in enumerate(self.others):
            pairs = other.pairs(lang, state, within(progress, i, n))
            here, there = spaces[lang], spaces[other.lang]
            one, two = here.find(pairs.first, lang), there.find(pairs.second, other.lang)
            both = (one >= 0) & (two >= 0)
            if not both.any():
                raise InputError(
                    f"none of the {len(both):,} word pairs has both words in {here.name!r} ({lang})"
                    f" and {there.name!r} ({other.lang}). Are the columns the other way round?"
                )
            # Counted from the first word of the language.
            one, two = one - here.tables[lang].start, two - there.tables[other.lang].start
            progress((i + 1) / n, f"mapping {other.lang} by {both.sum():,} word pairs")
            yield RowPairs(one[both], two[both], pairs.weights[both])


@dataclass(frozen=True)
class Cca(WordMap):
    """Languages mapped by canonical correlation with a pivot; the inherited fields say which.

    Attributes:
        dim: Canonical directions to keep.
        ridge: Added to the variances, as a share of their mean.
    """

    method = "canonical correlation"
    dim: int
    ridge: float = 1e-3

    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        widest = min(vectors.shape[1] for vectors in (goal, *others))
        if not 1 <= self.dim <= widest:
            raise InputError(f"dim is {self.dim}, and the narrowest space has {widest} columns.")
        if not self.ridge > 0:
            raise InputError(f"ridge is {self.ridge}; it must be above 0, or variances may vanish.")
        mapped = []
        for vectors, (x, y, weights) in zip(others, pairs, strict=True):
            maps = canonical(goal[x], vectors[y], weights, self.dim, self.ridge)
            canonic = (vectors - maps.y_mean) @ maps.b
            if len(others) == 1:
                return [(goal - maps.x_mean) @ maps.a, canonic]
            mapped.append(canonic @ np.linalg.pinv(maps.a) + maps.x_mean)
        return [goal, *mapped]


class Maps(NamedTuple):
    """What `canonical` fits: ``(x - x_mean) @ a`` and ``(y - y_mean) @ b`` correlate most."""

    x_mean: Array  # (x_dim,)
    y_mean: Array  # (y_dim,)
    a: Array  # (x_dim, dim)
    b: Array  # (y_dim, dim)
    correlations: Array  # (dim,), falling


def canonical(x: Array, y: Array, weights: Array, dim: int, ridge: float) -> Maps:
    """Fit the maps into the canonical space of paired rows.

    Args:
        x: (n_pairs, x_dim).
        y: (n_pairs, y_dim).
        weights: How much each pair counts, (n_pairs,).
        dim: Directions to keep, at most as many as the narrower side has columns.
        ridge: Added to the variances, as a share of their mean.

    Raises:
        InputError: There are no more pairs than directions, or all vectors are the same.
    """
    if len(x) <= dim:
        raise InputError(
            f"{len(x):,} word pairs with vectors are too few for {dim} canonical directions; "
            "give more pairs or a smaller dim."
        )
    shares = (weights / weights.sum())[:, None]
    x, y = x.astype(np.float64), y.astype(np.float64)
    x_mean, y_mean = (shares * x).sum(axis=0), (shares * y).sum(axis=0)
    x, y = x - x_mean, y - y_mean
    x_root = _inverse_root((shares * x).T @ x, ridge)
    y_root = _inverse_root((shares * y).T @ y, ridge)
    u, correlations, v = np.linalg.svd(x_root @ ((shares * x).T @ y) @ y_root)
    return Maps(x_mean, y_mean, x_root @ u[:, :dim], y_root @ v[:dim].T, correlations[:dim])


def _inverse_root(covariance: Array, ridge: float) -> Array:
    """Return ``(covariance + ridge * mean variance)^-1/2``."""
    variances, directions = np.linalg.eigh(covariance)
    mean = variances.mean()
    if not mean > 0:
        raise InputError("all vectors of the word pairs are the same; nothing can correlate.")
    return (directions / np.sqrt(variances.clip(0) + ridge * mean)) @ directions.T


@dataclass(frozen=True)
class Procrustes(WordMap):
    """Languages rotated into the space of a pivot; the inherited fields say which.

    Attributes:
        normalise: Scale to length 1, centre by language, scale again: the pivot's vectors too.
        refinements: How often the dictionary may grow; 0 for the given word pairs alone.
        frequent: How many words of each language, the first of its space, may join it.
    """

    method = "Procrustes rotation"
    normalise: bool = True
    refinements: int = 5
    frequent: int = 5_000

    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        if self.normalise:
            goal, *others = map(normalised, (goal, *others))
        both = zip(others, pairs, strict=True)
        return [goal, *(vectors @ self._fitted(vectors, goal, known) for vectors, known in both)]

    def _fitted(self, vectors: Floats, goal: Floats, pairs: RowPairs) -> Floats:
        w = rotation(vectors[pairs.other], goal[pairs.pivot], pairs.weights)
        if not self.refinements:
            return w
        x, y = vectors[: self.frequent], goal[: self.frequent]
        best, (there, criterion) = w, _nearest(x @ w, y)
        for _ in range(self.refinements):
            back = csls_neighbours(y, x @ best)[:, 0]
            mutual = np.flatnonzero(back[there] == np.arange(len(x)))
            w = rotation(
                vectors[np.concatenate([pairs.other, mutual])],
                goal[np.concatenate([pairs.pivot, there[mutual]])],
                np.concatenate([pairs.weights, np.ones(len(mutual))]),
            )
            there, reached = _nearest(x @ w, y)
            if reached <= criterion:
                break
            best, criterion = w, reached
        return best


def rotation(x: Array, y: Array, weights: Array) -> Floats:
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


def joined_languages(
    name: str, spaces: Mapping[str, WordSpace], vectors: Sequence[Array], source: str
) -> WordSpace:
    """Put a language of each space, with new vectors of (n_words, dim), into one space."""
    tables, start = {}, 0
    for lang, space in spaces.items():
        tables[lang] = replace(space.tables[lang], start=start)
        start += len(tables[lang])
    matrix = np.concatenate(vectors).astype(np.float32, copy=False)
    if not np.isfinite(matrix).all():
        raise InputError(f"the vectors of space {name!r} hold NaN or infinity.")
    cases = {space.case for space in spaces.values()}
    # Tries the word as it stands and in lower case, so that it finds what each space would.
    case = cases.pop() if len(cases) == 1 else "cased-then-lower"
    licence = "; ".join(dict.fromkeys(s.licence for s in spaces.values() if s.licence))
    return WordSpace(name, matrix, tables, case, source=source, licence=licence)
