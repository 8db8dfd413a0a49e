"""What a worker does: a task becomes a part, and an outcome."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pmeans import config
from pmeans.encoder.identity import ModelIdentity
from pmeans.errors import FormatError, PmeansError, StorageError
from pmeans.files import check_regular, optional, replacing
from pmeans.jobs import batches
from pmeans.jobs.options import EmbedOptions, PredictOptions
from pmeans.jobs.rows import count_empty
from pmeans.languages.resolution import Doubts
from pmeans.search.finding import VECTORS
from pmeans.search.shards import Shard, build_shard
from pmeans.tables.folders import open_file
from pmeans.tables.sources import open_parquet, parquet_batches
from pmeans.tables.writers import parquet_style

FAILED = ".failed"
"""In the folder: a task has an error, and those to come are not begun."""

_COUNTS = b"pmeans"  # the key of a part's counts, among what its file says of itself


def perform(task: str) -> str:
    """Do one task, unless it is done, and return its counts, or the error that is no use to retry.

    Both are JSON.
    """
    arguments = json.loads(task)
    folder = Path(arguments.pop("out"))
    path, make = folder / arguments.pop("name"), _MAKERS[arguments.pop("kind")]
    del arguments["of"]
    if (folder / FAILED).exists():
        return "{}"
    try:
        if not path.exists():
            make(path, **arguments)
        return json.dumps(counts_of(path))
    except PmeansError as error:
        (folder / FAILED).touch()
        return json.dumps({"error": type(error).__name__, "message": str(error)})


def gave_up(engine: str, error: Exception) -> PmeansError:
    """Return an error for one that an engine stops at, with the line of it that says why."""
    lines = str(error).strip().splitlines()
    errors = [line for line in lines if re.match(r"(: )?[\w.]*(Error|Exception)\b", line)]
    why = (errors or lines or [type(error).__name__])[-1].strip(": .")
    return PmeansError(
        f"{engine} gave up: {why}. Finished parts are kept: the same job goes on from there."
    )


def adding(
    kind: Literal["embed", "predict"], options: dict[str, Any], **given: Any
) -> Callable[..., Any]:
    """Return the function that adds vectors or labels to a batch, with its options and its model.

    Args:
        kind: Which function of `pmeans.jobs.batches`.
        options: The fields of its options.
        given: Its model or classifier.
    """
    if kind == "embed":
        return partial(batches.embed, options=EmbedOptions(**options), **given)
    return partial(batches.predict, options=PredictOptions(**options), **given)


def _embed_piece(
    part: Path, /, options: dict[str, Any], model: str, made_by: dict[str, str], **piece: Any
) -> None:
    make = adding("embed", options, model=model)
    style, about = parquet_style(options["dtype"]), ModelIdentity(**made_by).metadata()
    _write(part, make, piece, _vectors_counted, style, about)


def _predict_piece(part: Path, /, options: dict[str, Any], classifier: str, **piece: Any) -> None:
    make = adding("predict", options, classifier=classifier)
    _write(part, make, piece, _labels_counted, {})


def _index_piece(part: Path, /, shard: dict[str, Any], n_threads: int | None) -> None:
    build_shard(part, config.build(Shard, shard, "shard"), n_threads)


_MAKERS: dict[str, Callable[..., None]] = {
    "embed": _embed_piece, "predict": _predict_piece, "index": _index_piece,
}  # fmt: skip


def _write(
    path: Path,
    make: Callable[..., Any],
    piece: dict[str, Any],
    counted: Callable[[Any, Any], tuple[Any, dict[str, int]]],
    style: dict[str, Any],
    about: Mapping[bytes, bytes] = MappingProxyType({}),
) -> None:
    """Write what a function of Arrow makes of a piece of a file, batch by batch.

    ``about`` is what the part says of itself, beside its counts.
    """
    pyarrow, doubts, total = _pyarrow(), Doubts(), Counter[str]()
    where, row, stop = piece["path"], piece["start"], piece["stop"]
    with (
        open_file(piece["address"], where) as stream,
        _parquet_errors(pyarrow, where),
        pyarrow.parquet.ParquetFile(stream) as file,
        replacing(path) as target,
        contextlib.ExitStack() as closing,
    ):
        writer = None
        for batch in parquet_batches(file, start=row, stop=stop):
            done = make(batch, doubts=doubts, place=(where, row))
            done, counts = counted(pyarrow, done)
            if writer is None:
                opened = pyarrow.parquet.ParquetWriter(target, done.schema, **style)
                writer = closing.enter_context(opened)
            writer.write_batch(done)
            total.update(counts, rows=batch.num_rows)
            row += batch.num_rows
        if writer is None or row < stop:
            raise StorageError(f"{where} has changed since the job began: run it again.")
        note = json.dumps({**total, **asdict(doubts)}).encode()
        writer.add_key_value_metadata({_COUNTS: note, **about})


@contextlib.contextmanager
def _parquet_errors(pyarrow: Any, where: str) -> Iterator[None]:
    """Say what is wrong with a file; an error of the system, which may pass, is the engine's."""
    try:
        yield
    except pyarrow.ArrowException as error:
        raise FormatError(f"{where}: cannot be read as Parquet: {error}") from error


def _vectors_counted(pyarrow: Any, batch: Any) -> tuple[Any, dict[str, int]]:
    """Put zeros where there is no vector, and count these rows, and others that are zero."""
    column = batch.column(VECTORS)
    dim, values = column.type.list_size, column.values  # zeros where there is null
    counts = {
        "skipped": column.null_count,
        "empty": count_empty(values.to_numpy().reshape(-1, dim)) - column.null_count,
    }
    whole = pyarrow.FixedSizeListArray.from_arrays(values, dim)
    return batch.set_column(batch.num_columns - 1, VECTORS, whole), counts


def _labels_counted(pyarrow: Any, batch: Any) -> tuple[Any, dict[str, int]]:
    label, _, _, notes = batch.columns[-4:]
    texts = notes.to_pylist()
    skipped = texts.count("unreadable")
    empty = sum(note.startswith("no known word") for note in texts)
    return batch, {"skipped": skipped, "empty": empty, "unsure": label.null_count - skipped}


def counts_of(path: Path) -> dict[str, int]:
    """Return what was counted while a part was made."""
    if path.suffix == ".json":
        return {"rows": Shard.read(path).rows}
    check_regular(path)
    with open_parquet(path) as file:
        written = (file.metadata.metadata or {}).get(_COUNTS, b"{}")
    try:
        counts = {name: int(n) for name, n in json.loads(written).items()}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{str(path)!r} is damaged: begin anew with restart=True.") from error
    return counts


def _pyarrow() -> Any:
    return optional("pyarrow.parquet", "data", "Parquet")
