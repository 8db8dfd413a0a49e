"""Measures that train no classifier: of a word space by itself, and of sentences as encoded.

`similarity`: do cosines order pairs of words as people do? `bilingual`: are translations nearest
neighbours? `retrieval`: and those of whole sentences? `picture` draws translation pairs, and
`space_report` measures a space by everything that a folder has data for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One number about a space.

    Attributes:
        what: Such as ``"Spearman"`` or ``"P@1"``.
        lang: The language, or two with a hyphen between them.
        on: The set or the source that it was measured on.
        value: Between -1 and 1; None where nothing could be measured.
        covered: Over how many words, pairs or sentences.
        total: How many the set has.
    """

    what: str
    lang: str
    on: str
    value: float | None
    covered: int
    total: int
