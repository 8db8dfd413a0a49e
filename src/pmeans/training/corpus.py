"""Text to train on: pairs of sentences that mean the same, and running text.

Pairs are a TSV file, ``source, sentence, sentence`` or just the two sentences; running text is one
sentence or paragraph per line. Both may be compressed, and in any encoding (`pmeans.tables`). Words
are split as raw text is (tokenizer ``words``) and lower-cased, which is how the trained spaces are
looked up.

Nothing is trained on the last 4 % of the pairs of a source: half of them is there to stop on and
to choose by, the other half to measure translation retrieval on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from pmeans.config import Count, check
from pmeans.errors import FormatError, InputError, check_seed, did_you_mean
from pmeans.languages.tokenizers import tokenize
from pmeans.tables import read_lines
from pmeans.training.trainer import FilePath, FromFiles

Portion = Literal["train", "dev", "test"]
Item = TypeVar("Item")

HELD_OUT = 50
"""One pair in so many is for development, and as many for testing: 2 % of each source."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence as raw text in two languages; its source is empty if the file does not say."""

    source: str
    first: str
    second: str


@dataclass(frozen=True)
class PairFile(FromFiles):
    """A file of sentence pairs, and what is taken of it.

    Attributes:
        path: A TSV file, as in the module's docstring.
        first: Language of the first sentences.
        second: Language of the second.
        sources: Only pairs of these sources, if any are named.
        limit: At most this many pairs to train on, drawn at random.
    """

    path: FilePath
    first: str
    second: str
    sources: tuple[str, ...] = ()
    limit: Count | None = None

    def __post_init__(self) -> None:
        check(self)
        if self.first == self.second:
            raise InputError(f"{self.path}: both sides are {self.first!r}.")

    def read(self, seed: int = 0) -> dict[Portion, list[Pair]]:
        """Read the pairs, those of each part in their order; the seed draws within a limit."""
        pairs = read_pairs(self.path)
        if self.sources:
            present = list(dict.fromkeys(pair.source for pair in pairs))
            for source in self.sources:
                if source not in present:
                    raise InputError(
                        f"{self.path}: no pairs of {source!r}.{did_you_mean(source, present)} "
                        f"Its sources are: {', '.join(map(repr, present))}."
                    )
            pairs = [pair for pair in pairs if pair.source in self.sources]
        parts = split(pairs)
        if self.limit is not None:
            parts["train"] = drawn(parts["train"], self.limit, seed)
        return parts


@dataclass(frozen=True)
class TextFile(FromFiles):
    """A file of running text.

    Attributes:
        path: Where it is. Of a line with tabs only the last column is text.
        wrapped: Whether lines end at the margin, amid a sentence; then line ends are ignored.
    """

    path: FilePath
    wrapped: bool = False

    def sentences(self, lang: str, longest: int, limit: int | None = None) -> Iterator[list[str]]:
        """Yield the words of one line after the other, of the first `limit` lines.

        Where lines are wrapped, no border of a sentence is known: each gets `longest` words.
        """
        lines = text_lines(self.path, limit)
        sentences: Iterator[list[str]] = filter(None, (words(line, lang) for line in lines))
        if self.wrapped:
            running = chain.from_iterable(sentences)
            sentences = iter(lambda: list(islice(running, longest)), [])
        first = next(sentences, None)
        if first is None:
            raise InputError(f"{self.path}: no words.")
        yield from chain([first], sentences)


def text_lines(path: str, limit: int | None) -> Iterator[str]:
    """Yield the first `limit` lines of a text; of a line with tabs, its last column."""
    return (line.rpartition("\t")[2] for line in islice(read_lines(path), limit))


def read_pairs(path: str | Path) -> list[Pair]:
    """Read pairs of sentences; a line that has no two or three columns is an error."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) not in (2, 3):
            raise FormatError(f"{path}, line {number:,}: {len(columns)} columns, expected 2 or 3.")
        source, first, second = columns if len(columns) == 3 else ("", *columns)
        pairs.append(Pair(source, first, second))
    if not pairs:
        raise InputError(f"{path}: no pairs of sentences.")
    return pairs


def drawn(pairs: list[Item], limit: int, seed: int = 0) -> list[Item]:
    """Draw at most so many pairs, or whatever it is, at random; they keep their order."""
    check_seed(seed)
    if limit >= len(pairs):
        return pairs
    # Not the first ones: files lie source by source.
    chosen = np.random.default_rng(seed).choice(len(pairs), limit, replace=False)
    return [pairs[i] for i in sorted(chosen.tolist())]


def split(pairs: Sequence[Pair]) -> dict[Portion, list[Pair]]:
    """Hold out the last pairs of each source: ``dev`` and ``test``, 2 % each, rounded down.

    The paper takes the last lines of a file that is all TED talks. Where a file has several
    sources, one after the other, its last lines would be of one alone.
    """
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_source[pair.source].append(pair)
    parts: dict[Portion, list[Pair]] = {"train": [], "dev": [], "test": []}
    for listed in by_source.values():
        held = len(listed) // HELD_OUT
        dev, test = len(listed) - 2 * held, len(listed) - held
        parts["train"] += listed[:dev]
        parts["dev"] += listed[dev:test]
        parts["test"] += listed[test:]
    return parts


def words(text: str, lang: str) -> list[str]:
    """Return the lower-cased words of raw text."""
    return tokenize(text.lower(), "words", lang)
