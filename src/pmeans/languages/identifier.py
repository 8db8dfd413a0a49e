"""Which language a text is in, found by the letters of its words.

An identifier knows some thirty languages, of which an encoder has a few. A text of another one is
in none of the encoder's languages: that is an answer as well. `pmeans.kernels.letters` says how a
language is found, and `pmeans.building.identifier_fit` how an identifier is fitted.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.errors import FormatError, LanguageError, count
from pmeans.kernels import GramWeights
from pmeans.languages.codes import match
from pmeans.mapped import MappedFields
from pmeans.tensors import are_numbers, map_tensors, write_tensors
from pmeans.types import Array, Floats, Ids

AUTO = "auto"
"""In place of a language: find it, text by text."""

DOUBTFUL = 0.8
"""A language of a lower probability is doubtful."""

COMMON = 5000
"""Words at the head of a language's list: they are its own, whatever their letters say."""

_FORMAT = "pmeans-identifier"


class Detection(NamedTuple):
    """The language of a text, None if it is none of the encoder's, and how probable that is."""

    lang: str | None
    probability: float


class DoubtfulLanguageWarning(UserWarning):
    """The language of some texts is doubtful, or none that the encoder has."""


@dataclass(slots=True, eq=False)  # not frozen, which would cost a single sentence a microsecond
class FoundLanguages:
    """The languages of some texts.

    Attributes:
        names: Codes of all languages that an identifier knows.
        columns: Number of the likeliest language of the encoder among the names, or -1 minus it
            where the text is in none of them, (n,) int32.
        probabilities: Of the language, or of its being none, (n,) float32.
    """

    names: Sequence[str]
    columns: Ids
    probabilities: Floats

    @property
    def none(self) -> npt.NDArray[np.bool_]:
        """Which texts are in none of the encoder's languages, (n,)."""
        return self.columns < 0

    @property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Which texts have a language of the encoder, but a doubtful one, (n,)."""
        return (self.columns >= 0) & (self.probabilities < DOUBTFUL)

    def __iter__(self) -> Iterator[str]:
        """Yield the likeliest of the encoder's languages for each text, also where it is none."""
        return map(self._code, self.columns.tolist())

    def detections(self) -> list[Detection]:
        """Return the languages one by one."""
        found = zip(self.columns.tolist(), self.probabilities.tolist(), strict=True)
        return [Detection(self.names[k] if k >= 0 else None, p) for k, p in found]

    def groups(self) -> Iterator[tuple[str, Array]]:
        """Yield each language that a text is taken to be in, and the places of its texts, (n,)."""
        if len(self.columns) == 1:  # as every other way, but in a fifth of the time
            yield self._code(int(self.columns[0])), np.zeros(1, dtype=np.int64)
            return
        likeliest = np.where(self.columns < 0, ~self.columns, self.columns)
        for k in np.unique(likeliest).tolist():
            yield self.names[k], np.flatnonzero(likeliest == k)

    def take_words(self, texts: Sequence[str], ranks: Callable[[str], dict[str, int]]) -> None:
        """Give single words in none of the languages to the one in which they are common.

        Args:
            texts: Those whose languages these are.
            ranks: Returns the place of a word in the list of each of the encoder's languages.
        """
        for i in np.flatnonzero(self.none).tolist():
            word = texts[i].strip()
            if not word.isalpha():
                continue
            places = {rank: lang for lang, rank in ranks(word).items() if 0 <= rank < COMMON}
            if places:
                self.columns[i] = list(self.names).index(places[min(places)])
                self.probabilities[i] = 1 - self.probabilities[i]

    def _code(self, column: int) -> str:
        return self.names[column if column >= 0 else ~column]


@dataclass(slots=True)
class Doubts:
    """How many texts there were whose language was looked for, and how many of them in doubt."""

    texts: int = 0
    none: int = 0
    doubtful: int = 0

    def add(self, found: FoundLanguages, without: int = 0) -> None:
        """Count further texts, but for so many empty ones."""
        self.texts += len(found.columns) - without
        if len(found.columns) == 1 and found.columns[0] >= 0:  # the usual one sentence
            self.doubtful += bool(found.probabilities[0] < DOUBTFUL)
            return
        self.none += int(np.count_nonzero(found.none)) - without
        self.doubtful += int(np.count_nonzero(found.doubtful))

    @property
    def any(self) -> bool:
        """Whether there is a doubt."""
        return self.none > 0 or self.doubtful > 0

    def __str__(self) -> str:
        return (
            f"language uncertain: of {count(self.texts, 'text')}, {self.none:,} in none of the "
            f"model's languages, {self.doubtful:,} doubtful. The likeliest language was used."
        )

    def warn(self, stacklevel: int) -> None:
        """Warn if there is a doubt."""
        if self.any:
            warnings.warn(str(self), DoubtfulLanguageWarning, stacklevel + 1)


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
    ) -> FoundLanguages:
        """Find the languages of texts among some, or that they are in none of these."""
        if languages not in self._choices:
            # What is found is told by the codes that were asked for.
            asked = {match(lang, self.languages): lang for lang in languages}
            names = tuple(asked.get(code, code) for code in self.languages)
            self._choices[languages] = names, self.among(languages)
        codes, weights = self._choices[languages]
        return FoundLanguages(codes, *kernels.identify(texts, weights, n_threads))

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
        found = hashlib.sha256(repr((self.languages, float(np.float32(self.sharpness)))).encode())
        found.update(self.letters.tobytes() + self.weights.tobytes())
        return found.hexdigest()[:12]

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
