"""Alignment: one linear map a language that brings whole sentence vectors to the pivot's.

The map is fitted in closed form on parallel text, after the z-norm, for all powers and spaces at
once: a column of the result may draw on every column of the input. With X the rows of the language
and Y those of the pivot:

=============  =============================================================================
``ridge``      W = argmin |XW - Y|² + penalty·|W|²; a lower rank is the best fit of that rank
``cca``        X whitened, turned onto whitened Y, and given Y's covariance; a lower rank
               keeps the directions that correlate most; the penalty is added to both covariances
``procrustes`` the orthogonal W that brings XW nearest to Y; no penalty
=============  =============================================================================

A regression keeps only what it can predict, so ridge rows vary less than the pivot's; the other
two keep the spread. ``docs/numerics.md`` has numbers, made by ``experiments/align_study.py``.

A map may be stored as float16 or int8. It is rounded when that is asked for, and multiplied in
float32 as ever, so that what is saved and read back gives the same bits.

There is no offset: the z-norm has taken the means away, and a sentence without a known word stays
a zero row. The pivot's own rows are left as they are, so a classifier trained on them needs no
change; for another language the map can be folded into a linear classifier's weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.spaces.edit import Precision
from pmeans.spaces.store import map_tensors, write_tensors
from pmeans.types import Array, Encoder, Floats

Method = Literal["ridge", "cca", "procrustes"]
Doubles = npt.NDArray[np.float64]

BLOCK = 32
"""Rows that are multiplied together, always: the last bits of a product depend on their number."""

CHUNK = 4096
"""Pairs of a block of the fit."""

_FORMAT = "pmeans-alignment"
_LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True)
class Fit:
    """How a map is fitted.

    Attributes:
        method: ``"ridge"``, ``"cca"`` or ``"procrustes"``.
        penalty: Weight of the squared map against squared errors in z-scores.
        rank: Keep the map as two factors of this rank; None keeps all of it.
    """

    method: Method = "ridge"
    penalty: float = 300.0
    rank: int | None = None

    def check(self, dim: int) -> None:
        """Raise an error if no map of ``dim`` columns can be fitted this way."""
        if self.method not in get_args(Method):
            raise InputError(f"no method {self.method!r}: take {', '.join(get_args(Method))}.")
        if not (self.penalty > 0 and np.isfinite(self.penalty)):
            raise InputError(f"penalty must be a number above 0, not {self.penalty}.")
        if self.rank is not None and not 1 <= self.rank <= dim:
            raise InputError(f"rank {self.rank} is not within 1 and {dim}, the number of columns.")

    def __str__(self) -> str:
        penalty = "" if self.method == "procrustes" else f", penalty {self.penalty:g}"
        return f"{self.method}{penalty}" + (f", rank {self.rank}" if self.rank else "")


@dataclass(frozen=True)
class LanguageMap:
    """What the rows of a language are multiplied by, and where it comes from.

    Attributes:
        factors: One matrix (dim, dim) float32, or two of low rank, (dim, rank) and (rank, dim).
        origin: Method, settings and number of pairs, in words.
    """

    factors: tuple[Floats, ...]
    origin: str


@dataclass(frozen=True)
class Alignment:
    """Fitted maps by language, and the language whose rows they lead to.

    Attributes:
        pivot: Its rows stay as they are.
        maps: The maps of the other languages.
        precision: How the maps are stored; `stored_as` has rounded them to it.
    """

    pivot: str
    maps: Mapping[str, LanguageMap]
    precision: Precision = "float32"

    def apply(self, rows: Floats, lang: str, out: Floats | None = None) -> Floats:
        """Return the rows of a language, (n, dim), in the pivot's space; ``out`` may be ``rows``.

        A row depends on itself alone: neither the other rows nor its place changes a bit.
        """
        factors = self._factors(lang)
        if not factors:
            return rows
        if out is None:
            out = np.empty_like(rows)
        block = np.zeros((BLOCK, rows.shape[1]), dtype=np.float32)
        for start in range(0, len(rows), BLOCK):
            n = min(BLOCK, len(rows) - start)
            block[:n] = rows[start : start + n]
            out[start : start + n] = _product(block, factors)[:n]
        return out

    def fold(self, weights: Floats, lang: str) -> Floats:
        """Fold a map into a linear classifier, so that it takes rows without the map.

        Args:
            weights: Of a classifier trained on the pivot's rows, (n_classes, dim).
            lang: Language of the rows it is to take.

        Returns:
            Its weights for that language, (n_classes, dim); the bias stays as it is.
        """
        for factor in reversed(self._factors(lang)):
            weights = weights @ factor.T
        return weights

    def extended(
        self, encoder: Encoder, pairs: Iterable[tuple[str, str]], pivot: str, lang: str, fit: Fit
    ) -> Alignment:
        """Return an alignment with another map; `PowerMeanEncoder.fit_alignment` says more."""
        if pivot != self.pivot or lang == self.pivot:
            raise InputError(
                f"cannot align {lang!r} to {pivot!r}: this alignment leads other languages to "
                f"its pivot {self.pivot!r}."
            )
        sums = Products(encoder.dim)
        fit.check(encoder.dim)
        source = iter(pairs)
        while chunk := list(islice(source, CHUNK)):
            firsts, seconds = _sides(chunk)
            sums.add(encoder.encode(seconds, lang=lang), encoder.encode(firsts, lang=pivot))
        # A map that joins others is stored as they are.
        joined = Alignment(pivot, {**self.maps, lang: sums.solve(fit)})
        return joined.stored_as(self.precision)

    def check_untouched(self, langs: Iterable[str]) -> None:
        """Raise an error if the z-norm of an aligned language is about to change."""
        if stale := {self.pivot, *self.maps} & set(langs):
            raise InputError(
                f"the alignment of {min(stale)!r} was fitted after its z-norm, and does not fit "
                "another one. Fit the z-norm of an encoder without alignment, then align it."
            )

    def stored_as(self, precision: Precision) -> Alignment:
        """Round the maps to numbers that ``precision`` can hold, and store them that way."""
        maps = {}
        for lang, fitted in self.maps.items():
            stored = [_stored(factor, precision) for factor in fitted.factors]
            maps[lang] = LanguageMap(tuple(_read(*each) for each in stored), fitted.origin)
        return Alignment(self.pivot, maps, precision)

    def save(self, path: str | Path) -> None:
        """Write the maps as one safetensors file."""
        tensors: dict[str, Array] = {}
        for lang, fitted in self.maps.items():
            for i, factor in enumerate(fitted.factors):
                numbers, scale = _stored(factor, self.precision)
                tensors[f"map.{lang}.{i}"] = numbers
                if scale is not None:
                    tensors[f"scale.{lang}.{i}"] = scale
        origins = {f"origin.{lang}": fitted.origin for lang, fitted in self.maps.items()}
        write_tensors(path, tensors, {"format": _FORMAT, "pivot": self.pivot, **origins})

    @classmethod
    def load(cls, path: str | Path, dim: int) -> Alignment:
        """Read what `save` wrote, and check that it fits rows of ``dim`` columns."""
        tensors, metadata = map_tensors(path)
        if metadata.get("format") != _FORMAT or "pivot" not in metadata:
            raise FormatError(f"{path}: not an alignment.")
        types = {array.dtype.name for name, array in tensors.items() if name.startswith("map.")}
        precision = next(iter(types), "float32")
        if len(types) > 1 or precision not in get_args(Precision):
            raise FormatError(f"{path}: maps of the types {', '.join(sorted(types))}.")
        maps = {}
        for key, origin in metadata.items():
            lang = key.removeprefix("origin.")
            if lang == key:
                continue
            factors = tuple(
                _read(tensors[f"map.{lang}.{i}"], tensors.get(f"scale.{lang}.{i}"))
                for i in range(2)
                if f"map.{lang}.{i}" in tensors
            )
            if not _lead(factors, dim):
                raise FormatError(f"{path}: the map of {lang!r} does not fit {dim} columns.")
            maps[lang] = LanguageMap(factors, origin)
        return cls(metadata["pivot"], maps, precision)  # type: ignore[arg-type]

    def _factors(self, lang: str) -> tuple[Floats, ...]:
        if lang == self.pivot:
            return ()
        if lang not in self.maps:
            fitted = ", ".join(map(repr, (self.pivot, *self.maps)))
            raise LanguageError(
                f"the alignment has no map for {lang!r} (it has: {fitted}). Fit one on parallel "
                f"text: encoder.fit_alignment(pairs, {self.pivot!r}, {lang!r})."
            )
        return self.maps[lang].factors


def _product(block: Floats, factors: tuple[Floats, ...]) -> Floats:
    product = block
    with np.errstate(over="ignore", invalid="ignore"):
        for factor in factors:
            product = product @ factor
    # Rows near the end of float32's range: again in float64, one by one, and cut off.
    for i in np.flatnonzero(~np.isfinite(product).all(axis=1)):
        row = block[i].astype(np.float64)
        for factor in factors:
            row = row @ factor.astype(np.float64)
        product[i] = np.clip(row, -_LARGEST, _LARGEST)
    return product


def _stored(factor: Floats, precision: Precision) -> tuple[Array, Floats | None]:
    """Return a matrix as it is stored, (n, m), and for int8 the scale of its rows, (n,)."""
    largest = np.abs(factor).max(axis=1, initial=0)
    if precision == "float16" and not largest.max(initial=0) < 65520:
        raise InputError(f"float16 ends at 65504 and cannot hold {largest.max()} of a map.")
    if precision != "int8":
        return factor.astype(precision), None
    # As in int8 word spaces. Codes times scale give the same codes and scale when stored again:
    # fl(127 * fl(x / 127)) / 127 rounds back to fl(x / 127), whatever x.
    scale = largest / np.float32(127)
    codes = np.rint(factor / np.where(scale > 0, scale, 1)[:, None])
    return np.clip(codes, -127, 127).astype(np.int8), scale


def _read(numbers: Array, scale: Array | None) -> Array:
    """Return a stored matrix as float32; what is none is returned as it is."""
    if numbers.dtype == np.float16:
        return numbers.astype(np.float32)
    if scale is None or numbers.ndim != 2 or scale.shape != numbers.shape[:1]:
        return numbers
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers * scale[:, None]


def _lead(factors: tuple[Array, ...], dim: int) -> bool:
    """Whether matrices lead from ``dim`` columns to ``dim`` columns."""
    if not factors or any(f.ndim != 2 or f.dtype != np.float32 for f in factors):
        return False
    inner = all(a.shape[1] == b.shape[0] for a, b in pairwise(factors))
    outer = factors[0].shape[0] == dim == factors[-1].shape[1]
    return inner and outer and all(bool(np.isfinite(f).all()) for f in factors)


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"expected pairs of two sentences, got {pair!r}.")
    return [first for first, _ in pairs], [second for _, second in pairs]


class Products:
    """What a map is computed from, summed over blocks of pairs in float64.

    Sums of several texts may be added up: a choice of texts needs no second pass.
    """

    def __init__(self, dim: int) -> None:
        self.count = 0
        self.xx: Doubles = np.zeros((dim, dim))
        self.xy: Doubles = np.zeros((dim, dim))
        self.yy: Doubles = np.zeros((dim, dim))

    def add(self, x: Floats, y: Floats) -> None:
        """Take in the rows of both sides, (n, dim); a pair with a zero row is left out."""
        if x.shape != y.shape:
            raise InputError(f"the two sides of the pairs differ: {x.shape} and {y.shape}.")
        known = x.any(axis=1) & y.any(axis=1)
        left, right = x[known].astype(np.float64), y[known].astype(np.float64)
        self.count += len(left)
        self.xx += left.T @ left
        self.xy += left.T @ right
        self.yy += right.T @ right

    def solve(self, fit: Fit) -> LanguageMap:
        """Return the map from x to y."""
        dim = len(self.xx)
        fit.check(dim)
        if self.count < dim:
            raise InputError(
                f"{self.count:,} pairs with known words on both sides are too few for a map of "
                f"{dim:,} columns: give at least {dim:,}, better ten times as many."
            )
        left, right = _SOLVERS[fit.method](self, fit)
        factors = (left @ right,) if fit.rank is None else (left, right)
        origin = f"{fit}, {self.count} pairs"
        return LanguageMap(tuple(factor.astype(np.float32) for factor in factors), origin)


def _ridge(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    dim = len(sums.xx)
    solved: Array = np.linalg.solve(sums.xx + fit.penalty * np.eye(dim), sums.xy)
    if fit.rank is None:
        return solved, np.eye(dim)
    # Reduced-rank regression: keep the directions of Y that the fit explains most of.
    _, directions = np.linalg.eigh(sums.xy.T @ solved)
    kept = directions[:, ::-1][:, : fit.rank]
    return solved @ kept, kept.T


def _cca(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    whiten, _ = _roots(sums.xx, fit.penalty)
    whiten_y, colour_y = _roots(sums.yy, fit.penalty)
    u, _, vt = np.linalg.svd(whiten @ sums.xy @ whiten_y)
    return whiten @ u[:, : fit.rank], vt[: fit.rank] @ colour_y


def _procrustes(sums: Products, fit: Fit) -> tuple[Doubles, Doubles]:
    u, _, vt = np.linalg.svd(sums.xy)
    return u[:, : fit.rank], vt[: fit.rank]


_SOLVERS = {"ridge": _ridge, "cca": _cca, "procrustes": _procrustes}


def _roots(covariance: Doubles, penalty: float) -> tuple[Doubles, Doubles]:
    """Return the inverse square root and the square root of a matrix, (dim, dim) each."""
    values, vectors = np.linalg.eigh(covariance)
    roots = np.sqrt(np.maximum(values, 0) + penalty)
    return (vectors / roots) @ vectors.T, (vectors * roots) @ vectors.T
