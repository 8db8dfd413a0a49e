"""What all readers share: entries, the tally of what is wrong with them, the space made of them.

Nothing is left out in silence: a problem is refused with a message (``"fail"``), or its entry is
left out and counted (``"skip"``). Whatever was read, ``seen`` is ``kept`` and everything that was
left out, added up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from pmeans.choices import Case
from pmeans.errors import FormatError, InputError, count
from pmeans.kernels import index
from pmeans.languages.codes import tidy_code
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.types import Array, Bytes, Ints, WordTable

Problem = Literal["malformed", "nonfinite", "bad_utf8", "truncated", "duplicates"]
Action = Literal["fail", "skip"]
NO_LIMIT = 1 << 62
_N_EXAMPLES = 5
_CASE_SAMPLE = 100_000
_CHECKED_AT_ONCE = 1 << 22


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
        seen: Entries read, up to the limit; ``kept`` and the five counts after it make it up.
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
        first = f"{self.source}: {self.kept:,} of {count(self.seen, 'entry', 'entries')} kept"
        if left_out:
            first += f"; left out: {', '.join(left_out)}"
        return "\n  ".join([f"{first}.", *self.examples])


@dataclass(frozen=True)
class Entries:
    """Words and their vectors on the way from a file to a space.

    Attributes:
        words: UTF-8 bytes of all words, one after the other, (n_bytes,).
        offsets: Where each begins and the last ends, (n + 1,).
        matrix: (n, dim) float32 or float16.
        places: Line or number of each entry in the file, counted from 1, (n,).
    """

    words: Bytes
    offsets: Ints
    matrix: Array
    places: Ints

    @classmethod
    def of(cls, words: list[bytes], matrix: Array) -> Entries:
        """Make entries of listed words that stand in the file in this order."""
        return cls(*index.joined(words), matrix, np.arange(1, len(words) + 1))

    def __len__(self) -> int:
        return len(self.places)

    def word(self, i: int) -> bytes:
        """Return the bytes of word i."""
        return self.words[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def listed(self) -> list[bytes]:
        """Return the bytes of every word."""
        data = self.words.tobytes()
        return [data[begin:end] for begin, end in pairwise(self.offsets.tolist())]

    def take(self, rows: Ints) -> Entries:
        """Return the entries of these rows, in this order."""
        if len(rows) == len(self) and (np.diff(rows) == 1).all():
            return self
        begins = self.offsets[rows]
        lengths = self.offsets[rows + 1] - begins
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        words = self.words[np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])]
        return Entries(words, offsets, self.matrix[rows], self.places[rows])


class Growing:
    """Entries that come part by part.

    The matrix grows in place, by moving memory pages instead of copying them, so that a file of
    gigabytes never needs twice its size.
    """

    def __init__(self, dim: int) -> None:
        self._matrix = np.empty((0, dim), dtype=np.float32)
        self._words = [np.empty(0, dtype=np.uint8)]
        self._lengths = [np.zeros(1, dtype=np.int64)]
        self._places = [np.empty(0, dtype=np.int64)]

    def add(self, part: Entries) -> None:
        """Put a part below the others."""
        n = len(self._matrix)
        self._matrix.resize((n + len(part), self._matrix.shape[1]), refcheck=False)
        self._matrix[n:] = part.matrix
        self._words.append(part.words)
        self._lengths.append(np.diff(part.offsets))
        self._places.append(part.places)

    def entries(self) -> Entries:
        """Return all that was added."""
        return Entries(
            np.concatenate(self._words),
            np.cumsum(np.concatenate(self._lengths)),
            self._matrix,
            np.concatenate(self._places),
        )


class Tally:
    """Counts what is wrong with a file, or refuses it, as the policy has it.

    Attributes:
        path: The file, for messages.
        unit: What an entry is called there: ``"line"``, ``"word"``.
        seen: Entries read so far.
        counts: Problems so far, and ``"blank"`` and ``"not_words"``.
    """

    def __init__(self, path: str | Path, policy: Policy, unit: str) -> None:
        self.path = Path(path)
        self.unit = unit
        self.seen = 0
        self.counts: Counter[str] = Counter()
        self._policy = policy
        self._examples: list[str] = []

    def enter(self, problem: Problem, place: int, what: str, n: int = 1) -> None:
        """Take note of a problem at a line or entry; raise `FormatError` if it is to be refused."""
        where = f"{self.unit} {place}: {what}"
        if getattr(self._policy, problem) == "fail":
            way_out = "first" if problem == "duplicates" else "skip"
            raise FormatError(
                f"{self.path}, {where}. To leave such entries out and count them: "
                f'policy=Policy({problem}="{way_out}").'
            )
        self.counts[problem] += n
        self.note(where)

    def wants(self, problem: Problem) -> bool:
        """Return whether the next message about such a problem will be shown to anyone."""
        return getattr(self._policy, problem) == "fail" or len(self._examples) < _N_EXAMPLES

    def note(self, example: str) -> None:
        """Keep an example for the report, if there are not enough of them."""
        if len(self._examples) < _N_EXAMPLES:
            self._examples.append(example)

    def report(self, n_entries: int) -> ReadReport:
        """Return what was counted."""
        return ReadReport(
            str(self.path), self.seen, n_entries, **self.counts, examples=tuple(self._examples)
        )


def usable(entries: Entries, tally: Tally) -> Entries:
    """Leave out entries without a word, with nan or infinite values, or that are not UTF-8."""
    keep = np.ones(len(entries), dtype=np.bool_)

    def leave_out(problem: Problem, i: int, what: str) -> None:
        if keep[i]:
            tally.enter(problem, int(entries.places[i]), what)
            keep[i] = False

    for i in np.flatnonzero(np.diff(entries.offsets) == 0).tolist():
        leave_out("malformed", i, "an empty word")
    for i in nonfinite_rows(entries.matrix):
        leave_out("nonfinite", i, nonfinite(entries.word(i)))
    for i in _bad_utf8(entries):
        leave_out("bad_utf8", i, bad_utf8(entries.word(i)))
    return entries if keep.all() else entries.take(np.flatnonzero(keep))


def nonfinite(word: bytes) -> str:
    """Say that a word has a value that is no finite number."""
    return f"{spelled(word)} has a value that is nan or infinite as float32"


def bad_utf8(word: bytes) -> str:
    """Say that a word is not UTF-8."""
    return f"the word {word[:40]!r} is not UTF-8"


def spelled(word: bytes) -> str:
    """Return a word as messages show it."""
    return repr(word[:160].decode("utf-8", "replace")[:40])


def nonfinite_rows(matrix: Array) -> Iterator[int]:
    """Iterate over the rows with a nan or an infinite value, a piece of the matrix at a time."""
    step = max(1, _CHECKED_AT_ONCE // max(1, matrix.shape[1]))
    for begin in range(0, len(matrix), step):
        piece = np.isfinite(matrix[begin : begin + step])
        if not piece.all():
            yield from (begin + np.flatnonzero(~piece.all(axis=1))).tolist()


def _bad_utf8(entries: Entries) -> Iterator[int]:
    starts = entries.offsets[:-1][np.diff(entries.offsets) > 0]
    if not (entries.words[starts] & 0xC0 == 0x80).any() and _decodes(entries.words.tobytes()):
        return iter(())  # no character runs over the end of a word
    return (i for i, word in enumerate(entries.listed()) if not _decodes(word))


def _decodes(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def distinct(entries: Entries, tally: Tally) -> Entries:
    """Leave out entries whose word came before."""
    again = np.flatnonzero(index.repeated(entries.words, entries.offsets))
    for i in again.tolist():
        what = f"the word {spelled(entries.word(i))} came before"
        tally.enter("duplicates", int(entries.places[i]), what)
    return entries.take(np.delete(np.arange(len(entries)), again)) if len(again) else entries


def make_space(
    entries: Entries, tally: Tally, name: str, lang: str, subwords: Subwords | None = None
) -> WordSpace:
    """Make a space of one language, of what is left of a file."""
    entries = distinct(entries, tally)
    table = index.table_of(entries.words, entries.offsets)
    return replace(make_multilingual(entries.matrix, {lang: table}, tally, name), subwords=subwords)


def make_multilingual(
    matrix: Array, tables: dict[str, WordTable], tally: Tally, name: str
) -> WordSpace:
    """Make a space whose rows lie language by language."""
    codes = {lang: tidy_code(lang) for lang in tables}
    if len({*codes.values()}) < len(codes):
        raise FormatError(
            f"{tally.path}: of the languages {', '.join(codes)} two are the same: give their words "
            "one code."
        )
    tables = {codes[lang]: table for lang, table in tables.items()}
    for lang in tables:
        if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]+)*", lang):
            raise InputError(f"{lang!r} is not a language code such as 'en', or 'mul' for several.")
    if not len(matrix):
        raise FormatError(f"{tally.path}: no usable word vector in it. {tally.report(0)}")
    return WordSpace(name, matrix, tables, case_of(tables), source=tally.path.name)


def case_of(tables: dict[str, WordTable]) -> Case:
    """Return ``"lower"`` if of 1000 words less than one has an upper-case letter, else ``"cased"``.

    The first 100,000 words of each language are looked at. Vector files are sorted by frequency,
    so a vocabulary with case shows it there.
    """
    n = n_upper = 0
    for table in tables.values():
        borders = table.offsets[: _CASE_SAMPLE + 1].tolist()
        data = table.words[: borders[-1]].tobytes()
        for begin, end in pairwise(borders):
            word = data[begin:end].decode("utf-8")
            n += 1
            n_upper += word != word.lower()
    return "lower" if n_upper * 1000 < n else "cased"
