"""Rules that find words of one stem in a list of words: no lemmatiser, no dictionary.

A rule never makes up a word; it says how two words of the list may differ. ``*`` stands for what
they share: ``*y`` and ``*ies`` are *city* and *cities*, ``*`` and ``un*`` are *kind* and *unkind*.
The tables are `pmeans.training.rules`. They prefer missing a pair to a wrong one: a base must have
some length (*car* and *care*), an ending that other words share by chance must come with more
forms of the same paradigm (``least``), and what is still wrong and common is named (``never``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One base and its forms.

    Attributes:
        base: A pattern, such as ``"*e"``.
        forms: Patterns with the same stem, such as ``("*ed", "*ing")``.
        least: How many of the forms must be in the list before any counts.
        length: Characters that the base must have at least.
    """

    base: str
    forms: tuple[str, ...]
    least: int = 1
    length: int = 4

    def pairs(self, words: Iterable[str], known: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the bases among some words, each with its known forms."""
        before, after = self.base.split("*")
        forms = [form.split("*") for form in self.forms]
        for word in words:
            if len(word) < self.length or not word.startswith(before) or not word.endswith(after):
                continue
            stem = word[len(before) : len(word) - len(after)]
            found = [made for head, tail in forms if (made := head + stem + tail) in known]
            if len(found) >= self.least:
                yield from ((word, form) for form in found)


@dataclass(frozen=True)
class Morphology:
    """What is known of one language.

    Attributes:
        inflections: Forms of one word, which attract each other.
        oppositions: Words and their negations, which repel each other.
        never: Beginnings of forms that only look negated, such as ``"under"``.
    """

    inflections: tuple[Rule, ...]
    oppositions: tuple[Rule, ...]
    never: tuple[str, ...]

    def attract(self, words: Iterable[str]) -> list[tuple[str, str]]:
        """Return the pairs of inflected forms in a list of words, sorted."""
        return _found(self.inflections, words)

    def repel(self, words: Iterable[str]) -> list[tuple[str, str]]:
        """Return the pairs of a word and its negation in a list of words, sorted."""
        pairs = _found(self.oppositions, words)
        return [(base, form) for base, form in pairs if not form.startswith(self.never)]


def _found(rules: Iterable[Rule], words: Iterable[str]) -> list[tuple[str, str]]:
    # A digit or a dot inside is a name or a number, and no rule is meant for it.
    known = {word for word in words if word.replace("'", "").replace("-", "").isalpha()}
    bases = [word for word in known if "'" not in word and "-" not in word]
    return sorted({pair for rule in rules for pair in rule.pairs(bases, known)})
