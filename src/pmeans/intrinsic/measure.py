"""One measured number, and how much of the material it could be measured on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
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
