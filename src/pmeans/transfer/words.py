"""How many words of a text the encoder does not know, and which, language by language."""

from __future__ import annotations

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from pmeans.coverage import Coverage
from pmeans.spaces.space import ANY_LANGUAGE

MANY = 0.2
"""Share of unknown words from which a warning is due: one word in five."""


class UnknownWordsWarning(UserWarning):
    """Much of a text is unknown to the encoder: predictions rest on the other words."""


@dataclass
class Words:
    """Words of one language, each counted once per space: all, those found, and which not."""

    sought: int = 0
    found: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def known(self) -> float:
        """Share of the words that are known, averaged over the spaces; 1 if there are none."""
        return self.found / self.sought if self.sought else 1.0


class WordCount:
    """A running count over blocks of text."""

    def __init__(self) -> None:
        self.languages: dict[str, Words] = {}

    def add(self, lang: str, coverage: Coverage) -> None:
        """Count the words of a block of text in one language."""
        words = self.languages.setdefault(lang, Words())
        words.sought += int(coverage.tokens.sum()) * len(coverage.spaces)
        words.found += int(coverage.known.sum())
        for missing in coverage.unknown_words.values():
            said = {word: n for word, n in missing.items() if any(map(_says_something, word))}
            # A full stop without a vector is no loss, so that it does not count.
            words.sought -= missing.total() - sum(said.values())
            words.unknown.update(said)

    def warnings(self) -> list[str]:
        """Return a sentence for each language of which too many words are unknown."""
        said = []
        for lang, words in self.languages.items():
            if 1 - words.known > MANY:
                commonest = ", ".join(repr(word) for word, _ in words.unknown.most_common(8))
                which = "" if lang == ANY_LANGUAGE else f" ({lang!r})"
                said.append(
                    f"{1 - words.known:.0%} of the words{which} are unknown, most often "
                    f"{commonest}. Is the language right?"
                )
        return said


def _says_something(character: str) -> bool:
    """Tell letters, digits and pictures (emoji) from punctuation and other signs."""
    return character.isalnum() or unicodedata.category(character) == "So"
