"""What a reader found wrong with a file, and what it was told to do about it.

Nothing is left out in silence: a problem is refused with a message (``"fail"``), or its entry
is left out and counted (``"skip"``). Whatever was read, ``seen`` is ``kept`` and everything
that was left out, added up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from pmeans.errors import InputError

Problem = Literal["malformed", "nonfinite", "bad_utf8", "truncated", "duplicates"]
Action = Literal["fail", "skip"]


@dataclass(frozen=True)
class Policy:
    """What to do about each problem: ``"fail"`` refuses the file, ``"skip"`` leaves the entry out.

    Attributes:
        malformed: Too few or too many values, something that is no number, no word.
        nonfinite: A value that is nan or infinite, in the file or as a float32.
        bad_utf8: A word that is not UTF-8.
        truncated: The file ends before everything that it announces.
        duplicates: A word that came before: ``"first"`` keeps the first and counts the rest.
    """

    malformed: Action = "fail"
    nonfinite: Action = "fail"
    bad_utf8: Action = "fail"
    truncated: Action = "fail"
    duplicates: Literal["first", "fail"] = "first"

    def __post_init__(self) -> None:
        for entry in fields(self):
            allowed = ("first", "fail") if entry.name == "duplicates" else ("fail", "skip")
            value = getattr(self, entry.name)
            if value not in allowed:
                raise InputError(f"policy for {entry.name}: {value!r} is none of {allowed}.")

    @classmethod
    def skipping(cls) -> Policy:
        """Leave out whatever is wrong, and count it."""
        return cls("skip", "skip", "skip", "skip", "first")


STRICT = Policy()


@dataclass(frozen=True)
class ReadReport:
    """How many entries a file has, and what became of them.

    An entry is a line of a text file, or a word and its vector elsewhere.

    Attributes:
        source: The file.
        seen: Entries read, up to the limit; ``kept`` and the five counts behind it make it up.
        kept: Words in the space.
        duplicates: Entries left out because their word came before.
        malformed: Entries left out because they cannot be understood.
        nonfinite: Entries left out because of nan or infinite values.
        bad_utf8: Entries left out because their word is not UTF-8.
        not_words: Entries left out because they are no words: labels, pieces of words.
        truncated: Entries that the file announces and does not have; at least 1 if it is cut off.
        blank: Lines with nothing on them.
        examples: The first few problems, each with its place in the file.
    """

    source: str
    seen: int
    kept: int
    duplicates: int = 0
    malformed: int = 0
    nonfinite: int = 0
    bad_utf8: int = 0
    not_words: int = 0
    truncated: int = 0
    blank: int = 0
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the counts in a sentence, and the examples below it."""
        counts = {
            "duplicate": self.duplicates,
            "malformed": self.malformed,
            "with nan or infinite values": self.nonfinite,
            "not UTF-8": self.bad_utf8,
            "not words": self.not_words,
            "missing at the end": self.truncated,
        }
        left_out = [f"{count:,} {what}" for what, count in counts.items() if count]
        first = f"{self.source}: {self.kept:,} of {self.seen:,} entries kept"
        if left_out:
            first += f"; left out: {', '.join(left_out)}"
        return "\n  ".join([f"{first}.", *self.examples])
