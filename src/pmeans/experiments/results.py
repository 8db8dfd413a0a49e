"""Results that last: one JSON line a score, appended cell by cell.

The file survives what runs do to it. All lines of a cell go out in one write under a lock, so two
runs never interleave. A run that is killed in the middle of it leaves a torn last line, which the
next one cuts off, and every line says how many its cell has (``of``), so that a cell of which only
some lines arrived counts as unfinished. A full disk takes back what it could not hold.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path

import numpy as np

from pmeans.errors import FormatError, StorageError
from pmeans.types import Ints

_DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)


@dataclass(frozen=True)
class Result:
    """One score, with everything that it depends on.

    Attributes:
        cell: Twelve hexadecimal digits over all that determines the scores of a cell; all scores
            of a cell (its folds or repetitions) are written at once.
        encoder: Name of the encoder, a row of a table.
        encoder_id: Digits over the recipe and the words and numbers of its spaces.
        dim: Columns of a sentence vector.
        znorm: What the z-norm was fitted on.
        task: Name of the task, a column of a table.
        protocol: Name of the protocol.
        train_lang: Language of the training rows.
        test_lang: Language of the test rows.
        split: Number of the fold or the repetition.
        seed: Its seed.
        measure: ``accuracy`` or ``macro-f1``.
        value: The score in per cent, not rounded.
        dev: Development score of the chosen setting in per cent.
        chosen: The L2 penalty or learning rate that was chosen.
        n_train: Rows that the reported classifier was fitted on.
        n_test: Rows of the score.
        coverage: For each word space the share of the words of the test language that it knows.
        seconds: How long the whole cell took.
        versions: Of pmeans, Python, NumPy and what else was at work.
        gold: True classes of the test rows as base-36 digits, where each row is tested once.
        predicted: Predicted classes of the same rows.
    """

    cell: str
    encoder: str
    encoder_id: str
    dim: int
    znorm: str
    task: str
    protocol: str
    train_lang: str
    test_lang: str
    split: int
    seed: int
    measure: str
    value: float
    dev: float
    chosen: Mapping[str, float]
    n_train: int
    n_test: int
    coverage: Mapping[str, float]
    seconds: float
    versions: Mapping[str, str]
    gold: str | None = None
    predicted: str | None = None


def encode_classes(classes: Ints | None) -> str | None:
    """Write classes as base-36 digits, one a row; None where there are none or more than 36."""
    if classes is None or (len(classes) and classes.max() >= len(_DIGITS)):
        return None
    return _DIGITS[classes].tobytes().decode("ascii")


def decode_classes(digits: str) -> Ints:
    """Read what `encode_classes` wrote, (n_rows,)."""
    return np.array([int(digit, 36) for digit in digits], dtype=np.int64)


def append(path: str | Path, results: Sequence[Result]) -> None:
    """Add all scores of one cell, or none of them.

    Other processes may append to the same file at the same time.
    """
    path = Path(path)
    lines = [asdict(result) | {"of": len(results)} for result in results]
    content = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            end = _whole_lines(file)
            file.truncate(end)
            try:
                while content:  # a disk that fills up takes a part, and says why the next time
                    content = content[file.write(content) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(end)
                raise
    except OSError as error:
        raise StorageError(
            f"could not add results to {str(path)!r}: {error.strerror}. What was there before is "
            "untouched; make room or choose another folder, and run again."
        ) from error


def _whole_lines(file: typing.IO[bytes]) -> int:
    """Return the length of a file without the torn line that a killed run left at its end."""
    end = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 65536)
        file.seek(start)
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def read(path: str | Path) -> list[Result]:
    """Read all results of finished cells, in the order of the file.

    A line without an end is of a run that was killed, or is still writing: it is not there yet,
    nor is its cell. A cell that two runs finished at once counts once, as it was written last.
    Keys that are not known are ignored: a later version may note more about a score, and that is
    no reason to lose the ones of today. Anything else that is not a result is an error.
    """
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise StorageError(f"no results in {str(path)!r}. 'pmeans eval run' makes them.") from None
    except OSError as error:
        raise StorageError(f"cannot read {str(path)!r}: {error.strerror}.") from error
    cells: dict[str, dict[tuple[str, int], tuple[Result, int]]] = {}
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        result, of = _parsed(line, f"{path}, line {number}")
        cells.setdefault(result.cell, {})[result.test_lang, result.split] = result, of
    return [result for lines in cells.values() for result, of in lines.values() if len(lines) >= of]


def latest(results: Sequence[Result]) -> dict[tuple[str, str, str, str], list[Result]]:
    """Return the splits of each score, by encoder, task, training and test language.

    An encoder, a protocol or data that have changed make a new cell of the same name. The one
    that was written last counts.
    """
    cells: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results:
        key = (result.encoder, result.task, result.train_lang, result.test_lang)
        if key in cells and cells[key][0].cell == result.cell:
            cells[key].append(result)
        else:
            cells[key] = [result]
    return cells


def finished(path: str | Path) -> set[str]:
    """Return the cells that need not be run again; none where there is no file yet."""
    return {result.cell for result in read(path)} if Path(path).exists() else set()


def _parsed(line: bytes, where: str) -> tuple[Result, int]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON: {error}. {_REPAIR}") from None
    if not isinstance(record, dict):
        raise FormatError(f"{where}: expected an object, got {str(record)[:40]!r}. {_REPAIR}")
    values = {}
    for name, (hint, required) in _FIELDS.items():
        if name in record:
            values[name] = _converted(hint, record[name], f"{where}: {name}")
        elif required:
            raise FormatError(f"{where}: the key {name!r} is missing. {_REPAIR}")
    return Result(**values), _converted(int, record.get("of", 1), f"{where}: of")


def _converted(hint: typing.Any, value: typing.Any, where: str) -> typing.Any:
    if typing.get_origin(hint) is Mapping:
        if isinstance(value, dict):
            inner = typing.get_args(hint)[1]
            return {key: _converted(inner, each, f"{where}.{key}") for key, each in value.items()}
    elif hint is float:
        # True is a number for Python, and NaN for its JSON; neither is a score.
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    elif isinstance(value, hint) and not isinstance(value, bool):
        return value
    raise FormatError(f"{where}: {str(value)[:40]!r} is not what belongs there. {_REPAIR}")


_REPAIR = "Delete the line to have its cell run again."
_HINTS = typing.get_type_hints(Result)
_FIELDS = {field.name: (_HINTS[field.name], field.default is MISSING) for field in fields(Result)}


@contextlib.contextmanager
def claim(path: str | Path, cell: str) -> Iterator[bool]:
    """Say whether this process may work on a cell, or another one already does.

    The claim is a lock on a small file beside the results, which the system lets go of when its
    process ends, however it ends. One who got it looks again at `finished`: another process may
    have completed the cell a moment ago.

    Args:
        path: The file of results.
        cell: Which cell of it.
    """
    # No folder of its own: to remove it would race with those who are about to write there.
    path = Path(path).with_name(f".{Path(path).name}.{cell}.claim")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(path)
    except OSError as error:
        raise StorageError(f"cannot write {str(path)!r}: {error.strerror}.") from error
    if file is None:
        yield False
        return
    with file:
        try:
            yield True
        finally:
            os.unlink(path)


def _locked(path: Path) -> typing.IO[bytes] | None:
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between opening and locking, its holder may have finished and removed it, and a lock
            # on a file without a name would keep nobody out.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                    return file
        except BlockingIOError:
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        file.close()
