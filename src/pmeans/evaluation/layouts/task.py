"""A task as a row of data, and the labelled sentences that a layout reads for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pmeans.evaluation.dataset import Scoring, TaskPart
from pmeans.types import Tokenizer

Layout = Literal[
    "table",
    "senteval-binary",
    "senteval-trec",
    "senteval-sst",
    "ukp",
    "cls-sentences",
    "cls-reviews",
    "lines",
    "graded-pairs",
]


@dataclass(frozen=True)
class File:
    """One file of a task.

    Attributes:
        path: Where it lies below the folder of all tasks; ``.gz`` is tried as well.
        lang: Language of its sentences; empty if a column tells, or if it has labels alone.
        part: The part of the task that it holds.
        label: Class of all its lines, where a file holds one class.
        rows: How many lines, records or reviews it must have; 0 if that is not known.
        sha256: Checksum of its unpacked bytes; empty if that is not known.
        encoding: Of its text.
        origin: Where it comes from, if not from where the task does.
    """

    path: str
    lang: str = ""
    part: TaskPart = "all"
    label: str = ""
    rows: int = 0
    sha256: str = ""
    encoding: Literal["utf-8", "latin-1"] = "utf-8"
    origin: str = ""


@dataclass(frozen=True)
class Task:
    """A task, and all that is needed to read and to score it.

    Attributes:
        name: A column of a table of results.
        files: Where its sentences and labels are.
        languages: Those it has.
        layout: How the files are read; a user's own are always a ``table``.
        measure: The score that is reported.
        protocol: How classifiers are trained and tested in the paper's way; of a task without
            classes, how it is measured.
        parallel: Whether row i means the same in every language.
        classes: Names of the classes in order; if empty, the sorted labels of the training rows.
        origin: Where the files come from.
        text: Column of a table with the sentence.
        label: Column with its class.
        lang: Column with its language, for files that are not of one language.
        tokenizer: ``words`` splits raw text; ``whitespace`` leaves tokens as they are.
    """

    name: str
    files: tuple[File, ...]
    languages: tuple[str, ...]
    layout: Layout = "table"
    measure: Scoring = "accuracy"
    protocol: str = "senteval-2018"
    parallel: bool = False
    classes: tuple[str, ...] = ()
    origin: str = ""
    text: str = "text"
    label: str = "label"
    lang: str = "lang"
    tokenizer: Tokenizer = "words"


class Labelled(NamedTuple):
    """A sentence as tokens with spaces between, its label, and where both were read."""

    sentence: str
    label: str
    where: str


Parts = Mapping[TaskPart, Sequence[Labelled]]
