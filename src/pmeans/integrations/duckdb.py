"""DuckDB: SQL functions that make vectors or labels of texts.

``pmeans_embed(text)`` finds the language of each text, ``pmeans_embed(text, 'de')`` and
``pmeans_embed(text, lang)`` are told. NULL in any argument gives NULL, as everywhere in SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.jobs import batches
from pmeans.jobs.options import EmbedOptions, PredictOptions, RowOptions
from pmeans.languages.resolution import Doubts
from pmeans.transfer import TransferClassifier

if TYPE_CHECKING:
    import duckdb


def register_embed(
    connection: duckdb.DuckDBPyConnection,
    *,
    name: str = "pmeans_embed",
    model: str | Path | SentenceEncoder = "default",
    **options: Any,
) -> None:
    """Give a connection a function of a text, and its language if that is known: ``FLOAT[dim]``.

    Args:
        connection: What ``duckdb.connect`` returned.
        name: What SQL calls the function.
        model: What `pmeans.load` opens, or an encoder.
        options: As of `pmeans.arrow.embed`: ``lang`` (of texts whose language SQL does not tell),
            ``normalize``, ``dtype``, ``on_error`` and ``n_threads``. Of ``dtype="int8"`` the result
            is ``TINYINT[dim]``. DuckDB has no float16: such numbers are rounded, and are FLOAT.
    """
    # Doubts about languages would be told for every 2048 rows: `register_predict` has them by row.
    make = partial(batches.embed, model=batches.open_encoder(model), doubts=Doubts())
    _register(connection, name, make, EmbedOptions(**options))


def register_predict(
    connection: duckdb.DuckDBPyConnection,
    *,
    name: str = "pmeans_predict",
    classifier: str | Path | TransferClassifier,
    **options: Any,
) -> None:
    """Give a connection a function of a text, and its language if that is known: its label.

    The result is ``STRUCT(label, probability, language, note)``, as `pmeans.arrow.predict` says.

    Args:
        connection: What ``duckdb.connect`` returned.
        name: What SQL calls the function.
        classifier: The folder that `TransferClassifier.save` wrote, or a classifier.
        options: As of `pmeans.arrow.predict`: ``lang`` (of texts whose language SQL does not tell),
            ``unsure``, ``on_error`` and ``n_threads``.
    """
    make = partial(batches.predict, classifier=batches.open_classifier(classifier))
    _register(connection, name, make, PredictOptions(**options))


def _register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    make: Callable[..., Any],
    options: RowOptions,
) -> None:
    optional("duckdb", "duckdb", "pmeans.integrations.duckdb")
    pyarrow = optional("pyarrow", "duckdb", "pmeans.integrations.duckdb")

    def added(*columns: Any) -> Any:
        """Return what a function of Arrow adds to texts, as one array."""
        how = options if len(columns) == 1 else replace(options, lang=None, lang_column="lang")
        names = ("text", "lang")[: len(columns)]
        batch = make(pyarrow.record_batch([*columns], names=names), options=how)
        further = batch.schema.names[len(columns) :]
        arrays = [batch.column(each) for each in further]
        if len(arrays) == 1:
            lists = arrays[0]
            if pyarrow.types.is_float16(lists.type.value_type):
                return lists.cast(pyarrow.list_(pyarrow.float32(), lists.type.list_size))
            return lists
        return pyarrow.StructArray.from_arrays(arrays, names=further)

    def of_rows(*columns: Any) -> Any:
        if len(columns) > 2:
            raise InputError(f"{name} takes a text and, if it is known, its language.")
        return added(*(column.combine_chunks() for column in columns))

    # No language: only the type is asked for, and texts may come with theirs.
    texts = pyarrow.array([], pyarrow.string())
    kind = added(texts, texts).type
    if options.lang:
        added(texts)  # or say now that there is no such language
    connection.create_function(name, of_rows, None, _sql_type(kind), type="arrow")


def _sql_type(kind: Any) -> str:
    """Return how SQL writes a type of Arrow."""
    text = str(kind)
    if text.startswith("struct"):
        fields = ", ".join(f"{field.name} {_sql_type(field.type)}" for field in kind)
        return f"STRUCT({fields})"
    if text.startswith("fixed_size_list"):
        return f"{_sql_type(kind.value_type)}[{kind.list_size}]"
    if text.startswith("list"):
        return f"{_sql_type(kind.value_type)}[]"
    return {
        "string": "VARCHAR", "float": "FLOAT", "int8": "TINYINT", "int64": "BIGINT",
        "bool": "BOOLEAN",
    }[text]  # fmt: skip
