"""The languages of texts: named for all of them, one for each, or looked for text by text.

Whatever takes a ``lang`` goes by this. A name is read as `pmeans.languages.codes` says. Where none
is given, an `Identifier` says in which of an encoder's languages each text is, or that it is in
none of them, and whether that is doubtful.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pmeans.errors import InputError, LanguageError, count, shown
from pmeans.languages.codes import language_code
from pmeans.types import Array, Floats, Ids

AUTO = "auto"
"""In place of a language: find it, text by text."""

DOUBTFUL = 0.8
"""A language of a lower probability is doubtful."""

COMMON = 5000
"""Words at the head of a language's list: they are its own, whatever their letters say."""


class Detection(NamedTuple):
    """The language of a text, None if it is none of the encoder's, and how probable that is."""

    lang: str | None
    probability: float


class DoubtfulLanguageWarning(UserWarning):
    """The language of some texts is doubtful, or none that the encoder has."""


@dataclass(slots=True, eq=False)  # not frozen, which would cost a single sentence a microsecond
class TextLanguages:
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
        columns = zip(self.columns.tolist(), self.probabilities.tolist(), strict=True)
        return [Detection(self.names[k] if k >= 0 else None, p) for k, p in columns]

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

    def add(self, languages: TextLanguages, without: int = 0) -> None:
        """Count further texts, but for so many empty ones."""
        self.texts += len(languages.columns) - without
        if len(languages.columns) == 1 and languages.columns[0] >= 0:  # the usual one sentence
            self.doubtful += bool(languages.probabilities[0] < DOUBTFUL)
            return
        self.none += int(np.count_nonzero(languages.none)) - without
        self.doubtful += int(np.count_nonzero(languages.doubtful))

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


Languages = str | list[str] | TextLanguages | None
"""Of some texts: one for all, one for each, or what was looked for. None is not named yet."""


class Multilingual(Protocol):
    """What has languages, and mostly tells them apart."""

    languages: tuple[str, ...]
    identifier: Any

    @property
    def name(self) -> str:
        """A name for people."""


def check_languages(lang: object) -> None:
    """Refuse what is neither a language, nor one for each text."""
    one = lang is None or isinstance(lang, str)
    if not one and (isinstance(lang, bytes | Mapping) or not isinstance(lang, Iterable)):
        raise InputError(
            f"lang is a str such as 'en', or one for each sentence, not {type(lang).__name__}: "
            f"{shown(lang)}."
        )


def read_languages(lang: str | Iterable[str] | None, n_texts: int) -> str | list[str] | None:
    """Return one language for all texts, or a checked list with one for each."""
    check_languages(lang)
    if lang is None or isinstance(lang, str):
        return lang
    codes = list(lang)
    if len(codes) != n_texts:
        raise InputError(
            f"{count(n_texts, 'text')}, but {count(len(codes), 'language')}: "
            "give one for each text."
        )
    return codes


def language_of_rows(
    model: Multilingual, lang: str | None, lang_column: str | None = None
) -> str | None:
    """Return the code of the language of all rows, `AUTO`, or None if there is nothing to find."""
    if lang and lang_column:
        raise InputError("lang= and lang_column= exclude each other: leave one out.")
    if lang is not None and lang != AUTO:
        return language_code(lang, model.languages)
    if lang_column or len(model.languages) < 2:
        return None
    if model.identifier is None:
        raise LanguageError(
            f"which language? {model.name!r} covers {', '.join(model.languages)}: "
            "give lang= or lang_column=."
        )
    model.identifier.find([], model.languages)  # raises an error if one of them cannot be found
    return AUTO


def groups(
    languages: Languages, n_texts: int, code_of: Callable[[str | None], str]
) -> Iterator[tuple[str, Array]]:
    """Yield each language of some texts by its code, and the places of its texts, (n,).

    Args:
        languages: Of the texts.
        n_texts: How many there are.
        code_of: Returns the code of a language as people write it.
    """
    if isinstance(languages, TextLanguages):
        yield from languages.groups()
        return
    if languages is None or isinstance(languages, str):
        yield code_of(languages), np.arange(n_texts)
        return
    if set(map(type, languages)) - {str}:
        for i, lang in enumerate(languages):
            if not isinstance(lang, str):
                raise InputError(
                    f"the language of sentence {i} is {type(lang).__name__}, not str: "
                    f"{shown(lang)}. Give each its code, or leave lang out to have it found."
                )
    read = {lang: code_of(lang) for lang in dict.fromkeys(languages)}
    codes = np.array([read[lang] for lang in languages], dtype=object)
    for code in dict.fromkeys(read.values()):
        yield code, np.flatnonzero(codes == code)
