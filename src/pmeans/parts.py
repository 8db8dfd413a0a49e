"""Folders of parts: many Parquet files through an encoder or a classifier, on an engine's workers.

The rows of all files are cut into pieces of some ten thousand. What becomes of a piece is a task,
and its result a file in the folder, the part, written whole or not at all. Its name is a hash of
all that it depends on: the piece, the file that it is of, the model, the options. So a part that is
there is finished, and a job that is run again has only the others left to do.

An engine, such as Ray or Spark, has `work` done to tasks in its processes, and does so again where
a process died. It sees names and counts; rows go from a file to a file within one worker. Errors of
ours come back as outcomes, because a second try would fail as the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pmeans import arrow, errors
from pmeans.apply.jobs import count_empty, embedding_identity, labelling_identity
from pmeans.apply.labelled import checked_language
from pmeans.apply.pipeline import versions
from pmeans.errors import FormatError, InputError, PmeansError, StorageError
from pmeans.files import locked, optional, replacing
from pmeans.identifier import Doubts
from pmeans.rows.fields import Fields, OnError
from pmeans.rows.folders import find_parquet, open_file
from pmeans.rows.partial import refuse_overwriting
from pmeans.rows.sources import check_strings, open_parquet, parquet_batches
from pmeans.rows.writers import PLAIN
from pmeans.tensors import Precision

ROWS = 65_536
"""Of a piece: some seconds of work, so that few are lost with a worker and none waits for long."""

Engine = Callable[[list[str]], Iterable[str]]
"""Has `perform` done to tasks, in any order and anywhere, and returns the outcomes."""

_OURS = re.compile(r"[0-9a-f]{16}\.(parquet|npy|npy\.usearch)")
_COUNTS = b"pmeans"  # the key of a part's counts, among what its file says of itself
_FAILED = ".failed"  # in the folder: a task has an error, and those to come are not begun


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


def embed_parts(
    files: str,
    out: str | Path,
    *,
    engine: Engine,
    model: str = "default",
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    normalize: bool = False,
    dtype: Precision = "float32",
    on_error: OnError = "fail",
    restart: bool = False,
) -> Tally:
    """Write the rows of Parquet files, each with its vector, into a folder of Parquet files.

    Args:
        files: A file, a folder, a pattern, or an address of these, as `find_parquet` takes it.
        out: The folder; on a cluster, one that all machines see under this name.
        engine: The ``run`` of `pmeans.integrations.ray` or `pmeans.integrations.spark`.
        model: What `pmeans.load` opens, in every process.
        text: As of `pmeans.arrow.embed`, like all others.
        lang: See there.
        lang_column: See there.
        normalize: See there.
        dtype: See there.
        on_error: See there; a row that is passed over has a vector of zeros, as in `pmeans embed`.
        restart: Discard the parts that are there.
    """
    encoder = arrow.open_encoder(model)
    code = checked_language(encoder, lang, lang_column)
    fields = Fields(text, lang_column, languages=encoder.languages, on_error=on_error)
    columns = {"text": text, "lang_column": lang_column}
    how = {"normalize": normalize, "dtype": dtype}
    identity = {**embedding_identity(encoder, code, normalize, dtype), **columns}
    options = {"model": _anywhere(model), "lang": code, **columns, **how, "on_error": on_error}
    pieces = _pieces("embed", files, fields, options)
    keep = (*encoder.files, model)
    return run_parts(pieces, identity, out, ".parquet", engine, keep=keep, restart=restart)


def predict_parts(
    files: str,
    out: str | Path,
    *,
    engine: Engine,
    classifier: str | Path,
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    on_error: OnError = "fail",
    restart: bool = False,
) -> Tally:
    """Write the rows of Parquet files, each with its label, into a folder of Parquet files.

    The columns that are added are those of `pmeans.arrow.predict`; arguments are as of
    `embed_parts`, and ``classifier`` is a folder that `TransferClassifier.save` wrote.
    """
    opened = arrow.open_classifier(classifier)
    languages = opened.encoder_.languages
    code = checked_language(opened.encoder_, lang, lang_column)
    fields = Fields(text, lang_column, languages=languages, on_error=on_error, whole=True)
    columns = {"text": text, "lang_column": lang_column}
    identity = {**labelling_identity(opened, code), **columns}
    options = {
        "classifier": _anywhere(str(classifier)), "lang": code, **columns, "on_error": on_error,
    }  # fmt: skip
    pieces = _pieces("predict", files, fields, options)
    keep = (*opened.encoder_.files, str(classifier))
    return run_parts(pieces, identity, out, ".parquet", engine, keep=keep, restart=restart)


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
        pieces: ``kind`` (which of `_MAKERS`), ``of`` (what the piece is, for the name of its part)
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
            total.update(_counts(folder / name))
        left = [task for name, task in tasks.items() if name not in finished]
        for outcome in map(json.loads, engine(left) if left else ()):
            if "error" in outcome:
                raise getattr(errors, outcome["error"])(outcome["message"])
            total.update(outcome)
    doubts = Doubts(*(total.pop(name, 0) for name in ("texts", "none", "doubtful")))
    return Tally(len(tasks), len(finished), **total, doubts=doubts)


def work(batch: Any) -> Any:
    """Do the tasks in the first column of an Arrow batch; return the same kind, of outcomes."""
    return type(batch).from_pydict({"outcome": list(map(perform, batch.column(0).to_pylist()))})


def perform(task: str) -> str:
    """Do one task, unless it is done, and return its counts, or the error that is no use to retry.

    Both are JSON.
    """
    given = json.loads(task)
    folder = Path(given.pop("out"))
    path, make = folder / given.pop("name"), _MAKERS[given.pop("kind")]
    del given["of"]
    if (folder / _FAILED).exists():
        return "{}"
    try:
        if not path.exists():
            make(path, **given)
        return json.dumps(_counts(path))
    except PmeansError as error:
        (folder / _FAILED).touch()
        return json.dumps({"error": type(error).__name__, "message": str(error)})


def gave_up(engine: str, error: Exception) -> PmeansError:
    """Return an error for one that an engine stops at, with the line of it that says why."""
    lines = str(error).strip().splitlines()
    told = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    why = (told or lines or [type(error).__name__])[-1].rstrip(".")
    return PmeansError(
        f"{engine} gave up: {why}. Finished parts are kept: the same job goes on from there."
    )


def _embed_piece(part: Path, /, options: dict[str, Any], **piece: Any) -> None:
    _write(part, arrow.embed, options, piece, _vectors_counted, PLAIN)


def _predict_piece(part: Path, /, options: dict[str, Any], **piece: Any) -> None:
    _write(part, arrow.predict, options, piece, _labels_counted, {})


_MAKERS: dict[str, Callable[..., None]] = {"embed": _embed_piece, "predict": _predict_piece}


def _write(
    path: Path,
    make: Callable[..., Any],
    options: dict[str, Any],
    piece: dict[str, Any],
    counted: Callable[[Any, Any], tuple[Any, dict[str, int]]],
    style: dict[str, Any],
) -> None:
    """Write what a function of Arrow makes of a piece of a file, batch by batch."""
    pyarrow, doubts, total = _pyarrow(), Doubts(), Counter[str]()
    where, row, stop = piece["path"], piece["start"], piece["stop"]
    with (
        open_file(piece["address"], where) as stream,
        _damage_told(pyarrow, where),
        pyarrow.parquet.ParquetFile(stream) as file,
        replacing(path) as target,
        contextlib.ExitStack() as closing,
    ):
        writer = None
        for batch in parquet_batches(file, start=row, stop=stop):
            # One thread: there are as many workers as cores.
            done = make(batch, n_threads=1, doubts=doubts, place=(where, row), **options)
            done, counts = counted(pyarrow, done)
            if writer is None:
                opened = pyarrow.parquet.ParquetWriter(target, done.schema, **style)
                writer = closing.enter_context(opened)
            writer.write_batch(done)
            total.update(counts, rows=batch.num_rows)
            row += batch.num_rows
        if writer is None or row < stop:
            raise StorageError(f"{where} has changed since the job began: run it again.")
        told = json.dumps({**total, **asdict(doubts)}).encode()
        writer.add_key_value_metadata({_COUNTS: told})


@contextlib.contextmanager
def _damage_told(pyarrow: Any, where: str) -> Iterator[None]:
    """Say what is wrong with a file; an error of the system, which may pass, is the engine's."""
    try:
        yield
    except pyarrow.ArrowException as error:
        raise FormatError(f"{where}: cannot be read as Parquet: {error}") from error


