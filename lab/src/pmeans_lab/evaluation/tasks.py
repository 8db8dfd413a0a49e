"""Tasks as data: which there are, and how their files become a `Dataset`.

`tasks.toml` has one row per published task, with its files, counts and checksums; a user's own
tasks are rows of another TOML file::

    [[tasks]]
    name = "tickets"
    languages = ["en", "de"]
    files = [{ path = "tickets.csv" }]             # columns text, label, lang
    measure = "macro-f1"

    [[tasks]]
    name = "faq"
    languages = ["en", "fr"]
    text = "question"                              # its columns, where they have other names
    label = "topic"
    files = [
      { path = "en-train.tsv", lang = "en", part = "train" },
      { path = "en-test.tsv", lang = "en", part = "test" },
      { path = "fr-test.jsonl", lang = "fr", part = "test" },
    ]

`pmeans_lab.evaluation.layouts` has one reader per layout; each says which of its rules move a
digit.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np

from pmeans.config import build, read_toml
from pmeans.errors import ConfigError, InputError, LanguageError, did_you_mean, shown
from pmeans_lab.evaluation import protocols
from pmeans_lab.evaluation.dataset import Dataset, Examples, TaskPart
from pmeans_lab.evaluation.layouts import cls, paper_tasks, table, unclassed
from pmeans_lab.evaluation.layouts.task import File, Labelled, Layout, Parts, Task

__all__ = ["File", "Task", "find", "from_toml", "known", "load"]

_READERS: dict[Layout, Callable[[Task, Path, Sequence[str]], Mapping[str, Parts]]] = {
    "table": table.read,
    "senteval-binary": paper_tasks.read,
    "senteval-trec": paper_tasks.read,
    "senteval-sst": paper_tasks.read,
    "ukp": paper_tasks.read_ukp,
    "cls-sentences": cls.read_sentences,
    "cls-reviews": cls.read_reviews,
    "lines": unclassed.read,
    "graded-pairs": unclassed.read,
    "held-out-pairs": unclassed.read_held_out,
}
_UNCLASSED = ("lines", "graded-pairs", "held-out-pairs")


@functools.cache
def known() -> dict[str, Task]:
    """Return the published tasks by their names."""
    text = resources.files("pmeans_lab.evaluation").joinpath("tasks.toml").read_text("utf-8")
    tasks = [build(Task, row, "tasks.toml") for row in tomllib.loads(text)["tasks"]]
    return {task.name: task for task in tasks}


def find(name: str) -> Task:
    """Return a published task by its name."""
    if name not in known():
        raise InputError(
            f"no task named {name!r}.{did_you_mean(name, known())} "
            f"There are: {', '.join(known())}; a TOML file may describe others."
        )
    return known()[name]


def from_toml(path: str | Path) -> list[Task]:
    """Read a user's own tasks; their files are relative to the TOML file."""
    content = read_toml(path)
    if list(content) != ["tasks"] or not isinstance(content["tasks"], list):
        raise ConfigError(f"{path}: expected [[tasks]] and nothing else, got {list(content)}.")
    tasks = [build(Task, row, f"{path}: tasks[{i}]") for i, row in enumerate(content["tasks"])]
    for task in tasks:
        _check_own(task, f"{path}: task {task.name!r}", [other.name for other in tasks])
    folder = Path(path).resolve().parent
    return [
        replace(task, files=tuple(replace(f, path=str(folder / f.path)) for f in task.files))
        for task in tasks
    ]


def _check_own(task: Task, where: str, names: Sequence[str]) -> None:
    if names.count(task.name) > 1 or task.name in known():
        raise ConfigError(f"{where}: the name is taken. Choose another.")
    if task.protocol not in protocols.PROTOCOLS:
        known_ones = ", ".join(protocols.PROTOCOLS)
        raise ConfigError(f"{where}: no protocol {task.protocol!r}. There are: {known_ones}.")
    if task.layout != "table":
        raise ConfigError(f"{where}: layout {task.layout!r} is for the published tasks alone.")
    if not task.files or not task.languages:
        raise ConfigError(f"{where}: name at least one file and one language.")
    for file in task.files:
        if file.lang and file.lang not in task.languages:
            raise ConfigError(
                f"{where}: {file.path} is in {file.lang!r}, which is none of its languages: "
                f"{', '.join(task.languages)}."
            )
    parts = {file.part for file in task.files}
    if "all" in parts and len(parts) > 1:
        raise ConfigError(f"{where}: give every file a part (train, dev, test), or none.")
    if parts != {"all"} and task.protocol == "ukp-subsample":
        raise ConfigError(
            f"{where}: ukp-subsample draws its own parts. Give the files no part, or take the "
            "protocol senteval-2018."
        )


