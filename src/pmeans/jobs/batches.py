"""Tables in memory: an Arrow batch in, the same batch with vectors or labels beside it out.

These functions are public as `pmeans.arrow`. Every engine that hands out Arrow batches can call
them, and what they make of a row depends on that row alone: it is what `encoder.encode` and
`pmeans embed` make of it, to the bit. They are plain functions of a module, so that they are sent
to another process by name. There the model is opened once, by whichever thread comes first, and its
pages are shared by all processes.

An empty batch has the schema of all others: ``embed(batch.slice(0, 0)).schema``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pmeans import models
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.jobs.files import fields_of
from pmeans.jobs.options import EmbedOptions, PredictOptions, spread
from pmeans.jobs.rows import ADDED, LANGUAGE, embed_block, label_block
from pmeans.languages.resolution import Doubts, language_of_rows
from pmeans.tables.fields import BEGINNING, Block, Fields
from pmeans.tables.sources import arrow_values, check_strings
from pmeans.tables.writers import coded_rows
from pmeans.transfer import TransferClassifier, WordCount

_T = TypeVar("_T")
_opened: dict[tuple[object, ...], tuple[object, Any]] = {}
_opening = threading.Lock()


@spread(EmbedOptions)
def embed(
    batch: Any,
    *,
    options: EmbedOptions,
    model: str | Path | SentenceEncoder = "default",
    column: str = "embedding",
    doubts: Doubts | None = None,
    place: tuple[str, int] = ("the batch", 0),
) -> Any:
    """Add a column of vectors to a batch.

    Args:
        batch: A ``pyarrow.RecordBatch`` or ``pyarrow.Table`` of n rows, whose texts are strings of
            any of Arrow's kinds, also dictionaries.
        options: How to embed, see `pmeans.jobs.EmbedOptions`; their fields are keywords as well.
            The vector of a row that is skipped is null. (Files that a command writes have zeros
            there.)
        model: What `pmeans.load` opens, or an encoder.
        column: What the new column is called.
        doubts: Counts the rows whose language was detected, and those in doubt. If it is None, a
            warning says how many are in doubt.
        place: What messages call the batch, and how many rows there are before it.

    Returns:
        The same kind of table, with one more column, ``fixed_size_list<float>[dim]`` or of another
        ``dtype``. A text without a known word is a row of zeros.
    """
    pyarrow, encoder = _pyarrow(batch), open_encoder(model)
    code = language_of_rows(encoder, options.lang, options.lang_column)
    block = _block(batch, fields_of(options, encoder.languages), *place)
    counted = Doubts() if doubts is None else doubts
    vectors = embed_block(encoder, block, code, options, counted)
    if doubts is None:
        counted.warn(stacklevel=3)
    unreadable = [text is None for text in block.texts]
    listed = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(coded_rows(vectors, options.dtype).reshape(-1)),
        encoder.dim,
        mask=pyarrow.array(unreadable) if any(unreadable) else None,
    )
    return _with(pyarrow, batch, {column: listed}, "column= names another")


@spread(PredictOptions)
def predict(
    batch: Any,
    *,
    options: PredictOptions,
    classifier: str | Path | TransferClassifier,
    doubts: Doubts | None = None,
    place: tuple[str, int] = ("the batch", 0),
) -> Any:
    """Add labels to a batch: the columns ``label``, ``probability``, ``language`` and ``note``.

    If the batch has one of these, ``predicted_`` stands before all of them. The label is null where
    the classifier is unsure. The language is null where a text is in none of the model's languages.
    The note says why a label is missing or a fallback, as in `pmeans.jobs.predict_to_file`. A text
    that is null counts as an empty text. The note of a row that is skipped is ``unreadable``, and
    its other new columns are null.

    Args:
        batch: As of `embed`.
        options: How to predict, see `pmeans.jobs.PredictOptions`; their fields are keywords as
            well.
        classifier: The folder that `TransferClassifier.save` wrote, or a classifier.
        doubts: Counts the rows whose language was detected, and those in doubt. The notes say which
            rows these are.
        place: What messages call the batch, and how many rows there are before it.

    Returns:
        The same kind of table, with four more columns. Labels have the type that they were given
        in; they and the probabilities are lists if a row may have several labels.
    """
    pyarrow, opened = _pyarrow(batch), open_classifier(classifier).with_unsure(options.unsure)
    encoder = opened.encoder_
    code = language_of_rows(encoder, options.lang, options.lang_column)
    block = _block(batch, fields_of(options, encoder.languages, whole=True), *place)
    words = WordCount(doubts)
    done = label_block(opened, block, code, words, options.n_threads)
    columns: dict[str, list[Any]] = {
        ADDED[0]: list(done.found.labels),
        ADDED[1]: list(done.found.probabilities),
        LANGUAGE: done.languages,
    }
    for values in columns.values():
        for i in done.skipped:
            values[i] = None
    kinds = [pyarrow.array(opened.fitted.classes).type, pyarrow.float32()]
    kinds = [pyarrow.list_(kind) for kind in kinds] if opened.multi_label else kinds
    kinds += [pyarrow.string()] * 2
    columns[ADDED[2]] = list(done.notes)
    prefix = "" if columns.keys().isdisjoint(batch.schema.names) else "predicted_"
    added = zip(columns.items(), kinds, strict=True)
    arrays = {prefix + name: pyarrow.array(values, kind) for (name, values), kind in added}
    return _with(pyarrow, batch, arrays, "rename it")


def open_encoder(model: str | Path | SentenceEncoder) -> SentenceEncoder:
    """Open an encoder as `pmeans.load` does, once in this process; an encoder is returned."""
    return model if isinstance(model, SentenceEncoder) else _once(models.load, model)


def open_classifier(folder: str | Path | TransferClassifier) -> TransferClassifier:
    """Open a classifier's folder, once in this process; a classifier is returned."""
    if isinstance(folder, TransferClassifier):
        return folder
    return _once(TransferClassifier.load, folder)


