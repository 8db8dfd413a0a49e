"""The embedding job: batches of rows in, blocks of vectors out, one savepoint a batch.

Run again after a kill, a job goes on behind its last savepoint and ends with the very bytes of
an uninterrupted run, because a row's vector depends on its own sentence alone.
`tests/integration/test_embed_resume.py` kills it and compares.
"""

from __future__ import annotations

import dataclasses
import errno
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np

from pmeans import kernels
from pmeans._version import __version__
from pmeans.embedding.identity import model_identity
from pmeans.embedding.outputs import JsonLines, OutputFormat, Writer, output_format, writer_for
from pmeans.embedding.partial import State, open_partial, partial_path
from pmeans.embedding.rows import Row, Source
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError, LanguageError, StorageError
from pmeans.types import Floats


@dataclass(frozen=True)
class Options:
    """How to embed.

    Attributes:
        lang: Language of all rows, unless the input tells it row by row.
        normalize: Scale every vector to length 1.
        n_threads: Threads to use; all available ones if None.
        batch_size: Rows between two savepoints; changes no byte of the output.
    """

    lang: str | None = None
    normalize: bool = False
    n_threads: int | None = None
    batch_size: int = 8192


def embed_to_file(
    encoder: PowerMeanEncoder,
    source: Source,
    out: str | Path,
    options: Options | None = None,
    *,
    format: OutputFormat | None = None,  # noqa: A002 - what everyone calls it
    restart: bool = False,
    report: Callable[[State], object] = lambda state: None,
) -> State:
    """Embed a source into a file, resuming where an earlier run was stopped.

    Args:
        encoder: What turns sentences into vectors.
        source: Where the sentences come from.
        out: The file to write; what is there before stays until the new one is complete.
        options: How to embed.
        format: npy, jsonl or parquet, where the name does not tell.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each savepoint.

    Returns:
        The numbers of rows written, skipped and empty.
    """
    out, options = Path(out), options or Options()
    _check(encoder, source, options)
    chosen = output_format(out, format)
    writer = writer_for(chosen, out, encoder.dim)
    begun_with = {
        "model": model_identity(encoder),
        "pmeans": f"{__version__} ({kernels.backend()})",
        **source.identity(),
        "format": chosen,
        "--lang": options.lang,
        "--normalize": options.normalize,
    }
    with _storage_errors(out), open_partial(out, begun_with) as partial:
        if restart:
            partial.discard()
        state = partial.resume()
        if state.size == 0:
            writer.begin(partial.file)
            state = partial.save(state)
        report(state)
        for reached in _embedded(encoder, source, options, state, writer, partial.file):
            state = partial.save(reached)
            report(state)
        writer.finish(partial.file, partial.path, out, state.rows)
        partial.discard()
    return state


def embed_to_stream(
    encoder: PowerMeanEncoder,
    source: Source,
    stream: IO[bytes],
    options: Options | None = None,
    *,
    format: OutputFormat | None = None,  # noqa: A002
) -> State:
    """Embed a source into a stream, such as standard output, as JSON lines.

    A stream cannot be resumed; and the other formats are complete at their end only.
    """
    options = options or Options()
    _check(encoder, source, options)
    if format not in (None, "jsonl"):
        raise InputError(f"{format} cannot be written to a stream: take jsonl, or name a file.")
    state = State()
    for reached in _embedded(encoder, source, options, state, JsonLines(), stream):
        state = reached
        stream.flush()
    return state


def _check(encoder: PowerMeanEncoder, source: Source, options: Options) -> None:
    covered = ", ".join(encoder.languages) or "any language"
    if options.batch_size < 1:
        raise InputError(f"--batch-size must be at least 1, not {options.batch_size}.")
    if options.lang is not None and source.has_languages:
        raise InputError("--lang and --lang-column exclude each other: leave one out.")
    if options.lang is None and not source.has_languages and len(encoder.languages) > 1:
        raise LanguageError(f"which language? {encoder.name!r} covers {covered}: say --lang.")
    if options.lang and encoder.languages and options.lang not in encoder.languages:
        raise LanguageError(f"no language {options.lang!r}: {encoder.name!r} covers {covered}.")


def _embedded(
    encoder: PowerMeanEncoder,
    source: Source,
    options: Options,
    state: State,
    writer: Writer,
    file: IO[bytes],
) -> Iterator[State]:
    """Write batch after batch, and yield the state behind each."""
    rows = _rows_from(source, state)
    while batch := list(islice(rows, options.batch_size)):
        vectors = _vectors(encoder, batch, options)
        writer.append(file, vectors, state.rows)
        skipped = sum(row.text is None for row in batch)
        state = dataclasses.replace(
            state,
            rows=state.rows + len(batch),
            line=batch[-1].line,
            offset=batch[-1].offset,
            checksum=0 if source.seekable else _checksum(batch, state.checksum),
            skipped=state.skipped + skipped,
            empty=state.empty + int((~vectors.any(axis=1)).sum()) - skipped,
        )
        yield state


def _rows_from(source: Source, state: State) -> Iterator[Row]:
    if source.seekable or not state.rows:
        return source.rows(state.rows, state.line, state.offset)
    rows = source.rows(0, 0, 0)
    checksum = read = 0
    while batch := list(islice(rows, min(8192, state.rows - read))):
        checksum = _checksum(batch, checksum)
        read += len(batch)
    if checksum != state.checksum:
        raise InputError(
            f"the input is not the one that was begun with: its first {state.rows:,} rows differ. "
            "Give the same input to resume, or discard what was done with --restart."
        )
    return rows


def _vectors(encoder: PowerMeanEncoder, batch: list[Row], options: Options) -> Floats:
    """Return the vectors of a batch, (n, dim); a row without text is zero."""
    readable = [i for i, row in enumerate(batch) if row.text is not None]
    langs = [batch[i].lang for i in readable]
    found: Floats = encoder.encode(
        [batch[i].text for i in readable],  # type: ignore[misc]
        lang=langs if langs and langs[0] is not None else options.lang,  # type: ignore[arg-type]
        normalize_embeddings=options.normalize,
        n_threads=options.n_threads,
    )
    if len(readable) == len(batch):
        return found
    vectors = np.zeros((len(batch), encoder.dim), dtype=np.float32)
    vectors[readable] = found
    return vectors


def _checksum(batch: list[Row], start: int) -> int:
    for row in batch:
        text = f"{row.text}\0{row.lang}\n"
        start = zlib.crc32(text.encode("utf-8", "surrogatepass"), start)
    return start


@contextmanager
def _storage_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        if isinstance(error, StorageError) and cause is error:
            raise
        if cause.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise StorageError(f"could not write {str(out)!r}: {cause.strerror}.") from error
        raise StorageError(
            f"the disk is full: what is done so far is in {str(partial_path(out))!r}. Free some "
            "space and run the same command again to resume."
        ) from error