def load(task: Task, root: Path, languages: Sequence[str]) -> Dataset:
    """Read some languages of a task.

    Args:
        task: A row of `known` or of `from_toml`.
        root: The folder with ``senteval``, ``ukp``, ``cls-acl10``, ``ntrex`` and the others, or
            one whose folder ``tasks`` has them; a user's own tasks say themselves where they lie.
        languages: Those to read, the language of the training rows first: the classes are its.

    Returns:
        The dataset, with the languages in that order. The first has ``all``, or ``train`` and
        ``test``; of the others a user's own may have ``test`` alone.
    """
    languages = tuple(dict.fromkeys(languages))
    if not languages:
        raise InputError(f"task {task.name}: name at least one language to read.")
    for lang in languages:
        if lang not in task.languages:
            raise LanguageError(
                f"task {task.name} has no language {lang!r}. It has: {', '.join(task.languages)}."
            )
    found = _READERS[task.layout](task, Path(root), languages)
    if task.layout not in _UNCLASSED:
        _check_parts(task, found)
    if task.parallel:
        _check_parallel(task, found)
    if task.layout in _UNCLASSED:
        graded = {lang: {p: _graded(rows) for p, rows in found[lang].items()} for lang in languages}
        return Dataset(task.name, (), task.measure, task.parallel, graded)
    classes = task.classes or _classes(task, found[languages[0]])
    numbers = {label: number for number, label in enumerate(classes)}
    rows = {
        lang: {part: _numbered(task, numbers, each) for part, each in parts.items()}
        for lang, parts in found.items()
    }
    return Dataset(task.name, classes, task.measure, task.parallel, rows)


def _classes(task: Task, parts: Parts) -> tuple[str, ...]:
    training = parts.get("all") or parts["train"]
    classes = tuple(sorted({row.label for row in training}))
    if len(classes) < 2:
        raise InputError(
            f"task {task.name}: all training rows have the label {shown(classes[0])} "
            f"({training[0].where}). A classifier needs two classes or more."
        )
    return classes


def _numbered(task: Task, numbers: Mapping[str, int], rows: Sequence[Labelled]) -> Examples:
    for row in rows:
        if row.label not in numbers:
            raise InputError(
                f"{row.where}: the label {shown(row.label)} is none of the training rows' in task "
                f"{task.name}: {', '.join(numbers)}.{did_you_mean(row.label, numbers)}"
            )
    labels = np.array([numbers[row.label] for row in rows], dtype=np.int64)
    return Examples(tuple(row.sentence for row in rows), labels)


def _graded(rows: Sequence[Labelled]) -> Examples:
    grades = np.array([float(row.label) for row in rows])
    return Examples(tuple(row.sentence for row in rows), grades)


def _check_parts(task: Task, found: Mapping[str, Parts]) -> None:
    needed: tuple[TaskPart, ...] = ("train", "test")
    for lang, parts in found.items():
        lacking = [part for part in needed if part not in parts and "all" not in parts]
        if lacking:
            raise InputError(
                f"task {task.name}: language {lang!r} has no rows of the part {lacking[0]!r}."
            )
        needed = ("test",)


def _check_parallel(task: Task, found: Mapping[str, Parts]) -> None:
    first = next(iter(found))
    for lang, parts in found.items():
        for part, rows in parts.items():
            original = found[first].get(part, ())
            if len(rows) != len(original):
                raise InputError(
                    f"task {task.name} is parallel, but its part {part!r} has {len(original):,} "
                    f"rows in {first!r} and {len(rows):,} in {lang!r}."
                )
            for one, other in zip(original, rows, strict=True):
                if one.label != other.label:
                    raise InputError(
                        f"task {task.name} is parallel, but {one.where} has the label "
                        f"{shown(one.label)} and {other.where} has {shown(other.label)}."
                    )
