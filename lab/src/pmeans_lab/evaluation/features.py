"""A dataset as an encoder sees it: matrices, fitted on rows that may be looked at.

A recipe names the scope of its z-norm; which rows that means within an evaluation is decided here
and nowhere else:

========================  ====================================================================
``train``                 the training rows of the split, in the training language
``per_language``          those, and for a test language the rows at the training places of its
                          own split: unlabelled text of that language, never its test rows
``all``                   every row of the task in the training language, test rows included:
                          what the paper's toolkit most likely did
========================  ====================================================================

An encoder that comes with fitted statistics keeps them, unless it is to be adapted: then the
statistics of every language are fitted anew, on ``rows`` as for ``per_language``, or on the
``test`` rows of a test language, which an application may do and a fair comparison may not. An
alignment fitted on the earlier z-scores is applied to the new ones.

A baseline that is still to be fitted (what SIF takes out, the words of TF-IDF) is fitted on the
rows of ``train``, split by split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from pmeans.errors import InputError
from pmeans.models.baselines import Baseline
from pmeans.types import Array, Encoder, Floats
from pmeans_lab.evaluation.dataset import Dataset, TaskPart

Adapt = Literal["rows", "test"]


class View:
    """The matrices of a dataset under one fitted encoder, each encoded once."""

    def __init__(self, encoder: Encoder, dataset: Dataset) -> None:
        self.encoder: Any = encoder
        self._dataset = dataset
        self._matrices: dict[tuple[str, TaskPart], Floats] = {}

    def matrix(self, lang: str, part: TaskPart) -> Floats:
        """Return the rows of a part in a language, (n, dim) float32."""
        key = (lang, part)
        if key not in self._matrices:
            sentences = self._dataset.rows[lang][part].sentences
            rows = self.encoder.encode(sentences, lang=lang)
            self._matrices[key] = np.ascontiguousarray(rows, dtype=np.float32)
        return self._matrices[key]


class Features:
    """An encoder and a dataset; `view` fits what is to be fitted: a z-norm, a baseline."""

    def __init__(self, encoder: Encoder, dataset: Dataset, adapt: Adapt | None = None) -> None:
        self._encoder: Any = encoder
        self._dataset = dataset
        self._adapt = adapt
        recipe = getattr(encoder, "recipe", None)
        fitted = getattr(encoder, "znorm", None) is not None
        self._scope = "none" if recipe is None or (fitted and not adapt) else recipe.znorm
        if isinstance(encoder, Baseline):
            self._scope = "train" if encoder.needs_fit else "none"
        self._kept: dict[str, View] = {}

    @property
    def lasting(self) -> bool:
        """Whether all splits see the same matrices."""
        return self._scope not in ("train", "per_language")

    def check(self, train_lang: str, test_langs: Sequence[str]) -> None:
        """Raise an error if a language lacks the rows that an encoder is to be fitted on."""
        langs = {"train": [train_lang], "per_language": [train_lang, *test_langs]}
        for lang in langs.get(self._scope, ()):
            if not {"all", "train"} & set(self._dataset.rows[lang]):
                raise InputError(
                    f"task {self._dataset.task!r} has nothing but test rows in {lang!r}, and a "
                    f"z-norm of scope {self._scope!r}, or a baseline, must not be fitted on those. "
                    "Fit the encoder on other text of that language first, or take another scope."
                )

    def view(self, train_lang: str, part: TaskPart, seen: Mapping[str, Array]) -> View:
        """Return the dataset as seen after fitting on some rows.

        Args:
            train_lang: The training language.
            part: The part that holds the training rows.
            seen: The rows of that part, for each language, that are not test rows.
        """
        if not self.lasting:
            encoder = self._fit(self._encoder, train_lang, part, seen[train_lang])
            for lang in seen if self._scope == "per_language" else ():
                if lang != train_lang:
                    encoder = self._fit(encoder, lang, part, self._unlabelled(lang, part, seen))
            return View(encoder, self._dataset)
        if train_lang not in self._kept:
            encoder = self._encoder
            if self._scope == "all":
                parts = self._dataset.rows[train_lang].values()
                sentences = [sentence for rows in parts for sentence in rows.sentences]
                encoder = encoder.fit_znorm(sentences, lang=train_lang)
            self._kept = {train_lang: View(encoder, self._dataset)}
        return self._kept[train_lang]

    def _unlabelled(self, lang: str, part: TaskPart, seen: Mapping[str, Array]) -> Array:
        if self._adapt != "test":
            return seen[lang]
        return np.setdiff1d(np.arange(len(self._dataset.rows[lang][part])), seen[lang])

    def _fit(self, encoder: Any, lang: str, part: TaskPart, rows: Array) -> Any:
        sentences = self._dataset.rows[lang][part].sentences
        seen = [sentences[i] for i in rows]
        if isinstance(encoder, Baseline):
            return encoder.fit(seen, lang=lang)
        kept = {"keep_alignment": True} if self._adapt else {}
        return encoder.fit_znorm(seen, lang=lang, **kept)
