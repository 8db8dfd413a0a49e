"""Which language a text is in, found by the letters of its words.

An identifier knows some thirty languages, of which an encoder has a few. A text of another one is
in none of the encoder's languages: that is an answer as well. `pmeans.kernels.letters` says how a
language is found, and `pmeans.building.identifier_fit` how an identifier is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.errors import FormatError, LanguageError
from pmeans.identity import SHORT, identity
from pmeans.kernels import GramWeights
from pmeans.languages.codes import match
from pmeans.languages.resolution import TextLanguages
from pmeans.mapped import MappedFields
from pmeans.tensors import are_numbers, map_tensors, write_tensors
from pmeans.types import Array

_FORMAT = "pmeans-identifier"


@dataclass(frozen=True, eq=False)
class Identifier(MappedFields):
    """What letters say about languages; the attributes are those of `GramWeights`.

    Attributes:
        languages: Codes of the first columns; ``und`` stands for all languages of other scripts.
        letters: (1024,) uint64.
        weights: (n_buckets, n_columns) uint8.
        sharpness: Of probabilities.
    """

    languages: tuple[str, ...]
    letters: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.uint8]
    sharpness: float
    _choices: dict[tuple[str, ...], tuple[Sequence[str], GramWeights]] = field(
        default_factory=dict, init=False
    )

    def find(
        self, texts: Sequence[str], languages: tuple[str, ...], n_threads: int | None = None
    ) -> TextLanguages:
        """Find the languages of texts among some, or that they are in none of these."""
        if languages not in self._choices:
            # What is found is told by the codes that were asked for.
            asked = {match(lang, self.languages): lang for lang in languages}
            names = tuple(asked.get(code, code) for code in self.languages)
            self._choices[languages] = names, self.among(languages)
        codes, weights = self._choices[languages]
        return TextLanguages(codes, *kernels.identify(texts, weights, n_threads))

    def among(self, languages: Sequence[str]) -> GramWeights:
        """Return what is needed to choose among some languages."""
        codes = [match(lang, self.languages) for lang in languages]
        unknown = [lang for lang, code in zip(languages, codes, strict=True) if code is None]
        if unknown:
            raise LanguageError(
                f"the language of a text cannot be found: this model's identifier does not know "
                f"{', '.join(unknown)}. Name the language with lang=."
            )
        wanted = np.isin(self.languages, [code for code in codes if code])
        return GramWeights(self.letters, self.weights, wanted, self.sharpness)

    def digest(self) -> str:
        """Return twelve hexadecimal digits over everything that a language is found by."""
        settings = self.languages, float(np.float32(self.sharpness))
        return identity(settings, self.letters, self.weights, digits=SHORT)

    def save(self, path: str | Path) -> None:
        """Write the identifier as one safetensors file."""
        metadata = {"format": _FORMAT, "languages": " ".join(self.languages)}
        sharpness = np.array([self.sharpness], dtype=np.float32)
        tensors: dict[str, Array] = {
            "letters": self.letters,
            "sharpness": sharpness,
            "weights": self.weights,
        }
        write_tensors(path, tensors, metadata)

    @classmethod
    def load(cls, path: str | Path) -> Identifier:
        """Read what `save` wrote."""
        tensors, metadata = map_tensors(path)
        letters, weights, sharpness = map(tensors.get, ("letters", "weights", "sharpness"))
        if metadata.get("format") != _FORMAT or letters is None or weights is None:
            raise FormatError(f"{path}: not an identifier of languages.")
        if not are_numbers(sharpness, (1,)):
            raise FormatError(f"{path}: damaged: it has lost its sharpness.")
        languages = tuple(metadata.get("languages", "").split())
        identifier = cls(languages, letters, weights, float(sharpness[0]))
        try:
            identifier.among(languages)
        except ValueError as error:
            raise FormatError(f"{path}: damaged: {error}.") from error
        return identifier
