"""How many words of a text the encoder does not know, and which, language by language."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.transfer.labels import pick

MANY = 0.2
"""Share of unknown words from which a warning is due: one word in five."""


class UnknownWordsWarning(UserWarning):
    """Much of a text is unknown to the encoder: predictions rest on the other words."""


@dataclass
class Words:
    """Words of one language, each counted once a space: all, those found, and which not."""

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

    def add(
        self, encoder: PowerMeanEncoder, texts: list[str], lang: str | list[str] | None
    ) -> None:
        """Count the words of a block of text."""
        codes = np.array(
            lang if isinstance(lang, list) else [lang or "?"] * len(texts), dtype=object
        )
        for code in dict.fromkeys(codes):
            rows = np.flatnonzero(codes == code)
            words = self.languages.setdefault(code, Words())
            coverage = encoder.coverage([texts[i] for i in rows], lang=pick(lang, rows))
            words.sought += int(coverage.tokens.sum()) * len(coverage.spaces)
            words.found += int(coverage.known.sum())
            for name, missing in coverage.unknown_words.items():
                # Where subwords give every word a vector, none is missed; and a full stop without
                # a vector is no loss, so that it does not count.
                if not encoder.spaces[name].subwords:
                    letters = {w: n for w, n in missing.items() if any(map(str.isalnum, w))}
                    words.sought -= missing.total() - sum(letters.values())
                    words.unknown.update(letters)

    def warnings(self) -> list[str]:
        """Return a sentence for each language of which too many words are unknown."""
        said = []
        for lang, words in self.languages.items():
            if 1 - words.known > MANY:
                commonest = ", ".join(repr(word) for word, _ in words.unknown.most_common(8))
                which = "" if lang == "?" else f" ({lang!r})"
                said.append(
                    f"{1 - words.known:.0%} of the words{which} are unknown, most often "
                    f"{commonest}. Is the language right?"
                )
        return said
