"""DuckDB: SQL functions that make vectors or labels of texts.

``pmeans_embed(text)`` finds the language of each text, ``pmeans_embed(text, 'de')`` and
``pmeans_embed(text, lang)`` are told. NULL in any argument gives NULL, as everywhere in SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmeans import arrow
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.identifier import Doubts
from pmeans.rows.fields import OnError
from pmeans.sentence_encoder import SentenceEncoder
from pmeans.transfer import TransferClassifier

if TYPE_CHECKING:
    import duckdb


def register_embed(
    connection: duckdb.DuckDBPyConnection,
    *,
    name: str = "pmeans_embed",
    model: str | Path | SentenceEncoder = "default",
    normalize: bool = False,
    on_error: OnError = "fail",
) -> None:
    """Give a connection a function of a text, and its language if that is known: ``FLOAT[dim]``.

    Args:
        connection: What ``duckdb.connect`` returned.
        name: What SQL calls the function.
        model: What `pmeans.load` opens, or an encoder.
        normalize: Scale every vector to length 1.
        on_error: At a row of an unknown language, ``"fail"`` stops, ``"skip"`` makes it NULL.
    """
    encoder, doubts = arrow.open_encoder(model), Doubts()
    # Doubts about languages would be told for every 2048 rows: `register_predict` has them by row.
    make = partial(
        arrow.embed, model=encoder, normalize=normalize, on_error=on_error, doubts=doubts
    )
    _register(connection, name, make)


def register_predict(
    connection: duckdb.DuckDBPyConnection,
    *,
    name: str = "pmeans_predict",
    classifier: str | Path | TransferClassifier,
    on_error: OnError = "fail",
) -> None:
    """Give a connection a function of a text, and its language if that is known: its label.

    The result is ``STRUCT(label, probability, language, note)``, as `pmeans.arrow.predict` says.

    Args:
        connection: What ``duckdb.connect`` returned.
        name: What SQL calls the function.
        classifier: The folder that `TransferClassifier.save` wrote, or a classifier.
        on_error: As in `register_embed`; the note of such a row is ``unreadable``.
    """
    opened = arrow.open_classifier(classifier)
    _register(connection, name, partial(arrow.predict, classifier=opened, on_error=on_error))


def _register(connection: duckdb.DuckDBPyConnection, name: str, make: Callable[..., Any]) -> None:
    optional("duckdb", "duckdb", "pmeans.integrations.duckdb")
    pyarrow = optional("pyarrow", "duckdb", "pmeans.integrations.duckdb")

    def added(*columns: Any, **options: Any) -> Any:
        """Return what a function of Arrow adds to texts, as one array."""
        names = ("text", "lang")[: len(columns)]
        batch = make(pyarrow.record_batch([*columns], names=names), **options)
        further = batch.schema.names[len(columns) :]
        arrays = [batch.column(each) for each in further]
        if len(arrays) == 1:
            return arrays[0]
        return pyarrow.StructArray.from_arrays(arrays, names=further)

    def of_rows(*columns: Any) -> Any:
        if len(columns) > 2:
            raise InputError(f"{name} takes a text and, if it is known, its language.")
        whole = [column.combine_chunks() for column in columns]
        return added(*whole, lang_column="lang") if len(columns) == 2 else added(*whole)

    # No language: only the type is asked for, and texts may come with theirs.
    texts = pyarrow.array([], pyarrow.string())
    kind = added(texts, texts, lang_column="lang").type
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
    return {"string": "VARCHAR", "float": "FLOAT", "int64": "BIGINT", "bool": "BOOLEAN"}[text]
