"""Alignment: one linear map a language that brings whole sentence vectors into one space.

The maps are fitted in closed form on parallel text (`pmeans.encoder.alignment_fit`), after the
z-norm, for all powers and spaces at once: a column of the result may draw on every column of the
input. That space is the pivot's own, whose rows then stay as they are, or one of directions that
the languages share, into which the pivot is mapped as well.

A map may be stored as float16 or int8. It is rounded when that is asked for, so that what is saved
and read back gives the same bits. Rows times int8 are a product of whole numbers, which is twice as
fast; `docs/numerics.md` says what that moves.

Parts whose space has one place for all languages, such as a taught one, need no map. They may stand
first and stay as they are; the mapped columns of the others follow them.

There is no offset: the z-norm has taken the means away, and a sentence without a known word stays
a zero row. A map can be folded into a linear classifier's weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import get_args

import numpy as np

from pmeans import kernels
from pmeans.choices import RowPrecision
from pmeans.encoder.alignment_fit import Fit, Products, canonical_pivot, to_canonical, to_pivot
from pmeans.errors import FormatError, InputError, LanguageError, shown
from pmeans.languages.codes import match
from pmeans.mapped import MappedFields
from pmeans.tensors import are_numbers, decoded, map_tensors, quantised, write_tensors
from pmeans.types import Array, Encoder, Floats

CHUNK = 4096
"""Pairs of a block of the fit."""

_FORMAT = "pmeans-alignment"


@dataclass(frozen=True)
class LanguageMap(MappedFields):
    """What the rows of a language are multiplied by, and where it comes from.

    Attributes:
        factors: One matrix (n_columns, dim) float32, or several to multiply by one after the other:
            those of a lower rank are (n_columns, rank) and (rank, dim).
        origin: Method, settings and number of pairs, in words.
    """

    factors: tuple[Floats, ...]
    origin: str


@dataclass(frozen=True)
class Alignment(MappedFields):
    """Fitted maps by language.

    Attributes:
        pivot: The language that the others were paired with. Without a map of its own its rows
            stay as they are, and the others are mapped to its columns.
        maps: The maps; all lead to the same number of columns.
        precision: How the maps are stored; `stored_as` has rounded them to it.
        kept: Columns at the beginning of a row that stay as they are. The maps take the others.
    """

    pivot: str
    maps: Mapping[str, LanguageMap]
    precision: RowPrecision = "float32"
    kept: int = 0

    @property
    def dim(self) -> int:
        """Columns of a mapped row."""
        return self.kept + next(fitted.factors[-1].shape[1] for fitted in self.maps.values())

    def apply(self, rows: Floats, lang: str) -> Floats:
        """Return the mapped rows of a language, (n, dim), from (n, n_columns).

        A row depends on itself alone: neither the other rows nor its place changes a bit.
        """
        mapped = rows[:, self.kept :]
        for matrix in self.matrices(lang)[0]:
            mapped = kernels.map_rows(mapped, matrix)
        return np.concatenate([rows[:, : self.kept], mapped], axis=1)

    def matrices(self, lang: str) -> tuple[tuple[Floats | kernels.CodedMatrix, ...], int]:
        """Return what rows of a language are multiplied by, in this order, from which column on."""
        if lang not in self._matrices:
            self._matrices[lang] = tuple(self._laid_out(factor) for factor in self.factors(lang))
        return self._matrices[lang], self.kept

    def _laid_out(self, factor: Floats) -> Floats | kernels.CodedMatrix:
        codes, scale = _stored(factor, self.precision)
        return factor if scale is None else kernels.CodedMatrix.of(codes, scale)

    @cached_property
    def _matrices(self) -> dict[str, tuple[Floats | kernels.CodedMatrix, ...]]:
        return {}

    def fold(self, weights: Floats, lang: str) -> Floats:
        """Fold a map into a linear classifier, so that it takes rows without the map.

        From the weights of a classifier trained on mapped rows, (n_classes, dim), come those for
        rows of a language, (n_classes, n_columns). The bias stays as it is.
        """
        mapped = weights[:, self.kept :]
        for factor in reversed(self.factors(lang)):
            mapped = mapped @ factor.T
        return np.concatenate([weights[:, : self.kept], mapped], axis=1)

    def extended(
        self, encoder: Encoder, pairs: Mapping[str, Iterable[tuple[str, str]]], pivot: str, fit: Fit
    ) -> Alignment:
        """Return an alignment with more maps; `PowerMeanEncoder.fit_alignment` says more."""
        if pivot != self.pivot:
            raise InputError(f"the pivot of this alignment is {self.pivot!r}, not {pivot!r}.")
        fit.check(encoder.dim - self.kept)
        shared = self.maps.get(self.pivot)
        if self.maps and (shared is not None) != (fit.method == "canonical"):
            raise InputError(
                f"cannot add a language by {fit.method!r}: the maps there are lead to "
                + ("canonical directions" if shared else "the columns of the pivot")
                + ", and all must lead to the same."
            )
        sums = {lang: self._sums(encoder, listed, lang) for lang, listed in pairs.items()}
        maps = dict(self.maps)
        for lang, each in sums.items():
            origin = f"{fit}, {each.count} pairs"
            if fit.method != "canonical":
                maps[lang] = LanguageMap(to_pivot(each, fit), origin)
                continue
            if shared is None:
                shared = LanguageMap((canonical_pivot(sums, fit),), f"{fit} with {', '.join(sums)}")
                maps[self.pivot] = shared
            factor = to_canonical(each, shared.factors[0], fit.penalty)
            maps[lang] = LanguageMap((factor,), origin)
        # A map that joins others is stored as they are.
        return replace(self, maps=maps).stored_as(self.precision)

    def _sums(self, encoder: Encoder, pairs: Iterable[tuple[str, str]], lang: str) -> Products:
        if lang == self.pivot:
            raise InputError(f"{lang!r} is the pivot, and cannot be aligned to itself.")
        sums = Products(encoder.dim - self.kept)
        source = iter(pairs)
        while chunk := list(islice(source, CHUNK)):
            firsts, seconds = _sides(chunk)
            x = encoder.encode(seconds, lang=lang)[:, self.kept :]
            sums.add(x, encoder.encode(firsts, lang=self.pivot)[:, self.kept :])
        return sums

    def check_untouched(self, langs: Iterable[str]) -> None:
        """Raise an error if the z-norm of an aligned language is about to change."""
        if stale := {self.pivot, *self.maps} & set(langs):
            raise InputError(
                f"the alignment of {min(stale)!r} was fitted after its z-norm, and does not fit "
                "another one. Fit the z-norm of an encoder without alignment, then align it."
            )

    def weighted(self, weight: float) -> Alignment:
        """Multiply the mapped columns of all languages, beside those that stay as they are.

        The pivot needs a map for it. A language that is added later is mapped to the spread of the
        pivot's mapped columns, and so has the same weight.
        """
        if weight == 1:
            return self
        if self.pivot not in self.maps:
            raise InputError(f"a weight needs a map of the pivot {self.pivot!r}: fit 'canonical'.")
        maps = {
            lang: LanguageMap(
                (*fitted.factors[:-1], fitted.factors[-1] * np.float32(weight)),
                f"{fitted.origin}, weight {weight:g}",
            )
            for lang, fitted in self.maps.items()
        }
        return replace(self, maps=maps).stored_as(self.precision)

    def stored_as(self, precision: RowPrecision) -> Alignment:
        """Round the maps to numbers that ``precision`` can hold, and store them that way."""
        if precision not in get_args(RowPrecision):
            raise InputError(
                f"maps cannot be stored as {shown(precision)}; take float32, float16 or int8."
            )
        maps = {}
        for lang, fitted in self.maps.items():
            stored = [_stored(factor, precision) for factor in fitted.factors]
            maps[lang] = LanguageMap(tuple(_read(*each) for each in stored), fitted.origin)
        return replace(self, maps=maps, precision=precision)

    def content(self) -> list[object]:
        """Return all that reaches a row, for the identity of an encoder.

        Built models have int8 maps of all their languages, and results are stored under digests of
        the numbers of these alone. So what sets others apart is entered only where it holds.
        """
        content: list[object] = []
        for lang, fitted in sorted(self.maps.items()):
            content += [lang, *fitted.factors]
        if self.precision != "int8":  # another product of the same numbers
            shapes = [[f.shape for f in fitted.factors] for _, fitted in sorted(self.maps.items())]
            content.append(("float32", self.kept, shapes))
        if self.pivot not in self.maps:  # the one language whose rows stay as they are
            content.append(("pivot", self.pivot))
        return content

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
        metadata = {"format": _FORMAT, "pivot": self.pivot, **origins}
        if self.kept:
            metadata["kept"] = str(self.kept)
        write_tensors(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | Path, dim: int) -> Alignment:
        """Read what `save` wrote, and check that it maps rows of ``dim`` columns."""
        tensors, metadata = map_tensors(path)
        if metadata.get("format") != _FORMAT or "pivot" not in metadata:
            raise FormatError(f"{path}: not an alignment.")
        kept = metadata.get("kept", "0")
        if not kept.isdecimal() or int(kept) >= dim:
            raise FormatError(f"{path}: it keeps {kept!r} of {dim} columns, and maps the others.")
        dim -= int(kept)
        types = {array.dtype.name for name, array in tensors.items() if name.startswith("map.")}
        precision = next(iter(types), "float32")
        if len(types) > 1 or precision not in get_args(RowPrecision):
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
            if not _lead_from(dim, factors):
                raise FormatError(f"{path}: the map of {lang!r} does not fit {dim} columns.")
            maps[lang] = LanguageMap(factors, origin)
        widths = {fitted.factors[-1].shape[1] for fitted in maps.values()}
        if len(widths) != 1 or (metadata["pivot"] not in maps and widths != {dim}):
            raise FormatError(f"{path}: its maps lead to different columns: {sorted(widths)}.")
        return cls(metadata["pivot"], maps, precision, int(kept))  # type: ignore[arg-type]

    def factors(self, lang: str) -> tuple[Floats, ...]:
        """Return the factors of a language's map; the pivot may have none."""
        code = match(lang, {self.pivot: None, **self.maps})
        if code is None:
            fitted = ", ".join(map(repr, {self.pivot: None, **self.maps}))
            raise LanguageError(
                f"the alignment has no map for {lang!r} (it has: {fitted}). Fit one on parallel "
                f"text: encoder.fit_alignment({{{lang!r}: pairs}}, pivot={self.pivot!r})."
            )
        return self.maps[code].factors if code in self.maps else ()


def _stored(factor: Floats, precision: RowPrecision) -> tuple[Array, Floats | None]:
    """Return a matrix as it is stored, (n, m), and for int8 the scale of its rows, (n,)."""
    return quantised(factor, None, precision, lambda row: f"row {row} of a map; keep float32.")


def _read(numbers: Array, scale: Array | None) -> Array:
    """Return a stored matrix as float32; what is not one is returned as it is."""
    if numbers.dtype == np.int8:
        if scale is None or scale.dtype != np.float32 or scale.shape != numbers.shape[:1]:
            return numbers
    elif numbers.dtype != np.float16:
        return numbers
    return decoded(numbers, scale)


def _lead_from(dim: int, factors: tuple[Array, ...]) -> bool:
    """Whether matrices can be multiplied to rows of ``dim`` columns, one after the other."""
    if not factors or not all(f.ndim == 2 and are_numbers(f, f.shape) for f in factors):
        return False
    return len(factors[0]) == dim and all(a.shape[1] == len(b) for a, b in pairwise(factors))


def _sides(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[str]]:
    for pair in pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError(f"expected pairs of two sentences, got {shown(pair)}.")
    return [first for first, _ in pairs], [second for _, second in pairs]
