"""Encoders, the z-norm and maps as transformers of scikit-learn.

`PowerMeanVectorizer` takes texts; `ZNormTransformer` and `MapTransformer` take rows, and do to them
what `PowerMeanEncoder.fit_znorm` and `fit_alignment` do to an encoder's. `TransferClassifier` is an
estimator too, but does without scikit-learn's base class. ``docs/scikit-learn.md`` says which of
scikit-learn's checks they pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import FLOAT_DTYPES, check_array, check_is_fitted, validate_data

from pmeans.encoder.alignment_fit import (
    Fit,
    Method,
    Products,
    canonical_pivot,
    to_canonical,
    to_pivot,
)
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.encoder.znorm import SHARED, Moments, Statistics
from pmeans.errors import InputError, LanguageError
from pmeans.languages.codes import match, tidy_code
from pmeans.languages.resolution import groups, read_languages
from pmeans.models import opened
from pmeans.transfer.labels import read_texts
from pmeans.types import Array, Floats, Power


class PowerMeanVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts to rows of an encoder, as a step of a pipeline.

    Attributes:
        encoder_: What turns text into rows, opened by `fit`.
    """

    # Texts are what scikit-learn calls X, and not metadata.
    __metadata_request__fit: ClassVar = {"texts": UNUSED}
    __metadata_request__transform: ClassVar = {"texts": UNUSED}

    def __init__(
        self, encoder: SentenceEncoder | str | Path = "default", *, lang: str | None = None
    ) -> None:
        """Choose the encoder, and the language of texts.

        Args:
            encoder: What turns text into rows, or its name or folder, as `pmeans.load` takes it.
            lang: Language of the texts wherever a call names none; None finds it.
        """
        self.encoder = encoder
        self.lang = lang

    def fit(self, texts: Iterable[str | None], y: object = None) -> Self:
        """Open the encoder. Nothing is learned from the texts, which are only checked."""
        if self.lang is not None and not isinstance(self.lang, str):
            raise InputError("lang of the vectorizer is one code; give transform one for each.")
        read_texts(texts)
        self.encoder_ = opened(self.encoder)
        return self

    def transform(
        self, texts: Iterable[str | None], *, lang: str | Iterable[str] | None = None
    ) -> Floats:
        """Return a row for each text, (n, dim) float32; an empty cell is an empty text.

        ``lang`` is one language or one for each text; if it is named nowhere it is found.
        """
        check_is_fitted(self)
        listed = read_texts(texts)
        langs = read_languages(self.lang if lang is None else lang, len(listed))
        return self.encoder_.encode(listed, lang=langs)

    def fit_transform(
        self,
        texts: Iterable[str | None],
        y: object = None,
        *,
        lang: str | Iterable[str] | None = None,
    ) -> Floats:
        """Open the encoder and return a row for each text, (n, dim) float32."""
        listed = read_texts(texts)
        return self.fit(listed).transform(listed, lang=lang)

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Return a name for each column, (dim,): space, power and dimension, or ``mapped_``."""
        check_is_fitted(self)
        return np.array(list(_column_names(self.encoder_)), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _column_names(encoder: SentenceEncoder) -> Iterator[str]:
    if not isinstance(encoder, PowerMeanEncoder):
        yield from (f"{encoder.name}_{i}" for i in range(encoder.dim))
        return
    usual: dict[Power, str] = {-np.inf: "min", 1.0: "mean", np.inf: "max"}
    names = [
        f"{part.space}_{usual.get(p) or (f'list{k}' if isinstance(p, tuple) else f'p{p:g}')}_{i}"
        for part in encoder.recipe.parts
        for k, p in enumerate(part.powers)
        for i in range(encoder.spaces[part.space].dim)
    ]
    alignment = encoder.alignment
    yield from names[: alignment.kept] if alignment else names
    if alignment and alignment.pivot in alignment.maps:  # canonical directions
        yield from (f"mapped_{i}" for i in range(alignment.dim - alignment.kept))
    elif alignment:
        yield from (f"mapped_{name}" for name in names[alignment.kept :])


class ZNormTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Subtract each column's mean and divide by its deviation, for each language by itself.

    A row of zeros stands for a sentence without a known word. It is left out of the fit and stays
    zero, which is the average sentence.

    Attributes:
        statistics_: Means and deviations by language, `pmeans.encoder.znorm.Statistics`; under
            ``"*"`` if no languages were named.
        n_features_in_: Number of columns.
    """

    def fit(
        self,
        X: Array,
        y: object = None,
        *,
        lang: str | Iterable[str] | None = None,
    ) -> Self:
        """Measure means and deviations of rows, (n, dim), of one language or one for each row."""
        rows = validate_data(self, X, dtype=FLOAT_DTYPES)
        statistics: dict[str, Statistics] = {}
        for code, which in _by_code(lang, len(rows)):
            moments = Moments(rows.shape[1])
            some = rows[which]
            moments.add(some[some.any(axis=1)])
            statistics[code] = moments.statistics
        self.statistics_ = statistics
        return self

    def transform(self, X: Array, *, lang: str | Iterable[str] | None = None) -> Array:
        """Return z-scores of rows, (n, dim), by the statistics of their languages."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=FLOAT_DTYPES, reset=False)
        out = np.zeros_like(rows)
        known = rows.any(axis=1)
        for code, which in _by_code(lang, len(rows)):
            fitted = match(code, self.statistics_)
            if fitted is None:
                raise LanguageError(
                    f"no z-norm was fitted for {code!r}, but for "
                    f"{', '.join(map(repr, self.statistics_))} (where {SHARED!r} is no language): "
                    "name languages in fit and in transform, or in neither."
                )
            statistics = self.statistics_[fitted]
            some = which[known[which]]
            out[some] = statistics.apply(rows[some])
        return out

    def fit_transform(
        self,
        X: Array,
        y: object = None,
        *,
        lang: str | Iterable[str] | None = None,
    ) -> Array:
        """Return the z-scores of the rows that are fitted, (n, dim)."""
        codes = lang if lang is None or isinstance(lang, str) else list(lang)
        return self.fit(X, lang=codes).transform(X, lang=codes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _by_code(lang: str | Iterable[str] | None, n_rows: int) -> Iterator[tuple[str, Array]]:
    """Group rows by language: codes, and the rows that have them, (n,)."""
    codes = read_languages(lang, n_rows)
    if codes is None:
        yield SHARED, np.arange(n_rows)
        return
    yield from groups(codes, n_rows, lambda code: tidy_code(code or SHARED))


class MapTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A linear map of a language's rows to those of another, the pivot, fitted on pairs of rows.

    ``"canonical"`` maps the rows of both to directions that they share; the other methods lead to
    the pivot's own columns. `pmeans.encoder.alignment_fit` says how each is computed. Rows should
    be z-scores: no offset is fitted.

    Attributes:
        factors_: What rows are multiplied by, one after the other: (n_columns, dim) float32, or two
            of a lower rank.
        pivot_map_: What the pivot's rows are multiplied by, (n_pivot_columns, dim) float32; None if
            they stay as they are.
        n_features_in_: Number of columns.
    """

    def __init__(
        self, method: Method = "canonical", *, penalty: float = 3000.0, rank: int | None = None
    ) -> None:
        """Say how the map is fitted.

        Args:
            method: ``"canonical"``, ``"ridge"``, ``"cca"`` or ``"procrustes"``.
            penalty: Added to sums over pairs of squared z-scores: a number of pairs, so to speak.
            rank: Canonical directions to keep, which are the columns of the result; for the others
                the rank of the map. None keeps all.
        """
        self.method = method
        self.penalty = penalty
        self.rank = rank

    def fit(self, X: Array, y: Array) -> Self:
        """Fit the map on rows of the language, (n, n_columns), and the pivot's, (n, any number).

        A pair in which one row is zero, for a sentence without a known word, is left out.
        """
        x, to = validate_data(
            self, X, y, dtype=FLOAT_DTYPES, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        to = to.reshape(len(to), -1)
        sums = Products(x.shape[1], to.shape[1])
        fit = Fit(self.method, self.penalty, self.rank)
        fit.check(min(x.shape[1], to.shape[1]))
        sums.add(x, to)
        self.factors_: tuple[Floats, ...]
        self.pivot_map_: Floats | None = None
        if self.method == "canonical":
            self.pivot_map_ = canonical_pivot({"": sums}, fit)
            self.factors_ = (to_canonical(sums, self.pivot_map_, self.penalty),)
        else:
            self.factors_ = to_pivot(sums, fit)
        return self

    def transform(self, X: Array) -> Array:
        """Return the mapped rows of the language, (n, dim)."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=FLOAT_DTYPES, reset=False)
        for factor in self.factors_:
            rows = rows @ factor
        return rows

    def transform_pivot(self, y: Array) -> Array:
        """Return the pivot's rows among the mapped ones, (n, dim)."""
        check_is_fitted(self)
        rows = check_array(y, dtype=FLOAT_DTYPES)
        return rows if self.pivot_map_ is None else rows @ self.pivot_map_

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """Return a name for each column, (dim,)."""
        check_is_fitted(self)
        n = self.factors_[-1].shape[1]
        return np.array([f"mapped_{i}" for i in range(n)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required, tags.target_tags.multi_output = True, True
        tags.target_tags.single_output = False
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
