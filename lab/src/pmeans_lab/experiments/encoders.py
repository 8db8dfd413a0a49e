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
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Recipe
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError, LanguageError, StorageError
from pmeans.models import AnyEncoder
from pmeans.models.baselines import Baseline
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans_lab.baselines.sif.encoder import Sif, Usif
from pmeans_lab.baselines.sif.frequencies import row_frequencies
from pmeans_lab.baselines.tfidf.encoder import Tfidf
from pmeans_lab.evaluation import cells
from pmeans_lab.evaluation.controls import RandomProjection
from pmeans_lab.evaluation.protocol import UNCHANGED
from pmeans_lab.experiments.plan import EncoderRow


@dataclass(frozen=True, eq=False)
class Opened:
    """An encoder that is made when it is first asked for, as fitting it on text takes a while.

    Its id is twelve hexadecimal digits over its recipe, its spaces' content and its text.
    """

    id: str
    dim: int
    make: Callable[[], SentenceEncoder]

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The encoder, made once."""
        return self.make()


class Shelf:
    """The word spaces of a run, each opened once."""

    def __init__(self) -> None:
        self._spaces: dict[str, WordSpace] = {}
        self._digests: dict[str, str] = {}
        self._baselines: dict[EncoderRow, Baseline] = {}
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
            encoder = self._found(row)
        except StorageError as error:
            # What is missing; what follows is for one who typed a name, on this machine.
            raise StorageError(re.split(r"[.:] ", str(error))[0].rstrip(".")) from error
        for lang in (train_lang, test_lang):
            if encoder.languages and lang not in encoder.languages:
                knows = "it knows" if isinstance(encoder, Baseline) else "its word spaces know"
                raise LanguageError(f"{knows} {', '.join(encoder.languages)}, not {lang}")
        digits = self._digits(encoder, row)
        if digits not in self._opened:
            self._opened[digits] = Opened(
                digits, row.project or encoder.dim, lambda: _made(encoder, row)
            )
        return self._opened[digits]

    def _digits(self, encoder: AnyEncoder, row: EncoderRow) -> str:
        """Name what a row computes."""
        if isinstance(encoder, Baseline):
            return cells.name([encoder.fingerprint()])
        spaces = [space.digest() for space in encoder.spaces.values()]
        content: list[object] = [encoder.recipe.id, spaces, row.project]
        content += [self._text(row.text), row.align] if row.text else []
        content += [encoder.fitted_digest()] if row.model else []
        return cells.name([*content, row.adapt] if row.adapt else content)

    def _found(self, row: EncoderRow) -> AnyEncoder:
        """Open the encoder of a row without what the row adds to it."""
        same = replace(row, name="", set="available", published=None, settings=UNCHANGED)
        if same in self._baselines:
            return self._baselines[same]
        encoder = self._model(row) if row.model else self._joined(row)
        if isinstance(encoder, Baseline):
            self._baselines[same] = encoder
        return encoder

    def _joined(self, row: EncoderRow) -> AnyEncoder:
        """Join the spaces of a row, into the baseline that is to be fitted if it is one."""
        if row.baseline == "tfidf":
            return Tfidf(row.name, tokenizer=row.tokenizer)
        recipe = Recipe(row.parts, row.name, row.tokenizer, row.root, row.znorm)
        for name in {part.space for part in row.parts} - self._spaces.keys():
            self._spaces[name] = find_space(name)
        spaces = {part.space: self._spaces[part.space] for part in row.parts}
        encoder = PowerMeanEncoder(recipe, spaces)
        if row.baseline is None:
            return encoder
        (space,) = spaces.values()
        kind = Usif if row.baseline == "usif" else Sif
        return kind(row.name, encoder, row_frequencies(space))

    def _model(self, row: EncoderRow) -> AnyEncoder:
        made = models.load(row.model)
        if isinstance(made, Baseline):
            if row.adapt or row.project:
                raise InputError(
                    f"encoder {row.name!r} is a baseline: adapt and project are for power means."
                )
            return made.tokenized(row.tokenizer)
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
    model = row.model and row.model.replace("{lang}", lang)
    return replace(row, parts=parts, text=text, model=model)


def _made(encoder: AnyEncoder, row: EncoderRow) -> SentenceEncoder:
    if isinstance(encoder, Baseline):
        return encoder
    if row.text:
        # Its sentences are raw, whatever the tokenizer of the task's.
        raw = encoder.replace(recipe=replace(encoder.recipe, tokenizer="words"))
        encoder = fit_on_pairs(raw, [row.text], row.align).replace(recipe=encoder.recipe)
    return RandomProjection(encoder, row.project) if row.project else encoder
