"""Folders of parts: many Parquet files through an encoder or a classifier, on an engine's workers.

The rows of all files are cut into pieces of some ten thousand (`pmeans.jobs.pieces`). What becomes
of a piece is a task, and its result a file in the folder, the part, written whole or not at all.
Its name is a hash of all that it depends on: the piece, the file that it is of, the model, the
options. So a part that is there is finished, and a job that is run again has only the others left.

An engine, such as Ray or Spark, has `perform` done to tasks in its processes, and does so again
where a process died (`pmeans.jobs.workers`). It sees names and counts; rows go from a file to a
file within one worker. Errors of ours come back as outcomes, because a second try would fail as
the first.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmeans import errors
from pmeans.errors import FormatError, InputError, StorageError, count
from pmeans.files import check_regular, locked, remove_leftovers, replacing
from pmeans.identity import identity
from pmeans.jobs.resumable import versions
from pmeans.jobs.workers import FAILED, counts_of, perform
from pmeans.languages.resolution import Doubts
from pmeans.outputs import check_output

Engine = Callable[[list[str]], Iterable[str]]
"""Has `perform` done to tasks, in any order and anywhere, and returns the outcomes."""

RECORD = ".parts"
"""In the folder: the parts that a job wrote or was about to write. Nothing else is removed."""
_NAME = re.compile(r"[0-9a-f]{16}\.(parquet|json)")
_FILES = {".parquet": (".parquet",), ".json": (".json", ".npy", ".npy.usearch")}
"""The files of a part, by how its name ends."""


@dataclass(frozen=True)
class Tally:
    """What a job came to.

    Attributes:
        parts: Files in the folder.
        found: How many of them were there before.
        rows: Rows in all of them.
        skipped: Rows that could not be read.
        empty: Rows without a known word.
        unsure: Rows whose label is too improbable to be given.
        doubts: Rows whose language was looked for, and in doubt.
    """

    parts: int
    found: int
    rows: int = 0
    skipped: int = 0
    empty: int = 0
    unsure: int = 0
    doubts: Doubts = field(default_factory=Doubts)


def here(tasks: list[str]) -> Iterable[str]:
    """Do tasks in this process, one after the other: the engine that is always there."""
    return map(perform, tasks)


def run_parts(
    pieces: Iterable[dict[str, Any]],
    depends: dict[str, Any],
    out: str | Path,
    ending: str,
    engine: Engine,
    *,
    keep: Iterable[str] = (),
    restart: bool = False,
) -> Tally:
    """Have an engine make a part of every piece, but for those that are there.

    Args:
        pieces: ``kind`` (what is made of it), ``of`` (what the piece is, for the name of its part)
            and the further arguments of the maker.
        depends: What all parts depend on.
        out: The folder.
        ending: Of their names.
        engine: What works.
        keep: Files and folders that are read, none of which is overwritten.
        restart: Discard the parts that earlier runs of such a job wrote there.
    """
    if "://" in str(out):
        raise InputError(
            f"cannot write parts to {str(out)!r}: name a folder that all workers see. An engine's "
            "own dataset, through pmeans.integrations, is written anywhere that the engine writes."
        )
    folder = Path(out).absolute()
    tasks, kind = {}, ""
    for piece in pieces:
        kind = piece["kind"]
        content = json.dumps({**versions(), **depends, **piece["of"]}, sort_keys=True)
        name = f"{identity(content, digits=16)}{ending}"
        tasks[name] = json.dumps({"out": str(folder), "name": name, **piece})
    check_output(folder, keep)
    with _alone(folder):
        finished = _finished(folder, kind, set(tasks), restart)
        total = Counter[str]()
        for name in finished:
            total.update(counts_of(folder / name))
        left = [task for name, task in tasks.items() if name not in finished]
        try:
            for outcome in map(json.loads, engine(left) if left else ()):
                if "error" in outcome:
                    raise getattr(errors, outcome["error"])(outcome["message"])
                total.update(outcome)
        finally:
            if not _listed(folder):
                (folder / RECORD).unlink(missing_ok=True)
    doubts = Doubts(*(total.pop(name, 0) for name in ("texts", "none", "doubtful")))
    return Tally(len(tasks), len(finished), **total, doubts=doubts)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a folder for this process alone; what killed workers left behind is removed after it."""
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{str(folder)!r} is a file: name a folder.")
    lock = folder / ".lock"
    file = locked(lock)
    if file is None:
        raise StorageError(
            f"another job is writing to {str(folder)!r}: wait for it, or choose another folder."
        )
    with file:
        _unlink_empty(folder / FAILED)
        try:
            yield
        finally:
            remove_leftovers(folder)
            for left in (folder / FAILED, lock):
                _unlink_empty(left)


def _unlink_empty(path: Path) -> None:
    """Remove a file of ours that says something by being there; what has content is another's."""
    if path.exists() and not path.stat().st_size:
        path.unlink(missing_ok=True)


def _listed(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def _finished(folder: Path, kind: str, wanted: set[str], restart: bool) -> set[str]:
    """Return the parts that are there, after checking that there is nothing else."""
    there, (earlier, recorded) = _listed(folder), _recorded(folder)
    known = {file for name in recorded for file in _files_of(name)}
    strange = sorted(there - known)
    if (folder / FAILED).exists():  # with content, so that it is not ours
        strange.append(FAILED)
    if strange:
        raise InputError(
            f"{str(folder)!r} holds {strange[0]!r}, which is not part of such a job: choose "
            "another folder."
        )
    others = {name for name in recorded - wanted if not there.isdisjoint(_files_of(name))}
    if others and kind != earlier:
        raise InputError(
            f"{str(folder)!r} holds parts of another kind of job ({earlier}, not {kind}): choose "
            "another folder."
        )
    if others and not restart:
        raise InputError(
            f"{str(folder)!r} holds {count(len(others), 'part')} made of other "
            "inputs, or with another model or options: choose another folder, or discard all "
            "parts with restart=True."
        )
    if restart:
        for name in there:
            (folder / name).unlink()
    with replacing(folder / RECORD) as file:
        parts = sorted(wanted if restart else wanted | recorded)
        file.write(json.dumps({"kind": kind, "parts": parts}, indent=1).encode() + b"\n")
    return set() if restart else there & wanted


def _files_of(name: str) -> set[str]:
    part = Path(name)
    return {part.stem + ending for ending in _FILES[part.suffix]}


def _recorded(folder: Path) -> tuple[str, set[str]]:
    """Return the kind of job that wrote there, and the names of its parts, made or yet to make."""
    path = folder / RECORD
    if not path.exists():
        return "", set()
    check_regular(path)
    try:
        content = json.loads(path.read_bytes())
        kind, names = content["kind"], content["parts"]
        if all(map(_NAME.fullmatch, names)):
            return kind, set(names)
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise FormatError(
        f"{str(path)!r} is damaged, or not of pmeans: choose another folder, or remove this one."
    )