def _once(load: Callable[[str | Path], _T], source: str | Path) -> _T:
    """Open something, unless it is open and still what lies there."""
    path = Path(source).absolute()
    status = path.stat() if path.exists() else None
    stamp = status and (status.st_dev, status.st_ino, status.st_mtime_ns)
    key = load, str(source), path  # a folder may have the name of a model that is installed
    with _opening:
        opened = _opened.get(key)
        if opened is None or opened[0] != stamp:
            opened = _opened[key] = stamp, load(source)
    return opened[1]


def _pyarrow(batch: object) -> Any:
    """Return pyarrow, if a batch is one of its tables."""
    pyarrow = optional("pyarrow", "data", "pmeans.arrow")
    if not isinstance(batch, pyarrow.RecordBatch | pyarrow.Table):
        raise InputError(
            f"expected a pyarrow.RecordBatch or pyarrow.Table, got {type(batch).__name__}: "
            "pyarrow.Table.from_pandas(frame), frame.to_arrow() and the like make one."
        )
    return pyarrow


def _block(batch: Any, fields: Fields, where: str, before: int) -> Block:
    """Return the rows of a batch, each of them checked."""
    places = check_strings(batch.schema, fields, where)
    values = {name: arrow_values(batch.column(i)) for name, i in places.items()}
    rows = range(before + 1, before + batch.num_rows + 1)
    return fields.block(values, batch.schema.names, (), rows, BEGINNING, f"{where}, row")


def _with(pyarrow: Any, batch: Any, columns: dict[str, Any], remedy: str) -> Any:
    """Return a batch with further columns; what its schema says of itself is kept."""
    schema, arrays = batch.schema, list(batch.columns)
    for name, array in columns.items():
        if name in schema.names:
            raise InputError(f"the batch has a column {name!r} already: {remedy}.")
        schema = schema.append(pyarrow.field(name, array.type))
        arrays.append(array)
    return type(batch).from_arrays(arrays, schema=schema)
