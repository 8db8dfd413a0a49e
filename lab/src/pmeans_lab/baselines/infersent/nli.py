"""Natural-language inference: pairs of sentences, and whether the first implies the second.

Three published layouts are read, told apart by name and content:

- SNLI's and MultiNLI's ``.jsonl``: an object per line, with ``gold_label``, ``sentence1`` and
  ``sentence2``;
- their ``.txt``: tab-separated columns, of which the first line names those three among others;
- InferSent's three files ``s1.train``, ``s2.train`` and ``labels.train``, one entry per line; the
  first of them is named.

Annotators did not agree on pairs of the label ``-``. These are left out, but stay in place until
translations have been laid beside them: those are files of the same layout, row by row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pmeans.errors import FormatError, InputError, shown
from pmeans.tables import read_lines
from pmeans.training.corpus import Portion
from pmeans.training.trainer import FilePath, FromFiles

LABELS = ("entailment", "neutral", "contradiction")
"""The classes, in the order of their numbers."""
_UNDECIDED = "-"
_COLUMNS = ("gold_label", "sentence1", "sentence2")


@dataclass(frozen=True, slots=True)
class Inference:
    """A pair of sentences and the number of its class, -1 if it has none."""

    label: int
    first: str
    second: str


@dataclass(frozen=True)
class NliFiles(FromFiles):
    """The three parts of an inference corpus in one language.

    Attributes:
        lang: Language of all sentences.
        train: To train on.
        dev: To stop on.
        test: To measure on.
    """

    lang: str
    train: FilePath
    dev: FilePath
    test: FilePath

    def path(self, portion: Portion) -> str:
        """Return the file of a part."""
        found: str = getattr(self, portion)
        return found


def read_nli(path: str | Path) -> list[Inference]:
    """Read the pairs of a file, also those without a class; its layout is found."""
    path = Path(path)
    if path.name.startswith("s1."):
        found = list(_three_files(path))
    else:
        lines = read_lines(path)
        first = next(lines, None)
        layout = _objects if first and first.lstrip().startswith("{") else _table
        found = [] if first is None else list(layout(path, first, lines))
    if not any(each.label >= 0 for each in found):
        raise InputError(f"{path}: no pair of sentences with a label.")
    return found


def combinations(
    files: Sequence[NliFiles], portion: Portion
) -> Iterator[tuple[str, str, list[Inference]]]:
    """Yield the pairs with each side in each language: of two languages the four combinations.

    The first file decides about classes; others have the same pairs, translated, row by row.
    """
    read = [read_nli(file.path(portion)) for file in files]
    for file, found in zip(files[1:], read[1:], strict=True):
        if len(found) != len(read[0]):
            raise InputError(
                f"{file.path(portion)} has {len(found):,} pairs, and {files[0].path(portion)} has "
                f"{len(read[0]):,}: translations must be row by row."
            )
        for row, (own, other) in enumerate(zip(read[0], found, strict=True), 1):
            if own.label != other.label:
                raise InputError(
                    f"{file.path(portion)}, pair {row:,}: not the label of the same pair in "
                    f"{files[0].path(portion)}. Are the files row by row?"
                )
    for (file, ones), (second, others) in product(zip(files, read, strict=True), repeat=2):
        pairs = [
            Inference(here.label, here.first, there.second)
            for here, there in zip(ones, others, strict=True)
            if here.label >= 0
        ]
        yield file.lang, second.lang, pairs


def _objects(path: Path, first: str, lines: Iterator[str]) -> Iterator[Inference]:
    for number, line in enumerate([first, *lines], 1):
        try:
            read = json.loads(line)
            label, *sentences = (read[key] for key in _COLUMNS)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            wanted = ", ".join(_COLUMNS)
            raise FormatError(f"{path}, line {number:,}: no object with {wanted}.") from error
        yield _checked(path, number, label, *sentences)


def _table(path: Path, first: str, lines: Iterator[str]) -> Iterator[Inference]:
    names = first.split("\t")
    if not {*_COLUMNS} <= {*names}:
        raise FormatError(
            f"{path}: the first line names no columns {', '.join(_COLUMNS)}. It may also be a "
            ".jsonl file, or the first of s1.train, s2.train and labels.train."
        )
    at = [names.index(name) for name in _COLUMNS]
    for number, line in enumerate(lines, 2):
        columns = line.split("\t")
        if len(columns) <= max(at):
            raise FormatError(f"{path}, line {number:,}: {len(columns)} of {len(names)} columns.")
        yield _checked(path, number, *(columns[i] for i in at))


def _three_files(path: Path) -> Iterator[Inference]:
    paths = [path.with_name(f"{name}.{path.name[3:]}") for name in ("labels", "s1", "s2")]
    read = [list(read_lines(each)) for each in paths]
    if len({*map(len, read)}) > 1:
        told = ", ".join(f"{p.name} {len(r):,}" for p, r in zip(paths, read, strict=True))
        raise FormatError(f"{path.parent}: files of different numbers of lines: {told}.")
    for number, (label, first, second) in enumerate(zip(*read, strict=True), 1):
        yield _checked(paths[0], number, label.strip(), first, second)


def _checked(path: Path, number: int, label: object, first: object, second: object) -> Inference:
    if not isinstance(first, str) or not isinstance(second, str):
        raise FormatError(f"{path}, line {number:,}: a sentence is not text.")
    if label not in (*LABELS, _UNDECIDED):
        raise FormatError(
            f"{path}, line {number:,}: the label {shown(label, 40)} is none of {', '.join(LABELS)}."
        )
    return Inference(LABELS.index(label) if label in LABELS else -1, first, second)
