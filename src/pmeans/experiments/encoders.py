"""From a row of an experiment to an encoder, and to the digits that name what it computes.

Word spaces are mapped files: to hold one open costs next to nothing, and so does an encoder over
them. Each is opened once in a run, and read whole once, for its digest.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import LanguageError, StorageError
from pmeans.evaluation.controls import RandomProjection
from pmeans.experiments.plan import EncoderRow
from pmeans.recipe import Part, Recipe
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.types import Array


@dataclass(frozen=True)
class Opened:
    """An encoder, and twelve hexadecimal digits over its recipe and its spaces' content."""

    encoder: PowerMeanEncoder | RandomProjection
    id: str


class Shelf:
    """The word spaces of a run, each opened once."""

    def __init__(self) -> None:
        self._spaces: dict[str, WordSpace] = {}
        self._digests: dict[str, str] = {}
        self._opened: dict[str, Opened] = {}

    def open(self, row: EncoderRow, train_lang: str, test_lang: str) -> Opened:
        """Open the encoder of a row.

        Args:
            row: What the encoder is made of; ``{lang}`` in it becomes the test language.
            train_lang: A language that it must know.
            test_lang: Another one, or the same.

        Raises:
            StorageError: A word space is not there.
            LanguageError: The word spaces do not cover both languages.
        """
        parts = tuple(Part(p.space.replace("{lang}", test_lang), p.powers) for p in row.parts)
        recipe = Recipe(parts, row.name, row.tokenizer, row.root, row.znorm)
        encoder = PowerMeanEncoder(recipe, {part.space: self._space(part.space) for part in parts})
        for lang in (train_lang, test_lang):
            if encoder.languages and lang not in encoder.languages:
                raise LanguageError(
                    f"its word spaces know {', '.join(encoder.languages)}, not {lang}"
                )
        content = repr((recipe.id, [self._digests[name] for name in encoder.spaces], row.project))
        digits = hashlib.sha256(content.encode()).hexdigest()[:12]
        if digits not in self._opened:
            projected = RandomProjection(encoder, row.project) if row.project else encoder
            self._opened[digits] = Opened(projected, digits)
        return self._opened[digits]

    def _space(self, name: str) -> WordSpace:
        if name not in self._spaces:
            try:
                self._spaces[name] = find_space(name)
            except StorageError as error:
                # Its first sentence says what is missing; the hints are for one who typed a name.
                raise StorageError(str(error).split(". ")[0].rstrip(".")) from error
            self._digests[name] = digest(self._spaces[name])
        return self._spaces[name]


def digest(space: WordSpace) -> str:
    """Return sixty-four hexadecimal digits over everything in a space that reaches a vector."""
    found = hashlib.sha256(repr((space.case, space.matrix.dtype.str, space.matrix.shape)).encode())
    for lang, table in space.tables.items():
        found.update(repr((lang, table.start, len(table))).encode())
        found.update(_bytes(table.words))
        found.update(_bytes(table.offsets))
    found.update(_bytes(space.matrix))
    if space.scale is not None:
        found.update(_bytes(space.scale))
    if space.subwords is not None:
        found.update(repr((space.subwords.minn, space.subwords.maxn)).encode())
        found.update(_bytes(space.subwords.ngrams))
    return found.hexdigest()


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
