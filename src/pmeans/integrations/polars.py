"""Polars: expressions that make vectors or labels of a column of texts.

They are elementwise, so that a lazy query streams them. Null stays null, as everywhere in Polars.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.files import optional
from pmeans.jobs import batches
from pmeans.jobs.options import EmbedOptions, PredictOptions
from pmeans.transfer import TransferClassifier

if TYPE_CHECKING:
    import polars


def embed(
    text: str | polars.Expr = "text",
    *,
    model: str | Path | SentenceEncoder = "default",
    lang_column: str | polars.Expr | None = None,
    **options: Any,
) -> polars.Expr:
    """Return an expression for the vectors of texts, ``Array(Float32, dim)``.

    It is called ``embedding``, unless ``alias`` gives it another name.

    Args:
        text: The texts: the name of a column, or an expression.
        model: What `pmeans.load` opens, or an encoder.
        lang_column: The language of each text: the name of a column, or an expression.
        options: As of `pmeans.arrow.embed`: ``lang``, ``normalize``, ``dtype``, ``on_error`` and
            ``n_threads``.
    """
    how = EmbedOptions(lang_column=_named(lang_column), **options)
    make = partial(batches.embed, options=how, model=batches.open_encoder(model))
    return _expression(make, text, lang_column).alias("embedding")


def predict(
    text: str | polars.Expr = "text",
    *,
    classifier: str | Path | TransferClassifier,
    lang_column: str | polars.Expr | None = None,
    **options: Any,
) -> polars.Expr:
    """Return an expression for labels: a struct of label, probability, language and note.

    The fields are those of `pmeans.arrow.predict`. The struct is called ``predicted``, and
    ``unnest("predicted")`` turns it into columns.

    Args:
        text: The texts: the name of a column, or an expression.
        classifier: The folder that `TransferClassifier.save` wrote, or a classifier.
        lang_column: The language of each text: the name of a column, or an expression.
        options: As of `pmeans.arrow.predict`: ``lang``, ``unsure``, ``on_error`` and
            ``n_threads``.
    """
    how = PredictOptions(lang_column=_named(lang_column), **options)
    make = partial(batches.predict, options=how, classifier=batches.open_classifier(classifier))
    return _expression(make, text, lang_column).alias("predicted")


def _named(lang_column: str | polars.Expr | None) -> str | None:
    return None if lang_column is None else "lang"


def _expression(
    make: Callable[..., Any], text: str | polars.Expr, lang_column: str | polars.Expr | None
) -> polars.Expr:
    """Return the columns that a function of Arrow adds to texts, and to their languages if told."""
    pl = optional("polars", "polars", "pmeans.integrations.polars")
    arguments = {"text": text, "lang": lang_column}
    columns = {name: column for name, column in arguments.items() if column is not None}

    def added(frame: polars.DataFrame) -> polars.Series:
        table = pl.from_arrow(make(frame.to_arrow())).drop(*columns)
        return table.to_series() if table.width == 1 else table.to_struct()

    def of_rows(rows: polars.Series) -> polars.Series:
        frame = rows.struct.unnest()
        known = frame["text"].is_not_null()
        if known.all():
            return added(frame)
        places = pl.select(pl.when(known).then(known.cum_sum() - 1)).to_series()
        return added(frame.filter(known)).gather(places)

    # What does not fit is said here and now, and not in the middle of a query.
    dtype = added(pl.DataFrame(schema=dict.fromkeys(columns, pl.String))).dtype
    named = {n: pl.col(c) if isinstance(c, str) else c for n, c in columns.items()}
    return pl.struct(**named).map_batches(of_rows, return_dtype=dtype, is_elementwise=True)
