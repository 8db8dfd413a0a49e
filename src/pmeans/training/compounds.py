"""Words that a space lacks, made of the words they are compounded of.

::

    kind = "compounds"
    name = "taught-compounds"
    space = "taught"
    texts = [{ path = "novels.de.txt.xz", lang = "de" }]

German, Dutch and Swedish write compounds in one word, and most of them are rare: no text has them
all, but their parts are common. *Krankenversicherung* is *Kranken* and *Versicherung*. A word of
the text that the space lacks is split into two parts, or else three, of at least four letters that
are common words of the space; a part but the last may have a linking ending (*Arbeit-s-amt*), or
have lost its own (*Schul-hof*). Of several splits the one with the most letters in words counts,
then the one with the most frequent parts, whose words must be sorted by frequency.

The vector points where the sum of the parts' vectors does, and is as long as the longest of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from pmeans.errors import ConfigError, InputError
from pmeans.output import unit_rows
from pmeans.spaces import edit
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.bivcd import LanguageText
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Floats, Progress

LINKS: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (
        ("", ""), ("s", ""), ("es", ""), ("n", ""), ("en", ""), ("e", ""), ("er", ""), ("ens", ""),
        ("", "e"), ("", "en"),
    ),
    "nl": (("", ""), ("s", ""), ("e", ""), ("n", ""), ("en", ""), ("er", "")),
    "sv": (("", ""), ("s", ""), ("e", ""), ("o", "a"), ("u", "a"), ("", "a"), ("", "e")),
}  # fmt: skip
"""Of each language, what a part may end in that its word does not, and what it may have lost."""

SHORTEST = 4
MOST_PARTS = 3


class Splitter:
    """Splits the compounds of a language into known words."""

    def __init__(self, lang: str, ranked: Iterable[str]) -> None:
        """Name the language and its words, the most frequent first."""
        if lang not in LINKS:
            raise InputError(f"no rules for compounds of {lang!r}; there are {', '.join(LINKS)}.")
        self._links = LINKS[lang]
        self._ranks = {word: rank for rank, word in enumerate(ranked, 1) if word.isalpha()}

    def split(self, word: str) -> tuple[str, ...]:
        """Return the words that a lower-case word is compounded of; none if it is not."""
        for parts in range(2, MOST_PARTS + 1):
            splits = list(self._splits(word, parts))
            if splits:
                return min(splits, key=self._cost)[1]
        return ()

    def _splits(self, word: str, parts: int) -> Iterable[tuple[int, tuple[str, ...]]]:
        """Yield the letters that are in no word, or in one but not in the compound, and words."""
        if parts == 1:
            if len(word) >= SHORTEST and word in self._ranks:
                yield 0, (word,)
            return
        for end in range(SHORTEST - 2, len(word) - SHORTEST + 1):
            rest = list(self._splits(word[end:], parts - 1))
            for ending, lost in self._links if rest else ():
                stem = word[:end].removesuffix(ending) + lost
                if word[:end].endswith(ending) and len(stem) >= SHORTEST and stem in self._ranks:
                    changed = len(ending) + len(lost)
                    yield from ((changed + more, (stem, *after)) for more, after in rest)

    def _cost(self, split: tuple[int, tuple[str, ...]]) -> tuple[int, float, tuple[str, ...]]:
        changed, found = split
        return changed, float(np.log([self._ranks[word] for word in found]).sum()), found


@dataclass(frozen=True)
class Compounds(Trainer):
    """Give a space the compounds of a text.

    Attributes:
        name: Of the new space.
        space: The one that lacks them, its words sorted by frequency.
        texts: Where the words are taken from.
        words: At most so many are added to a language, the most frequent ones.
        common: Parts are among so many most frequent words of the space.
        min_count: Rarer words of the text are not added: more of them are misspelled.
    """

    name: str
    space: SpaceRef
    texts: tuple[LanguageText, ...]
    words: int = 20_000
    common: int = 30_000
    min_count: int = 2

    def __post_init__(self) -> None:
        if not self.texts:
            raise ConfigError(f"compounds {self.name!r}: texts names no file.")
        for key in ("words", "common", "min_count"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key} must be at least 1, not {getattr(self, key)}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Split the words of the texts; the checkpoint is not used, as it takes seconds."""
        space = find_space(self.space)
        counts: dict[str, Counter[str]] = {}
        for text in self.texts:
            progress(0.0, f"reading {Path(text.path).name}")
            found = counts.setdefault(text.lang, Counter())
            for piece in text.pieces():
                found.update(piece)
        splits = {lang: self._splits(space, lang, found) for lang, found in counts.items()}
        n = sum(map(len, splits.values()))
        if not n:
            raise InputError(
                f"{', '.join(text.path for text in self.texts)}: no word occurs {self.min_count} "
                f"times that {space.name!r} lacks and that is compounded of its words."
            )
        progress(1.0, f"{n:,} compounds added")
        vectors = [
            compounded(space.vectors(parts, lang)[0])
            for lang, found in splits.items()
            for parts in found.values()
        ]
        words = {lang: list(found) for lang, found in splits.items()}
        return edit.add_words(space, words, np.stack(vectors), self.name)

    def _splits(
        self, space: WordSpace, lang: str, counts: Counter[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the most frequent compounds that a space lacks, and their parts."""
        splitter = Splitter(lang, islice(space.words(lang), self.common))
        listed = [word for word, n in counts.most_common() if n >= self.min_count]
        lacking = np.flatnonzero(space.find(listed, lang) < 0)
        splits = ((listed[i], splitter.split(listed[i])) for i in lacking.tolist())
        return dict(islice(((word, parts) for word, parts in splits if parts), self.words))


def compounded(parts: Floats) -> Floats:
    """Return the vector of a compound, (dim,), from those of its parts, (n_parts, dim)."""
    length = np.sqrt(np.einsum("ij,ij->i", parts, parts).max())
    return unit_rows(parts.sum(axis=0))[0] * length
