"""Repair a word space: fill its gaps from another one, and even out its directions.

Word vectors lie in a narrow cone: a common mean and a few directions, most of them about
frequency, take up much of every cosine. Each step fits a closed form to the rows that the step
before it gave:

- ``centre``: the mean row is taken away.
- ``remove-top:K``: and the K directions of largest variance (all-but-the-top).
- ``whiten``: the mean is taken away, and every direction gets variance 1, turned as little as
  possible (ZCA).
- ``pca:K``: the K directions of largest variance become the columns.
- ``scale:K``: rows become K times as long.
- ``unit``: rows are scaled to length 1.

All of it takes seconds: there is nothing for a checkpoint to keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans.choices import Precision
from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import ConfigError, InputError, did_you_mean
from pmeans.kernels import index
from pmeans.spaces import edit
from pmeans.spaces.library import find_space, path_of
from pmeans.spaces.space import WordSpace
from pmeans.training.start_vectors import Affine, moments, pca, principal_axes
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Array, Progress

_FLAT = 1e-10  # a share of the largest variance below which a direction counts as absent


def remove_top(rows: Array, k: int) -> Affine:
    """Fit the map that takes the mean and the ``k`` largest directions away."""
    mean, _, directions = principal_axes(rows)
    top = directions[:, :k]
    return Affine(mean, np.eye(len(mean)) - top @ top.T)


def whiten(rows: Array) -> Affine:
    """Fit the map after which the mean is 0 and the covariance the identity.

    Directions in which the rows do not vary stay at 0, and do not become noise.
    """
    mean, variances, directions = principal_axes(rows)
    present = variances > _FLAT * variances[0]
    directions = directions[:, present]
    return Affine(mean, (directions / np.sqrt(variances[present])) @ directions.T)


def ridge(rows: Array, targets: Array, strength: float) -> Affine:
    """Fit the affine map from rows to targets with the least squared error and small weights.

    Args:
        rows: (n, dim).
        targets: (n, n_columns), what the rows are to become.
        strength: Added to every variance of the rows, as a share of their mean variance.
    """
    mean, covariance = moments(rows)
    offset = targets.mean(axis=0, dtype=np.float64)
    penalty = strength * np.trace(covariance) / len(mean)
    crossed = (rows - mean).T @ (targets - offset) / len(rows)
    # `pinv` where `solve` would do, but for rows without any variance.
    matrix = np.linalg.pinv(covariance + penalty * np.eye(len(mean)), hermitian=True) @ crossed
    return Affine(mean, matrix, offset)


_FITS: dict[str, Callable[[Array, int], Affine]] = {
    "centre": remove_top,  # of 0 directions
    "remove-top": remove_top,
    "whiten": lambda rows, _: whiten(rows),
    "scale": lambda rows, k: Affine(np.zeros(rows.shape[1]), k * np.eye(rows.shape[1])),
    "pca": pca,
}


def fill(space: WordSpace, other: WordSpace, strength: float = 0.01) -> WordSpace:
    """Give a space the words that only another space has.

    For each language in both, a `ridge` map from the other space is fitted on the shared words
    and applied to the words that are missing; they come after the language's own. Words of the
    other space that this one would never look up, cased ones in a lower-case space, are passed
    over.
    """
    shared = [lang for lang in space.tables if lang in other.tables]
    if not shared:
        raise InputError(
            f"{other.name!r} cannot fill {space.name!r}: it has {', '.join(other.tables)}, "
            f"not {', '.join(space.tables)}. Take a space of the same language."
        )
    words: dict[str, list[str]] = {}
    made = [np.empty((0, space.dim), dtype=np.float32)]
    for lang in shared:
        start, spelled = other.tables[lang].start, list(other.words(lang))
        here = index.find(space.tables[lang], spelled)
        both = np.flatnonzero(here >= 0)
        if len(both) <= other.dim:
            raise InputError(
                f"{space.name!r} and {other.name!r} share {len(both):,} words ({lang}); a map from "
                f"{other.dim} columns needs more than {other.dim}. Take a larger space."
            )
        to_rows = space.rows(space.tables[lang].start + here[both])
        fitted = ridge(other.rows(start + both), to_rows, strength)
        new = np.flatnonzero(here < 0).tolist()
        found = [i for i in new if space.case != "lower" or spelled[i] == spelled[i].lower()]
        words[lang] = [spelled[i] for i in found]
        made.append(fitted(other.rows(start + np.array(found, dtype=np.int64))))
    # The same subwords on both sides: the merged space keeps them.
    added = WordSpace.from_words(
        other.name, words, np.concatenate(made), case=space.case, subwords=space.subwords,
        source=other.source, licence=other.licence,
    )  # fmt: skip
    return edit.merge([space, added], space.name)


def transform(space: WordSpace, steps: Sequence[str], *, by_language: bool = False) -> WordSpace:
    """Run steps over all vectors.

    Args:
        space: Any space; the result is float32.
        steps: As in the module's docstring.
        by_language: Fit each step to the rows of one language at a time; but ``pca`` is always
            fitted to all rows, since axes of their own would part the languages.

    Returns:
        A space with the same words. Subwords are mapped along where the vector of an unknown word
        comes out as if it had been mapped itself, and are dropped where none can say its language
        (``by_language`` over several) or where ``unit`` breaks the rule. Folded ones are sums, and
        are dropped by steps that take a mean away.
    """
    rows, subwords = space.rows(slice(None)), space.subwords
    for step in steps:
        name, k = parse_step(step)
        if name == "unit":
            rows, subwords = unit_rows(rows), None
            continue
        apart = by_language and name != "pca" and len(space.tables) > 1
        borders = [table.start for table in space.tables.values()][1:] if apart else []
        mapped = []
        for part in np.split(rows, borders):
            n, dim = part.shape
            if name != "scale" and (n <= k or n < 2 or k > dim):
                raise InputError(
                    f"step {step!r} is too much for {n} vectors of {dim} "
                    f"columns in {space.name!r}; take a larger space or leave the step out."
                )
            fitted = _FITS[name](part, k)
            mapped.append(fitted(part))
        rows = np.concatenate(mapped)
        if subwords is not None:
            # The mean of mapped n-grams is the mapped mean of n-grams. Folded ones are no mean.
            breaks = apart or (subwords.folded and np.any(fitted.mean))
            ngrams = fitted(subwords.vectors)
            subwords = None if breaks else replace(subwords, ngrams=ngrams, scale=None)
    return replace(space, matrix=rows, scale=None, subwords=subwords, path="")


def parse_step(step: str) -> tuple[str, int]:
    """Return the name of a step and its number, 0 if it has none."""
    name, colon, number = step.partition(":")
    if name not in (*_FITS, "unit"):
        raise ConfigError(f"unknown step {step!r}.{did_you_mean(name, [*_FITS, 'unit'])}")
    wants = name in ("remove-top", "scale", "pca")
    if bool(colon) != wants or (wants and not (number.isdecimal() and int(number) > 0)):
        shown = f"{name}:K with a whole number K > 0" if wants else name
        raise ConfigError(f"step {step!r}: write {shown}.")
    return name, int(number) if wants else 0


@dataclass(frozen=True)
class Repair(Trainer):
    """Fill a space's gaps, then run steps over its vectors.

    Attributes:
        space: The one to repair: an installed name, or a ``.safetensors`` file.
        fill: Another one, whose words it is to have as well.
        steps: In the order in which they are done.
        by_language: Whether each language has statistics of its own.
        ridge: See `ridge`; for ``fill``.
        precision: How the numbers are stored at last.
    """

    name: str
    space: SpaceRef
    fill: SpaceRef | None = None
    steps: tuple[str, ...] = ()
    by_language: bool = False
    ridge: float = 0.01
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        path_of(self.name)  # refuses what cannot name a space
        for step in self.steps:
            parse_step(step)
        if not 0 <= self.ridge < np.inf:
            raise ConfigError(f"ridge = {self.ridge} must not be negative.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Repair the space; the checkpoint is not used."""
        space = find_space(self.space)
        if self.fill:
            progress(0.0, "filling")
            space = fill(space, find_space(self.fill), self.ridge)
        progress(0.5, "transforming")
        space = transform(space, self.steps, by_language=self.by_language)
        progress(1.0, "done")
        return edit.quantise(edit.rename(space, self.name), self.precision)