def _vectors_counted(pyarrow: Any, batch: Any) -> tuple[Any, dict[str, int]]:
    """Put zeros where there is no vector, and count these rows, and others that are zero."""
    column = batch.column("embedding")
    dim, values = column.type.list_size, column.values  # zeros where there is null
    counts = {
        "skipped": column.null_count,
        "empty": count_empty(values.to_numpy().reshape(-1, dim)) - column.null_count,
    }
    whole = pyarrow.FixedSizeListArray.from_arrays(values, dim)
    return batch.set_column(batch.num_columns - 1, "embedding", whole), counts


def _labels_counted(pyarrow: Any, batch: Any) -> tuple[Any, dict[str, int]]:
    label, _, _, notes = batch.columns[-4:]
    told = notes.to_pylist()
    skipped = told.count("unreadable")
    empty = sum(note.startswith("no known word") for note in told)
    return batch, {"skipped": skipped, "empty": empty, "unsure": label.null_count - skipped}


def _pieces(
    kind: str, files: str, fields: Fields, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of all files, after checking that each has the columns asked for."""
    checked = set()
    for file in find_parquet(files):
        check_strings(file.schema, fields, file.path)
        names = tuple(file.schema.names)
        if names not in checked:  # a column that is added may be there
            _ADDING[kind](file.schema.empty_table(), **options, place=(file.path, 0))
            checked.add(names)
        for start in range(0, file.rows, ROWS):
            stop = min(start + ROWS, file.rows)
            of = {"input": file.path, "size": file.size, "modified (ns)": file.modified}
            yield {
                "kind": kind, "of": {**of, "rows": [start, stop]}, "options": options,
                "address": file.address, "path": file.path, "start": start, "stop": stop,
            }  # fmt: skip


_ADDING: dict[str, Callable[..., Any]] = {"embed": arrow.embed, "predict": arrow.predict}


def _anywhere(path: str) -> str:
    """Return a path that a process in another folder understands; a name stays as it is."""
    known = path != "default" and Path(path).exists()
    return str(Path(path).absolute()) if known else path


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
        (folder / _FAILED).unlink(missing_ok=True)
        try:
            yield
        finally:
            for left in (*folder.glob(".????????????????.*"), folder / _FAILED, lock):
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
    others = there - wanted
    if others:
        raise InputError(
            f"{str(folder)!r} holds {len(others):,} parts that are made of other inputs, or with "
            "another model or options: choose another folder, or discard all parts with "
            "restart=True."
        )
    return there


def _counts(path: Path) -> dict[str, int]:
    with open_parquet(path) as file:
        return json.loads((file.metadata.metadata or {}).get(_COUNTS, b"{}"))


def _pyarrow() -> Any:
    return optional("pyarrow.parquet", "data", "Parquet")
