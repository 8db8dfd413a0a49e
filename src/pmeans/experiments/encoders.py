"""From a row of an experiment to an encoder, and to the digits that name what it computes.

Word spaces are mapped files: to hold one open costs next to nothing, and so does an encoder over
them. Each is opened once in a run, and read whole once, for its digest.

The digits are those of `fingerprint` where a row is an encoder as it is. What a row adds (text to
be fitted on, a projection, a z-norm fitted anew) is named by what it is made from: the digits can
be had without the time that fitting takes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pmeans import models
from pmeans.building.build_file import fit_on_pairs
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import LanguageError, StorageError
from pmeans.evaluation import cells
from pmeans.evaluation.controls import RandomProjection
from pmeans.experiments.plan import EncoderRow
from pmeans.recipe import Recipe
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile


@dataclass(frozen=True, eq=False)
class Opened:
    """An encoder that is made when it is first asked for, as fitting it on text takes a while.

    Its id is twelve hexadecimal digits over its recipe, its spaces' content and its text.
    """

    id: str
    dim: int
    make: Callable[[], PowerMeanEncoder | RandomProjection]

    @cached_property
    def encoder(self) -> PowerMeanEncoder | RandomProjection:
        """The encoder, made once."""
        return self.make()


class Shelf:
    """The word spaces of a run, each opened once."""

    def __init__(self) -> None:
        self._spaces: dict[str, WordSpace] = {}
        self._digests: dict[str, str] = {}
        self._opened: dict[str, Opened] = {}

    def open(self, row: EncoderRow, train_lang: str, test_lang: str) -> Opened:
        """Open the encoder of a row; ``{lang}`` in it becomes the test language.

        Where that is the first language of the row's text, it becomes the training language.

        Raises:
            StorageError: A word space is not there.
            LanguageError: The word spaces or the text do not cover both languages.
        """
        back = row.text and row.text.first == test_lang
        row = _for_language(row, train_lang if back else test_lang)
        try:
            encoder = self._model(row) if row.model else self._joined(row)
        except StorageError as error:
            # What is missing; what follows is for one who typed a name, on this machine.
            raise StorageError(re.split(r"[.:] ", str(error))[0].rstrip(".")) from error
        for lang in (train_lang, test_lang):
            if encoder.languages and lang not in encoder.languages:
                raise LanguageError(
                    f"its word spaces know {', '.join(encoder.languages)}, not {lang}"
                )
        spaces = [space.digest() for space in encoder.spaces.values()]
        content: list[object] = [encoder.recipe.id, spaces, row.project]
        content += [self._text(row.text), row.align] if row.text else []
        content += [encoder.fitted_digest()] if row.model else []
        digits = cells.name([*content, row.adapt] if row.adapt else content)
        if digits not in self._opened:
            self._opened[digits] = Opened(
                digits, row.project or encoder.dim, lambda: _made(encoder, row)
            )
        return self._opened[digits]

    def _joined(self, row: EncoderRow) -> PowerMeanEncoder:
        recipe = Recipe(row.parts, row.name, row.tokenizer, row.root, row.znorm)
        for name in {part.space for part in row.parts} - self._spaces.keys():
            self._spaces[name] = find_space(name)
        return PowerMeanEncoder(recipe, {p.space: self._spaces[p.space] for p in row.parts})

    def _model(self, row: EncoderRow) -> PowerMeanEncoder:
        made = models.power_means(models.load(row.model), "a row of an experiment")
        return made.replace(recipe=replace(made.recipe, tokenizer=row.tokenizer))

    def _text(self, file: PairFile) -> tuple[object, ...]:
        """Name what is fitted on by its content, not by where it is."""
        if file.path not in self._digests:
            try:
                with open(file.path, "rb") as opened:
                    found = hashlib.file_digest(opened, "sha256")
            except OSError as error:
                raise StorageError(
                    f"cannot read the text {Path(file.path).name!r}: {error.strerror}"
                ) from error
            self._digests[file.path] = found.hexdigest()
        return (self._digests[file.path], file.first, file.second, file.sources, file.limit)


def _for_language(row: EncoderRow, lang: str) -> EncoderRow:
    """Put a language in the place of every ``{lang}``."""
    parts = tuple(replace(p, space=p.space.replace("{lang}", lang)) for p in row.parts)
    text = row.text
    if text:
        if text.first == lang and "{lang}" in text.second:
            raise LanguageError(
                f"its text is of {lang} and of another language, not of {lang} alone"
            )
        second = text.second.replace("{lang}", lang)
        text = replace(text, path=text.path.replace("{lang}", lang), second=second)
    return replace(row, parts=parts, text=text)


def _made(encoder: PowerMeanEncoder, row: EncoderRow) -> PowerMeanEncoder | RandomProjection:
    if row.text:
        # Its sentences are raw, whatever the tokenizer of the task's.
        raw = encoder.replace(recipe=replace(encoder.recipe, tokenizer="words"))
        encoder = fit_on_pairs(raw, [row.text], row.align).replace(recipe=encoder.recipe)
    return RandomProjection(encoder, row.project) if row.project else encoder
