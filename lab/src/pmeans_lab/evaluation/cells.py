"""The store of all scores: one JSON line per cell, named by what was computed.

::

    results/
        cells.jsonl    an encoder on a task: what it is, and its scores as arrays over the splits
        gold.jsonl     true classes of test rows, once for all cells that were tested on them

Which experiment asked for a cell, and by what name it calls the encoder, is not part of it: two
experiments that need the same scores share them.

The files survive what runs do to them. A line goes out in one write under a lock, so two runs
never interleave. A run that is killed in the middle of it leaves a torn last line, which the next
one cuts off. A full disk takes back what it could not hold.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import time
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from pmeans.errors import FormatError, InputError, StorageError
from pmeans.files import locked, replacing
from pmeans.types import Ints

CELLS, GOLD = "cells.jsonl", "gold.jsonl"
_DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)


@dataclass(frozen=True)
class Cell:
    """The scores of one encoder on one task, trained in one language and tested in one.

    Attributes:
        id: Twelve hexadecimal digits over all that determines the scores, see `name`.
        encoder: Twelve digits over the recipe, the spaces' content, and what was fitted.
        dim: Columns of a sentence vector.
        task: Name of the task.
        data: Twelve digits over its rows in both languages.
        protocol: Name of the protocol.
        version: Version of the protocol.
        settings: What was chosen about the protocol, as ``{"adapt": "rows"}``.
        train_lang: Language of the training rows.
        test_lang: Language of the test rows.
        measure: ``accuracy``, ``macro-f1`` or ``spearman``.
        coverage: For each word space the share of the words of the test language that it knows.
        seconds: How long the cell took.
        versions: Of pmeans, Python, NumPy and what else was at work.
        seeds: What each fold or repetition was seeded with, (n_splits,).
        values: The score of each in per cent, not rounded, (n_splits,).
        dev: Development score of what was chosen, (n_splits,); None where nothing was.
        chosen: Penalty, learning rate and the like, (n_splits,) each.
        n_train: Rows that the reported classifier was fitted on, (n_splits,).
        n_test: Rows of each score, (n_splits,).
        gold: True classes as base-36 digits, (n_splits,); None unless each row is tested once.
        predicted: Predicted classes of the same rows, (n_splits,).
    """

    id: str
    encoder: str
    dim: int
    task: str
    data: str
    protocol: str
    version: int
    settings: Mapping[str, str]
    train_lang: str
    test_lang: str
    measure: str
    coverage: Mapping[str, float]
    seconds: float
    versions: Mapping[str, str]
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    dev: tuple[float, ...] | None
    chosen: Mapping[str, tuple[float, ...]]
    n_train: tuple[int, ...]
    n_test: tuple[int, ...]
    gold: tuple[str, ...] | None = None
    predicted: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.values)


def name(content: Sequence[object]) -> str:
    """Return twelve hexadecimal digits over all that determines something."""
    return hashlib.sha256(repr(tuple(content)).encode()).hexdigest()[:12]


def encode_classes(classes: Sequence[Ints | None]) -> tuple[str, ...] | None:
    """Write the classes of each split as base-36 digits; None for none, or for more than 36."""
    if any(each is None or (len(each) and each.max() >= len(_DIGITS)) for each in classes):
        return None
    return tuple(_DIGITS[each].tobytes().decode("ascii") for each in classes)


def decode_classes(digits: str) -> Ints:
    """Read what `encode_classes` wrote of a split, (n_rows,)."""
    return np.array([int(digit, 36) for digit in digits], dtype=np.int64)


def files_of(folder: Path) -> tuple[Path, Path]:
    """Return the files of the store in a folder."""
    return folder / CELLS, folder / GOLD


def append(folder: Path, cell: Cell) -> None:
    """Add a cell whole, or not at all; other processes may do so at the same time."""
    record = asdict(cell) | {"gold": None}
    if cell.gold:
        record["gold"] = name(cell.gold)
        if record["gold"] not in _read_gold(folder):
            _add(folder / GOLD, {"id": record["gold"], "classes": cell.gold})
    for key in ("seeds", "n_train", "n_test"):
        record[key] = _packed(record[key])
    record["chosen"] = {key: _packed(each) for key, each in cell.chosen.items()}
    _add(folder / CELLS, record)


def _packed(values: Sequence[float]) -> object:
    """Return what is the same in all splits once."""
    return values[0] if len(set(values)) == 1 else values


def _add(path: Path, record: Mapping[str, object]) -> None:
    content = json.dumps(record, allow_nan=False).encode() + b"\n"
    while (file := locked(path)) is None:
        time.sleep(0.005)
    try:
        with file:
            end = file.read().rfind(b"\n") + 1  # without the torn line of a killed run
            os.ftruncate(file.fileno(), end)
            os.lseek(file.fileno(), end, os.SEEK_SET)
            try:
                while content:  # a disk that fills up takes a part, and says why the next time
                    content = content[os.write(file.fileno(), content) :]
                os.fsync(file.fileno())
            except BaseException:
                os.ftruncate(file.fileno(), end)
                raise
    except OSError as error:
        raise StorageError(
            f"could not add results to {str(path)!r}: {error.strerror}. What was there before is "
            "untouched; make room or choose another folder, and run again."
        ) from error


def read(folder: Path) -> dict[str, Cell]:
    """Read all cells by their ids, in the order of the file; none where there is no store yet.

    A line without an end is of a run that was killed, or is still writing: it is not there yet.
    A cell that two runs finished at once counts once, as it was written last. Keys that are not
    known are ignored: a later version may note more about a cell, and that is no reason to lose
    the ones of today. Anything else that is not a cell is an error.
    """
    gold = _read_gold(folder)
    cells: dict[str, Cell] = {}
    for where, record in _lines(folder / CELLS):
        wanted = record.get("gold")
        if wanted is not None and wanted not in gold:
            raise FormatError(f"{where}: {GOLD} has no true classes {wanted!r}. {_REPAIR}")
        cell = _parsed(record | {"gold": gold.get(str(wanted))}, where)
        cells[cell.id] = cell
    return cells


def keep(folder: Path, ids: Collection[str]) -> int:
    """Drop all cells but some, and true classes that no cell needs; return how many cells.

    A run that is at work may be about to add a cell to classes that are there, and is an error.
    """
    for claimed in folder.glob(".*.claim"):
        file = locked(claimed)
        if file is None:
            raise InputError(f"a run is at work on {str(folder)!r}. Wait until it has ended.")
        file.close()
    before = len(list(_lines(folder / CELLS)))
    needed = set()

    def is_wanted(record: Mapping[str, typing.Any]) -> bool:
        wanted = record.get("id") in ids
        if wanted:
            needed.add(record.get("gold"))
        return wanted

    after = _rewrite(folder / CELLS, is_wanted)
    _rewrite(folder / GOLD, lambda record: record.get("id") in needed)
    return before - after


def _rewrite(path: Path, is_wanted: Callable[[Mapping[str, typing.Any]], bool]) -> int:
    """Keep some lines of a file to the byte; return how many."""
    if not path.exists():
        return 0
    lines = path.read_bytes().split(b"\n")[:-1]
    records = (record for _, record in _lines(path))
    kept = [line for line, record in zip(lines, records, strict=True) if is_wanted(record)]
    if len(kept) < len(lines):
        with replacing(path) as file:
            file.writelines(line + b"\n" for line in kept)
    return len(kept)


def _read_gold(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for where, record in _lines(folder / GOLD):
        try:
            found[str(record["id"])] = list(record["classes"])
        except (KeyError, TypeError):
            raise FormatError(f"{where}: expected an id and classes. {_REPAIR}") from None
    return found


def _lines(path: Path) -> Iterator[tuple[str, dict[str, typing.Any]]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(f"cannot read {str(path)!r}: {error.strerror}.") from error
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{where}: not valid JSON: {error}. {_REPAIR}") from None
        if not isinstance(record, dict):
            raise FormatError(f"{where}: expected an object, got {str(record)[:40]!r}. {_REPAIR}")
        yield where, record


def _parsed(record: Mapping[str, typing.Any], where: str) -> Cell:
    for key in _HINTS:
        if key not in record:
            raise FormatError(f"{where}: the key {key!r} is missing. {_REPAIR}")
    values = record["values"]
    n = len(values) if isinstance(values, list) else 0
    if not n:
        raise FormatError(f"{where}: values: {str(values)[:40]!r} has no score. {_REPAIR}")
    return Cell(
        **{k: _converted(hint, record[k], n, f"{where}: {k}") for k, hint in _HINTS.items()}
    )


def _converted(hint: typing.Any, value: typing.Any, n: int, where: str) -> typing.Any:
    """Return a value as its type; what is the same in all n splits may be there once."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        return None if value is None else _converted(inner[0], value, n, where)
    if origin is tuple:
        items = value if isinstance(value, list) else [value] * n
        if len(items) == n:
            return tuple(_converted(inner[0], item, n, where) for item in items)
    elif origin is Mapping:
        if isinstance(value, dict):
            return {k: _converted(inner[1], each, n, f"{where}.{k}") for k, each in value.items()}
    elif hint is float:
        # True is a number for Python, and NaN for its JSON; neither is a score.
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    elif isinstance(value, hint) and not isinstance(value, bool):
        return value
    raise FormatError(f"{where}: {str(value)[:40]!r} is not what belongs there. {_REPAIR}")


_REPAIR = "Delete the line to have its cell run again."
_HINTS = {field.name: typing.get_type_hints(Cell)[field.name] for field in fields(Cell)}


@contextlib.contextmanager
def claim(folder: Path, cell: str) -> Iterator[bool]:
    """Say whether this process may work on a cell, or another one already does.

    The claim is a lock on a small file beside the store. One who got it looks again at what is
    finished: another process may have completed the cell a moment ago.
    """
    # No folder of its own: to remove it would race with those who are about to write there.
    path = folder / f".{cell}.claim"
    file = locked(path)
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            os.unlink(path)
