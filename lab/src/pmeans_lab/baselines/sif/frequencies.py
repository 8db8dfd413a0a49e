"""How common the words of a space are: counted in text, listed in a file, or known to wordfreq."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.files import optional
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.edit import count_words
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Floats, Tokenizer


@dataclass(frozen=True)
class Counted(FromFiles):
    """Where the frequencies of a language's words come from: one of the two files.

    Attributes:
        lang: The language.
        text: Running text, in which words are counted.
        table: A word and its count on each line, with a tab or space between them.
    """

    lang: str
    text: FilePath | None = None
    table: FilePath | None = None

    def __post_init__(self) -> None:
        if (self.text is None) == (self.table is None):
            raise ConfigError(f"frequencies of {self.lang!r}: name either a text or a table.")

    @property
    def path(self) -> str:
        """The file that is named."""
        return str(self.text or self.table)

    def counts(self, space: WordSpace, tokenizer: Tokenizer) -> Mapping[str, float]:
        """Return how often words occur."""
        if self.text is not None:
            how = splitting(tokenizer, self.lang)
            return count_words(space, read_lines(self.path), self.lang, how)
        found: dict[str, float] = {}
        for number, line in enumerate(read_lines(self.path), 1):
            word, _, count = line.strip().replace("\t", " ").rpartition(" ")
            word, times = word.strip(), _number(count)
            if not word or not 0 <= times < math.inf:
                raise FormatError(
                    f"{self.path}, line {number:,}: expected a word and its count, not "
                    f"{line[:40]!r}."
                )
            found[word] = found.get(word, 0) + times
        return found


def _number(spelled: str) -> float:
    try:
        return float(spelled)
    except ValueError:
        return math.nan


def row_frequencies(
    space: WordSpace, given: Sequence[Counted] = (), tokenizer: Tokenizer = "words"
) -> Floats:
    """Return the share of its language's running text that each word is, (n_words,).

    Languages for which nothing is given have the frequencies of the package wordfreq. A word that
    is not found has 0; a cased one is then looked for in lower case.
    """
    sources = {each.lang: each for each in given}
    for lang in sources:
        if lang not in space.tables:
            has = ", ".join(space.tables)
            raise InputError(f"frequencies of {lang!r}, but {space.name!r} has {has}.")
    found = np.zeros(len(space), dtype=np.float32)
    for lang, table in space.tables.items():
        source = sources.get(lang)
        counts = source.counts(space, tokenizer) if source else _general(lang)
        listed = ((word, counts.get(word)) for word in space.words(lang))
        known = [count or counts.get(word.lower(), 0.0) for word, count in listed]
        if known and not any(known):
            where = source.path if source else "wordfreq"
            raise InputError(
                f"frequencies of {lang!r}: {where} has no words that {space.name!r} knows. "
                "Is it of this language, and spelled alike?"
            )
        found[table.start : table.start + len(table)] = np.array(known) / sum(counts.values())
    return found


def _general(lang: str) -> Mapping[str, float]:
    wordfreq = optional(
        "wordfreq",
        "train",
        "SIF without frequencies",
        "name files under [[frequencies]]",
    )
    try:
        known: Mapping[str, float] = wordfreq.get_frequency_dict(lang)
    except LookupError:
        raise InputError(
            f"wordfreq has no list of {lang!r}: name a text or a table under [[frequencies]]."
        ) from None
    return known
