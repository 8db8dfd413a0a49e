"""Z-norm: subtract each column's mean, divide by its standard deviation.

What the statistics were fitted on is part of the model: on the training rows (``"train"``, the
honest default), on all rows of a task (``"all"``, what the paper's toolkit most likely did), or
on each language's own text (``"per_language"``, which repairs most of what separates the
languages). The first two share one set of statistics; the arithmetic is the same.

A part that knows no word of a sentence is left out of the fit and stays zero, which after the
z-norm is the average sentence.

Columns along the principal axes of a taught space may be normed halfway, by the root of their
deviations: the large axes mean more than the small ones, though less than they vary. Their centre
is that of short texts, from which whole sentences differ alike. And rows may be made 1 long, which
is what classifiers with a usual penalty expect: by one constant for all, so that long rows stay
longer than short ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pmeans.errors import FormatError, LanguageError
from pmeans.languages.codes import match
from pmeans.mapped import MappedFields
from pmeans.tensors import are_numbers, map_tensors, write_tensors
from pmeans.types import Array, Floats, Scope

SHARED = "*"
"""Key of the statistics that all languages share."""

SHORT = 5
"""Known words of a short text."""
FEWEST = 100
"""Short texts that tell their centre; of fewer, all texts do."""

_SMALLEST = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Statistics(MappedFields):
    """Column means and standard deviations, (dim,) float32 each, over ``count`` sentences.

    As they were fitted they have the means of short texts as well, (dim,), if there were enough.
    """

    mean: Floats
    std: Floats
    count: int
    short: Floats | None = None

    @cached_property
    def factor(self) -> Floats:
        """What a centred column is multiplied by, (dim,); a constant column by 1."""
        # A deviation below float32's resolution of the mean is rounding, not signal.
        varies = self.std > np.maximum(np.abs(self.mean) * np.float32(1e-7), _SMALLEST)
        return (1 / np.where(varies, self.std, 1)).astype(np.float32)

    def apply(self, rows: Array) -> Array:
        """Return rows, (n, dim), as z-scores. The kernels do the same while they write rows."""
        return (rows - self.mean) * self.factor

    def halfway(self, n: int) -> Statistics:
        """Divide the first n columns by the roots of their deviations, and keep their sizes.

        The sum of their squares stays what it is on average: n. They are centred by short texts.
        """
        if not n:
            return self
        mean, std = self.mean.copy(), self.std.copy()
        std[:n] = np.sqrt(std[:n] * std[:n].mean())
        if self.short is not None:
            mean[:n] = self.short[:n]
        return replace(self, mean=mean, std=std, short=None)

    def longer(self, factor: float) -> Statistics:
        """Multiply all deviations, by which rows are divided."""
        return replace(self, std=(self.std * factor).astype(np.float32))


@dataclass(frozen=True)
class ZNorm:
    """Fitted statistics by language, or under `SHARED`.

    Attributes:
        scope: What they were fitted on.
        statistics: As rows are normed by them.
        halfway: The first columns, so many, are normed halfway.
        length: What all rows are divided by.
    """

    scope: Scope
    statistics: Mapping[str, Statistics]
    halfway: int = 0
    length: float = 1.0

    def joined(self, fitted: Mapping[str, Statistics]) -> ZNorm:
        """Add languages, or replace them, whose statistics come as they were fitted."""
        halved = {lang: each.halfway(self.halfway) for lang, each in fitted.items()}
        statistics = {lang: each.longer(self.length) for lang, each in halved.items()}
        return replace(self, statistics={**self.statistics, **statistics})

    def normed(self, halfway: int) -> ZNorm:
        """Norm the first columns halfway, so many, of statistics as they were fitted."""
        changed = replace(self, statistics={}, halfway=halfway)
        return changed.joined(self.statistics)

    def shortened(self, length: float) -> ZNorm:
        """Divide all rows by a length."""
        statistics = {lang: each.longer(length) for lang, each in self.statistics.items()}
        return replace(self, statistics=statistics, length=self.length * length)

    def for_language(self, lang: str) -> Statistics:
        """Return the statistics that a sentence of this language is normalised with."""
        key = match(lang, self.statistics) if self.scope == "per_language" else SHARED
        if key is None or key not in self.statistics:
            fitted = ", ".join(map(repr, self.statistics)) or "none"
            raise LanguageError(
                f"z-norm per language has not seen {lang!r} (fitted: {fitted}). "
                f"Fit it on text of that language: encoder.fit_znorm(sentences, lang={lang!r})."
            )
        return self.statistics[key]

    def save(self, path: str | Path) -> None:
        """Write the statistics as one safetensors file."""
        tensors: dict[str, Array] = {}
        for lang, fitted in self.statistics.items():
            tensors[f"mean.{lang}"] = fitted.mean
            tensors[f"std.{lang}"] = fitted.std
            tensors[f"count.{lang}"] = np.array([fitted.count], dtype=np.int64)
        metadata = {"format": "pmeans-znorm", "scope": self.scope}
        if self.halfway:
            metadata["halfway"] = str(self.halfway)
        if self.length != 1:
            metadata["length"] = repr(self.length)
        write_tensors(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | Path, scope: Scope, dim: int) -> ZNorm:
        """Read what `save` wrote, and check that it fits the recipe."""
        tensors, metadata = map_tensors(path)
        if metadata.get("format") != "pmeans-znorm" or metadata.get("scope") != scope:
            raise FormatError(f"{path}: not the z-norm of scope {scope!r} that the recipe names.")
        halfway, length = _settings(metadata, dim, path)
        statistics = {}
        for key in [name for name in tensors if name.startswith("mean.")]:
            lang = key.removeprefix("mean.")
            mean, std = tensors[key], tensors.get(f"std.{lang}")
            count = tensors.get(f"count.{lang}")
            if not are_numbers(mean, (dim,)) or not are_numbers(std, (dim,)) or (std < 0).any():
                raise FormatError(f"{path}: statistics of {lang!r} do not fit {dim} columns.")
            if count is None or count.shape != (1,) or count.dtype != np.int64:
                raise FormatError(f"{path}: statistics of {lang!r} have lost their count.")
            statistics[lang] = Statistics(mean, std, int(count[0]))
        return cls(scope, statistics, halfway, length)


def _settings(metadata: Mapping[str, str], dim: int, path: str | Path) -> tuple[int, float]:
    """Return how many columns are normed halfway, and what rows are divided by."""
    halfway, length = metadata.get("halfway", "0"), metadata.get("length", "1")
    try:
        settings = int(halfway), float(length)
    except ValueError:
        settings = -1, 0.0
    if not (0 <= settings[0] <= dim and 0 < settings[1] < np.inf):
        raise FormatError(
            f"{path}: a z-norm of {halfway!r} of {dim} columns halfway, for rows of the length "
            f"{length!r}."
        )
    return settings


class Moments:
    """Running mean and variance of columns, in float64, block by block.

    Blocks are joined by the parallel formula of Chan, Golub and LeVeque (1979), which does not
    lose the variance to the mean as a plain sum of squares does.
    """

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.mean: npt.NDArray[np.float64] = np.zeros(dim)
        self._squares: npt.NDArray[np.float64] = np.zeros(dim)

    def add(self, rows: Floats) -> None:
        """Take in a block, (n, dim)."""
        n = len(rows)
        if not n:
            return
        mean = rows.mean(axis=0, dtype=np.float64)
        squares = np.square(rows - mean).sum(axis=0)
        delta = mean - self.mean
        total = self.count + n
        self.mean = self.mean + delta * (n / total)
        self._squares += squares + np.square(delta) * (self.count * n / total)
        self.count = total

    @property
    def std(self) -> npt.NDArray[np.float64]:
        """Standard deviation of each column (divided by n, not n - 1), (dim,)."""
        return np.sqrt(self._squares / max(self.count, 1))

    @property
    def statistics(self) -> Statistics:
        """The same as statistics of a z-norm."""
        return Statistics(self.mean.astype(np.float32), self.std.astype(np.float32), self.count)


class PartMoments:
    """Moments of a part's columns: of all sentences, and of the short ones."""

    def __init__(self, dim: int) -> None:
        self.all, self.short = Moments(dim), Moments(dim)

    def add(self, rows: Floats, known: Array) -> None:
        """Take in rows, (n, dim), of sentences with so many known words, (n,)."""
        self.all.add(rows[known > 0])
        self.short.add(rows[(known > 0) & (known <= SHORT)])

    @property
    def centre(self) -> npt.NDArray[np.float64]:
        """The mean of short texts, (dim,), or that of all where these are few."""
        return (self.short if self.short.count >= FEWEST else self.all).mean


def side_by_side(parts: Sequence[PartMoments]) -> Statistics:
    """Return the statistics of columns that were counted part by part."""
    statistics = [part.all.statistics for part in parts]
    return Statistics(
        np.concatenate([each.mean for each in statistics]),
        np.concatenate([each.std for each in statistics]),
        max(each.count for each in statistics),
        np.concatenate([part.centre for part in parts]).astype(np.float32),
    )
