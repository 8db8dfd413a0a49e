"""Tables in memory: an Arrow batch in, the same batch with vectors or labels beside it out.

Every engine that hands out Arrow batches can call these two functions, and what they make of a row
depends on that row alone: it is what `encoder.encode` and `pmeans embed` make of it, to the bit.
They are plain functions of a module, so that they are sent to another process by name. There the
model is opened once, by whichever thread comes first, and its pages are shared by all processes.

An empty batch has the schema of all others: ``embed(batch.slice(0, 0)).schema``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from pmeans import models
from pmeans.apply.jobs import ADDED, LANGUAGE, label_block
from pmeans.apply.labelled import block_languages, checked_language
from pmeans.choices import RowPrecision
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.languages.identifier import Doubts
from pmeans.tables.fields import BEGINNING, Block, Fields, OnError
from pmeans.tables.sources import arrow_values, check_strings
from pmeans.tables.writers import coded_rows
from pmeans.transfer import TransferClassifier, WordCount

__all__ = [
    "EmbedArguments", "EmbedValues", "PredictArguments", "PredictValues", "embed",
    "open_classifier", "open_encoder", "predict",
]  # fmt: skip

_T = TypeVar("_T")
_opened: dict[tuple[object, ...], tuple[object, Any]] = {}
_opening = threading.Lock()


class _Columns(TypedDict, total=False):
    text: str
    lang_column: str | None


class EmbedValues(TypedDict, total=False):
    """How vectors are made: what every function that calls `embed` takes, and hands on."""

    lang: str | None
    normalize: bool
    dtype: RowPrecision
    on_error: OnError
    n_threads: int | None


class EmbedArguments(_Columns, EmbedValues, total=False):
    """The same for tables, whose columns have names."""

    column: str


class PredictValues(TypedDict, total=False):
    """How labels are made: what every function that calls `predict` takes, and hands on."""

    lang: str | None
    unsure: float | None
    on_error: OnError
    n_threads: int | None


class PredictArguments(_Columns, PredictValues, total=False):
    """The same for tables, whose columns have names."""


def embed(
    batch: Any,
    *,
    model: str | Path | SentenceEncoder = "default",
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    column: str = "embedding",
    normalize: bool = False,
    dtype: RowPrecision = "float32",
    on_error: OnError = "fail",
    n_threads: int | None = None,
    doubts: Doubts | None = None,
    place: tuple[str, int] = ("the batch", 0),
) -> Any:
    """Add a column of vectors to a batch.

    Args:
        batch: A ``pyarrow.RecordBatch`` or ``pyarrow.Table`` of n rows.
        model: What `pmeans.load` opens, or an encoder.
        text: Name of the column with the texts: strings of any of Arrow's kinds, also dictionaries.
        lang: Language of all texts. None or ``"auto"`` detects it, unless ``lang_column`` names it.
        lang_column: Name of the column with the language of each text.
        column: What the new column is called.
        normalize: Scale every vector to length 1.
        dtype: Type of the numbers. int8 keeps the direction of a vector, not its length.
        on_error: At a row that cannot be read (no text, bytes that are not UTF-8, no language of
            the model), ``"fail"`` stops and names it, ``"skip"`` makes its vector null. (Files
            that a command writes have zeros there.)
        n_threads: Threads to use; all available ones if None.
        doubts: Counts the rows whose language was detected, and those in doubt. If it is None, a
            warning says how many are in doubt.
        place: What messages call the batch, and how many rows there are before it.

    Returns:
        The same kind of table, with one more column, ``fixed_size_list<float>[dim]`` or of another
        ``dtype``. A text without a known word is a row of zeros.
    """
    pyarrow, encoder = _pyarrow(batch), open_encoder(model)
    code = checked_language(encoder, lang, lang_column)
    fields = Fields(text, lang_column, languages=encoder.languages, on_error=on_error)
    block = _block(batch, fields, *place)
    counted = Doubts() if doubts is None else doubts
    vectors = encoder.encode(
        [text or "" for text in block.texts],
        lang=block_languages(block, encoder, code, counted, n_threads),
        normalize_embeddings=normalize,
        n_threads=n_threads,
    )
    if doubts is None:
        counted.warn(stacklevel=2)
    unreadable = [text is None for text in block.texts]
    listed = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(coded_rows(vectors, dtype).reshape(-1)),
        encoder.dim,
        mask=pyarrow.array(unreadable) if any(unreadable) else None,
    )
    return _with(pyarrow, batch, {column: listed}, "column= names another")


def predict(
    batch: Any,
    *,
    classifier: str | Path | TransferClassifier,
    text: str = "text",
    lang: str | None = None,
    lang_column: str | None = None,
    unsure: float | None = None,
    on_error: OnError = "fail",
    n_threads: int | None = None,
    doubts: Doubts | None = None,
    place: tuple[str, int] = ("the batch", 0),
) -> Any:
    """Add labels to a batch: the columns ``label``, ``probability``, ``language`` and ``note``.

    If the batch has one of these, ``predicted_`` stands before all of them. The label is null where
    the classifier is unsure. The language is null where a text is in none of the model's languages.
    The note says why a label is missing or a fallback, as in `pmeans.apply.predict_to_file`. A text
    that is null counts as an empty text.

    Args:
        batch: A ``pyarrow.RecordBatch`` or ``pyarrow.Table`` of n rows.
        classifier: The folder that `TransferClassifier.save` wrote, or a classifier.
        text: Name of the column with the texts: strings of any of Arrow's kinds, also dictionaries.
        lang: Language of all texts. None or ``"auto"`` detects it, unless ``lang_column`` names it.
        lang_column: Name of the column with the language of each text.
        unsure: Give no label where its probability is below this; the classifier's own if None.
        on_error: At a row that cannot be read (bytes that are not UTF-8, no language of the model),
            ``"fail"`` stops and names it. ``"skip"`` goes on: the note of the row is
            ``unreadable``, and its other new columns are null.
        n_threads: Threads to use; all available ones if None.
        doubts: Counts the rows whose language was detected, and those in doubt. The notes say which
            rows these are.
        place: What messages call the batch, and how many rows there are before it.

    Returns:
        The same kind of table, with four more columns. Labels have the type that they were given
        in; they and the probabilities are lists if a row may have several labels.
    """
    pyarrow, opened = _pyarrow(batch), open_classifier(classifier).with_unsure(unsure)
    encoder = opened.encoder_
    code = checked_language(encoder, lang, lang_column)
    fields = Fields(text, lang_column, languages=encoder.languages, on_error=on_error, whole=True)
    words = WordCount(doubts)
    done = label_block(opened, _block(batch, fields, *place), code, words, n_threads)
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


def _once(load: Callable[[str | Path], _T], given: str | Path) -> _T:
    """Open something, unless it is open and still what lies there."""
    path = Path(given).absolute()
    status = path.stat() if path.exists() else None
    stamp = status and (status.st_dev, status.st_ino, status.st_mtime_ns)
    key = load, str(given), path  # a folder may have the name of a model that is installed
    with _opening:
        found = _opened.get(key)
        if found is None or found[0] != stamp:
            found = _opened[key] = stamp, load(given)
    return found[1]


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
