"""Embed a file: a vector for every row, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.apply.labelled import block_languages
from pmeans.apply.pipeline import Job, JobOptions, Report, run_to_file, run_to_stream
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.rows.fields import Block, Source
from pmeans.rows.partial import State
from pmeans.rows.writers import VectorFormat, vector_writer
from pmeans.tensors import Precision
from pmeans.types import Floats


@dataclass(frozen=True)
class EmbedOptions(JobOptions):
    """How to embed.

    Attributes:
        normalize: Scale every vector to length 1.
        n_threads: Threads to use; all available ones if None.
        dtype: Of the numbers, as `pmeans.rows.writers` says; int8 keeps no lengths.
    """

    normalize: bool = False
    n_threads: int | None = None
    dtype: Precision = "float32"


def embed_to_file(
    encoder: PowerMeanEncoder,
    source: Source,
    out: str | Path,
    options: EmbedOptions | None = None,
    *,
    format: VectorFormat | None = None,  # noqa: A002 - what everyone calls it
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
) -> State:
    """Embed a source into a file, resuming where an earlier run was stopped.

    Args:
        encoder: What turns sentences into vectors.
        source: Where the sentences come from.
        out: The file to write; what is there before stays until the new one is complete.
        options: How to embed.
        format: npy, jsonl or parquet, where the name does not tell.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the model's.

    Returns:
        The numbers of rows written, skipped and empty.
    """
    options = options or EmbedOptions()
    job = _Embedding(encoder, source, options, keep)
    writer = vector_writer(out, encoder.dim, format, options.dtype)
    return run_to_file(job, out, writer, restart=restart, report=report)


def embed_to_stream(
    encoder: PowerMeanEncoder,
    source: Source,
    stream: IO[bytes],
    options: EmbedOptions | None = None,
    *,
    format: VectorFormat | None = None,  # noqa: A002
) -> State:
    """Embed a source into a stream, such as standard output, as JSON lines.

    A stream cannot be resumed; and the other formats are complete at their end only.
    """
    options = options or EmbedOptions()
    if format not in (None, "jsonl"):
        raise InputError(f"{format} cannot be written to a stream: take jsonl, or name a file.")
    job = _Embedding(encoder, source, options, ())
    return run_to_stream(job, stream, vector_writer("-", encoder.dim, "jsonl", options.dtype))


class _Embedding(Job):
    options: EmbedOptions

    def __init__(self, encoder: PowerMeanEncoder, *args: Any) -> None:
        super().__init__(encoder, *args)
        # Two in turn, one at work and one being written: fresh memory costs as much as the work.
        self._buffers = [np.empty((0, encoder.dim), dtype=np.float32)] * 2

    def identity(self) -> dict[str, Any]:
        return {
            "model": self.encoder.fingerprint(),
            "lang": self.lang,
            "normalize": self.options.normalize,
            "dtype": self.options.dtype,
        }

    def work(self, block: Block, state: State) -> tuple[Floats, dict[str, Any]]:
        """Return the vectors of a block, (n, dim); a row without text is zero."""
        n = len(block.texts)
        self._buffers.reverse()
        if len(self._buffers[0]) < n:
            self._buffers[0] = np.empty((n, self.encoder.dim), dtype=np.float32)
        vectors = self._buffers[0][:n]
        self.encoder.encode(
            [text or "" for text in block.texts],
            lang=block_languages(block, self.lang, self.encoder),
            normalize_embeddings=self.options.normalize,
            n_threads=self.options.n_threads,
            out=vectors,
        )
        empty = n - int(np.count_nonzero(vectors.any(axis=1))) - block.texts.count(None)
        return vectors, {"empty": state.empty + empty}
