"""A job over pieces: the folder for this job alone, what is finished, what an engine is given."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pmeans import errors
from pmeans.apply.pipeline import versions
from pmeans.errors import InputError, StorageError, counted
from pmeans.files import locked
from pmeans.identifier import Doubts
from pmeans.parts.workers import FAILED, counts_of, perform
from pmeans.rows.partial import refuse_overwriting

Engine = Callable[[list[str]], Iterable[str]]
"""Has `perform` done to tasks, in any order and anywhere, and returns the outcomes."""

_OURS = re.compile(r"[0-9a-f]{16}\.(parquet|json|npy|npy\.usearch)")


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
    identity: dict[str, Any],
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
        identity: What all parts depend on.
        out: The folder.
        ending: Of their names.
        engine: What works.
        keep: Files that must not be overwritten.
        restart: Discard the parts that are there.
    """
    if "://" in str(out):
        raise InputError(
            f"cannot write parts to {str(out)!r}: name a folder that all workers see. An engine's "
            "own dataset, through pmeans.integrations, is written anywhere that the engine writes."
        )
    folder = Path(out).absolute()
    tasks = {}
    for piece in pieces:
        depends = json.dumps({**versions(), **identity, **piece["of"]}, sort_keys=True)
        name = f"{hashlib.sha256(depends.encode()).hexdigest()[:16]}{ending}"
        tasks[name] = json.dumps({"out": str(folder), "name": name, **piece})
    refuse_overwriting(folder, keep)
    with _alone(folder):
        finished = _finished(folder, set(tasks), restart)
        total = Counter[str]()
        for name in finished:
            total.update(counts_of(folder / name))
        left = [task for name, task in tasks.items() if name not in finished]
        for outcome in map(json.loads, engine(left) if left else ()):
            if "error" in outcome:
                raise getattr(errors, outcome["error"])(outcome["message"])
            total.update(outcome)
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
        (folder / FAILED).unlink(missing_ok=True)
        try:
            yield
        finally:
            for left in (*folder.glob(".????????????????.*"), folder / FAILED, lock):
                left.unlink(missing_ok=True)


def _finished(folder: Path, wanted: set[str], restart: bool) -> set[str]:
    """Return the parts that are there, after checking that there is nothing else."""
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    strange = sorted(name for name in there if not _OURS.fullmatch(name))
    if strange:
        raise InputError(
            f"{str(folder)!r} holds {strange[0]!r}, which is no part of such a job: choose another "
            "folder."
        )
    if restart:
        for name in there:
            (folder / name).unlink()
        return set()
    stems = {name.partition(".")[0] for name in wanted}
    others = {name.partition(".")[0] for name in there} - stems
    if others:
        raise InputError(
            f"{str(folder)!r} holds {counted(len(others), 'part')} made of other inputs, or with "
            "another model or options: choose another folder, or discard all parts with "
            "restart=True."
        )
    return there & wanted
