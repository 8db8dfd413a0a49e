"""What is made of many files: vectors, labels, an index; each a job of pieces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from pmeans.encoder.identity import ModelIdentity, model_of
from pmeans.errors import FormatError, InputError
from pmeans.files import optional
from pmeans.jobs import batches
from pmeans.jobs.files import fields_of
from pmeans.jobs.options import EmbedOptions, PredictOptions, RowOptions, spread
from pmeans.jobs.parts import Engine, Tally, here, run_parts
from pmeans.jobs.rows import embedding_identity, labelling_identity
from pmeans.jobs.workers import adding
from pmeans.languages.resolution import language_of_rows
from pmeans.models import anywhere, files_of
from pmeans.search.finding import VECTORS
from pmeans.search.shards import Shard
from pmeans.search.texts import SourceFile
from pmeans.tables.fields import Fields
from pmeans.tables.folders import ParquetFile, find_parquet, local_paths
from pmeans.tables.sources import check_strings

ROWS = 65_536
"""Of a piece: a second of work, so that few are lost with a worker and none waits for long.

A piece reads what comes before it in its row group, too. So where groups are large, there are four
pieces to one of them, or pieces of four times as many rows.
"""


@spread(EmbedOptions)
def embed_parts(
    files: str,
    out: str | Path,
    *,
    options: EmbedOptions,
    engine: Engine,
    model: str = "default",
    restart: bool = False,
) -> Tally:
    """Write the rows of Parquet files, each with its vector, into a folder of Parquet files.

    Args:
        files: A file, a folder, a pattern, or an address of these, as `find_parquet` takes it.
        out: The folder; on a cluster, one that all machines see under this name.
        options: How to embed; their fields are keywords as well. A row that is skipped is zero.
            Each worker has one thread.
        engine: The ``run`` of `pmeans.integrations.ray` or `pmeans.integrations.spark`.
        model: What `pmeans.load` opens, in every process.
        restart: Discard the parts that earlier runs of such a job wrote there.
    """
    encoder = batches.open_encoder(model)
    code = language_of_rows(encoder, options.lang, options.lang_column)
    identity = {**embedding_identity(encoder, code, options), **_columns(options)}
    arguments = {"model": anywhere(model), "options": _for_worker(options, code)}
    made_by = asdict(ModelIdentity.of(encoder))
    sources, fields = find_parquet(files), fields_of(options, encoder.languages)
    pieces = (
        {**piece, "made_by": made_by} for piece in _pieces("embed", sources, fields, arguments)
    )
    keep = (*files_of(encoder), model, files, *local_paths(sources))
    return run_parts(pieces, identity, out, ".parquet", engine, keep=keep, restart=restart)


@spread(PredictOptions)
def predict_parts(
    files: str,
    out: str | Path,
    *,
    options: PredictOptions,
    engine: Engine,
    classifier: str | Path,
    restart: bool = False,
) -> Tally:
    """Write the rows of Parquet files, each with its label, into a folder of Parquet files.

    The columns that are added are those of `pmeans.arrow.predict`; arguments are as of
    `embed_parts` and of there, and ``classifier`` is a folder that `TransferClassifier.save` wrote.
    """
    opened = batches.open_classifier(classifier).with_unsure(options.unsure)
    encoder = opened.encoder_
    code = language_of_rows(encoder, options.lang, options.lang_column)
    identity = {**labelling_identity(opened, code), **_columns(options)}
    arguments = {"classifier": anywhere(classifier), "options": _for_worker(options, code)}
    sources, fields = find_parquet(files), fields_of(options, encoder.languages, whole=True)
    pieces = _pieces("predict", sources, fields, arguments)
    keep = (*files_of(encoder), str(classifier), files, *local_paths(sources))
    return run_parts(pieces, identity, out, ".parquet", engine, keep=keep, restart=restart)


def index_parts(
    files: str, out: str | Path, *, engine: Engine, shards: int, restart: bool = False
) -> Tally:
    """Make an index in shards of what `embed_parts` wrote: see `pmeans.search.shards`.

    Args:
        files: As of `embed_parts`, with vectors in the column ``embedding``.
        out: The folder, as there.
        engine: As there; `here` builds one shard after the other, each with all threads.
        shards: How many, at most: files are not divided.
        restart: As there.
    """
    optional("usearch.index", "search", "an index in shards")
    if shards < 1:
        raise InputError(f"cannot make {shards} shards: ask for at least 1.")
    inputs = [file for file in find_parquet(files) if file.rows]
    for file in inputs:
        if VECTORS not in file.schema.names:
            raise FormatError(f"{file.path}: no column {VECTORS!r} with vectors.")
    model = _one_model(inputs)
    total, first, groups = sum(file.rows for file in inputs), 0, defaultdict[int, list[Any]](list)
    for file in inputs:
        groups[first * shards // total].append((first, file))
        first += file.rows
    pieces = []
    for group in groups.values():
        sources = [SourceFile(f.address, f.path, f.rows, f.size, f.modified) for _, f in group]
        shard = Shard(tuple(sources), group[0][0], model)
        of = {"first": shard.first, "files": [[f.path, f.size, f.modified] for f in sources]}
        n_threads = None if engine is here else 1
        pieces.append({"kind": "index", "of": of, "shard": asdict(shard), "n_threads": n_threads})
    identity = {"index": 2, "model": model and model.fingerprint}
    keep = (files, *local_paths(inputs))
    return run_parts(pieces, identity, out, ".json", engine, keep=keep, restart=restart)


def _one_model(files: list[ParquetFile]) -> ModelIdentity | None:
    """Return the model that made the vectors of files, None if they do not say."""
    models = {model_of(file.metadata, file.path): file.path for file in files}
    if len(models) > 1:
        unknown = "a model that it does not name"
        said = " and ".join(f"{path} by {model or unknown}" for model, path in models.items())
        raise FormatError(f"the vectors are made by several models, {said}: index each by itself.")
    return next(iter(models), None)


def _columns(options: RowOptions) -> dict[str, str | None]:
    return {"text": options.text, "lang_column": options.lang_column}


def _for_worker(options: RowOptions, lang: str | None) -> dict[str, Any]:
    """Return options for a worker: there are as many workers as cores, so each has one thread."""
    return asdict(replace(options, lang=lang, n_threads=1))


def _pieces(
    kind: Literal["embed", "predict"],
    files: list[ParquetFile],
    fields: Fields,
    arguments: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """Yield the pieces of all files, after checking that each has the columns asked for."""
    checked = set()
    for file in files:
        check_strings(file.schema, fields, file.path)
        names = tuple(file.schema.names)
        if names not in checked:  # a column that is added may be there
            adding(kind, **arguments)(file.schema.empty_table(), place=(file.path, 0))
            checked.add(names)
        size = min(max(ROWS, -(-file.largest // 4)), 4 * ROWS)
        for start in range(0, file.rows, size):
            stop = min(start + size, file.rows)
            of = {"input": file.path, "size": file.size, "modified (ns)": file.modified}
            yield {
                "kind": kind, "of": {**of, "rows": [start, stop]}, **arguments,
                "address": file.address, "path": file.path, "start": start, "stop": stop,
            }  # fmt: skip
