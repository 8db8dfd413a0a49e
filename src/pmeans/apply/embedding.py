"""Embed a file: a vector for every row, in its order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.apply.labelled import block_languages, checked_language
from pmeans.apply.pipeline import SAVE_EVERY, Report, run_to_file, run_to_stream
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.rows.fields import BLOCK, Block, Source
from pmeans.rows.partial import State
from pmeans.rows.vectors import VectorFormat, VectorLines, vector_writer
from pmeans.tensors import Precision
from pmeans.types import Floats


@dataclass(frozen=True)
class EmbedOptions:
    """How to embed.

    Attributes:
        lang: Language of all rows, unless the input tells it row by row; ``"auto"`` finds it.
        normalize: Scale every vector to length 1.
        n_threads: Threads to use; all available ones if None.
        batch_size: Rows that are read and embedded together; changes no byte of the output.
        dtype: Of the numbers, as `pmeans.rows.vectors` says; int8 keeps no lengths.
        save_every: Seconds between savepoints.
    """

    lang: str | None = None
    normalize: bool = False
    n_threads: int | None = None
    batch_size: int = BLOCK
    dtype: Precision = "float32"
    save_every: float = SAVE_EVERY

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("n_threads", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise InputError(f"{name} must be a whole number of at least 1, not {value!r}.")


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
    return run_to_file(
        job,
        source,
        out,
        vector_writer(out, encoder.dim, format, options.dtype),
        n_rows=options.batch_size,
        restart=restart,
        report=report,
        save_every=options.save_every,
    )


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
    writer = VectorLines(encoder.dim, options.dtype)
    return run_to_stream(job, source, stream, writer, n_rows=options.batch_size)


class _Embedding:
    may_be_empty = True

    def __init__(
        self,
        encoder: PowerMeanEncoder,
        source: Source,
        options: EmbedOptions,
        keep: tuple[str, ...],
    ) -> None:
        self._lang = checked_language(encoder, source.fields, options.lang)
        self._encoder, self._options = encoder, options
        spaces = (space.path for space in encoder.spaces.values())
        self.inputs = (*(str(path) for path in spaces if path), *keep)
        # Two in turn, one at work and one being written: fresh memory costs as much as the work.
        self._buffers = [np.empty((0, encoder.dim), dtype=np.float32)] * 2

    def identity(self) -> dict[str, Any]:
        options, encoder = self._options, self._encoder
        return {
            "model": encoder.fingerprint(),
            "lang": self._lang,
            "normalize": options.normalize,
            "dtype": options.dtype,
        }

    def work(self, block: Block, state: State) -> tuple[Floats, dict[str, Any]]:
        """Return the vectors of a block, (n, dim); a row without text is zero."""
        n, skipped = len(block.texts), block.texts.count(None)
        self._buffers.reverse()
        if len(self._buffers[0]) < n:
            self._buffers[0] = np.empty((n, self._encoder.dim), dtype=np.float32)
        vectors = self._buffers[0][:n]
        self._encoder.encode(
            [text or "" for text in block.texts] if skipped else block.texts,  # type: ignore[arg-type]
            lang=block_languages(block, self._lang, self._encoder),
            normalize_embeddings=self._options.normalize,
            n_threads=self._options.n_threads,
            out=vectors,
        )
        empty = n - int(np.count_nonzero(vectors.any(axis=1))) - skipped
        return vectors, {"empty": state.empty + empty}
