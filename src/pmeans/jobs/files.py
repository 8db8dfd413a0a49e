"""What is done to the rows of a file: a vector for each, or a label beside its columns."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.choices import TableFormat, VectorFormat
from pmeans.encoder.identity import ModelIdentity
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.jobs.options import EmbedOptions, PredictOptions, RowOptions, spread
from pmeans.jobs.resumable import Job, Report, run
from pmeans.jobs.rows import (
    ADDED,
    LANGUAGE,
    block_languages,
    count_empty,
    embed_block,
    embedding_identity,
    label_block,
    labelling_identity,
)
from pmeans.languages.resolution import AUTO, Doubts, language_of_rows
from pmeans.tables import open_source
from pmeans.tables.fields import BLOCK, Block, Fields, Source
from pmeans.tables.journal import State
from pmeans.tables.writers import Records, table_writer, vector_writer
from pmeans.transfer import TransferClassifier, WordCount
from pmeans.transfer.adapting import FEW
from pmeans.transfer.describing import MATCHED
from pmeans.types import Floats

SAVE_EVERY = 5.0
"""Seconds between savepoints, each of which waits for the disk."""


@spread(EmbedOptions)
def embed_to_file(
    encoder: SentenceEncoder,
    source: str | Path | Source,
    out: str | Path | IO[bytes],
    *,
    options: EmbedOptions,
    format: VectorFormat | None = None,  # noqa: A002 - what everyone calls it
    batch_size: int = BLOCK,
    save_every: float = SAVE_EVERY,
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
    doubts: Doubts | None = None,
) -> State:
    """Embed every row of a source into a file, resuming where an earlier run was stopped.

    A row that is skipped, or has no known word, is zero.

    Args:
        encoder: What turns sentences into vectors.
        source: A file with the sentences, or a source that `pmeans.tables.open_source` opened with
            the same columns.
        out: The file to write; what is there before stays until the new one is complete. Or a
            stream, such as standard output: it gets JSON lines, and cannot be resumed.
        options: How to embed; their fields are keywords as well.
        format: npy, jsonl or parquet, where the name does not tell.
        batch_size: Rows that are read and worked on together; changes no byte of the output.
        save_every: Seconds between savepoints.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the model's.
        doubts: Counts rows of this run whose language was looked for, and in doubt.

    Returns:
        The numbers of rows written, skipped and empty.
    """
    about = ModelIdentity.of(encoder).metadata()
    writer = vector_writer(out, encoder.dim, format, options.dtype, about)
    opened = _opened(source, options, encoder)
    job = _Embedding(encoder, opened, options, doubts or Doubts(), keep, batch_size, save_every)
    return run(job, out, writer, restart, report)


@spread(PredictOptions)
def predict_to_file(
    classifier: TransferClassifier,
    source: str | Path | Source,
    out: str | Path | IO[bytes],
    *,
    options: PredictOptions,
    format: TableFormat | None = None,  # noqa: A002 - what everyone calls it
    separator: str | None = None,
    batch_size: int = 4 * BLOCK,  # vectors do not stay, so that there is room for more
    save_every: float = SAVE_EVERY,
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
    words: WordCount | None = None,
) -> State:
    """Write every row of a source with its prediction, resuming where an earlier run was stopped.

    The note says why a label is missing or a fallback: ``unsure``, ``no known word`` (the label is
    then the most frequent one of training), or ``unreadable``. If languages are detected, they get
    a column. The note then also says if a language is doubtful, or if a text is in none of the
    encoder's languages. Such a text has no language, and is treated as the likeliest of them.

    Args:
        classifier: What predicts.
        source: A file with the rows, or a source that was opened with the same columns, and whole.
        out: As in `embed_to_file`: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``; a stream gets
            CSV unless the format says otherwise.
        options: How to predict; their fields are keywords as well.
        format: Format of the output, if its name does not show it.
        separator: Between the labels of a row, where it may have several; ``|`` if not given.
        batch_size: As in `embed_to_file`.
        save_every: As there.
        restart: Start from the beginning, and discard what an earlier run has done.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the classifier's.
        words: Counts known and unknown words of the rows of this run, and doubts about languages.
    """
    classifier = classifier.with_unsure(options.unsure)
    if separator is not None and not classifier.multi_label:
        raise InputError("separator= is for rows with several labels: leave it out.")
    writer = table_writer(out, format)
    opened = _opened(source, options, classifier.encoder_, whole=True)
    if not opened.fields.whole:
        raise InputError("open the source with whole=True: all columns are written.")
    job = _Labelling(
        classifier, opened, options, separator or "|", words or WordCount(), keep, batch_size,
        save_every,
    )  # fmt: skip
    return run(job, out, writer, restart, report)


def match_labels(classifier: TransferClassifier, source: Source, lang: str | None) -> list[str]:
    """Match described labels to the first texts of a source, language by language.

    Args:
        classifier: What `TransferClassifier.describe` made.
        source: The texts.
        lang: Their language, if it is named.

    Returns:
        The languages with texts enough.
    """
    encoder, n = classifier.encoder_, 0
    code = language_of_rows(encoder, lang, source.fields.lang_column)
    texts: dict[str, list[str]] = {}
    for block in source.blocks():
        langs = block_languages(block, encoder, code, Doubts())
        some = [text or "" for text in block.texts]
        for of, which in encoder.by_language(some, langs):
            texts.setdefault(of, []).extend(some[i] for i in which if some[i])
        n += len(some)
        if n >= MATCHED:
            break
    matched = [of for of, listed in texts.items() if len(listed) >= FEW]
    for of in matched:
        classifier.adapt(texts[of], lang=of)
    return matched


def fields_of(options: RowOptions, languages: tuple[str, ...], *, whole: bool = False) -> Fields:
    """Return what is read of each row."""
    return Fields(
        options.text, options.lang_column, languages=languages, on_error=options.on_error,
        whole=whole,
    )  # fmt: skip


def _opened(
    source: str | Path | Source,
    options: RowOptions,
    encoder: SentenceEncoder,
    *,
    whole: bool = False,
) -> Source:
    if isinstance(source, Source):
        return source
    fields = fields_of(options, encoder.languages, whole=whole)
    return open_source(source, fields, lang=options.lang)


class _Embedding(Job):
    def __init__(
        self,
        encoder: SentenceEncoder,
        source: Source,
        options: EmbedOptions,
        doubts: Doubts,
        *rest: Any,
    ) -> None:
        super().__init__(encoder, source, options.lang, *rest)
        self._options, self._doubts = options, doubts
        # Two in turn, one at work and one being written: fresh memory costs as much as the work.
        self._buffers = [np.empty((0, encoder.dim), dtype=np.float32)] * 2

    def identity(self) -> dict[str, Any]:
        return embedding_identity(self.encoder, self.lang, self._options)

    def work(self, block: Block, state: State) -> tuple[Floats, dict[str, Any]]:
        """Return the vectors of a block, (n, dim); a row without text is zero."""
        n = len(block.texts)
        self._buffers.reverse()
        if len(self._buffers[0]) < n:
            self._buffers[0] = np.empty((n, self.encoder.dim), dtype=np.float32)
        vectors = self._buffers[0][:n]
        embed_block(self.encoder, block, self.lang, self._options, self._doubts, vectors)
        empty = count_empty(vectors) - block.texts.count(None)
        return vectors, {"empty": state.empty + empty}


class _Labelling(Job):
    may_be_empty = False

    def __init__(
        self,
        classifier: TransferClassifier,
        source: Source,
        options: PredictOptions,
        separator: str,
        words: WordCount,
        *rest: Any,
    ) -> None:
        super().__init__(classifier.encoder_, source, options.lang, *rest)
        self._classifier, self._options = classifier, options
        self._separator, self._words = separator, words
        self._added = (*ADDED[:-1], LANGUAGE, ADDED[-1]) if self.lang == AUTO else ADDED

    def identity(self) -> dict[str, Any]:
        return {
            **labelling_identity(self._classifier, self.lang),
            "separator": self._separator,
        }

    def work(self, block: Block, state: State) -> tuple[Records, dict[str, Any]]:
        """Return the rows of a block with their predictions, and what there is to count."""
        added = state.columns[-len(self._added) :]
        if not added:
            taken = not set(self._added).isdisjoint(block.names)
            added = tuple(f"predicted_{name}" for name in self._added) if taken else self._added
        threads = self._options.n_threads
        done = label_block(self._classifier, block, self.lang, self._words, threads)
        labels: list[Any] = list(done.found.labels)
        probabilities: list[Any] = list(done.found.probabilities)
        if self._classifier.multi_label:
            labels = list(map(self._separator.join, labels))
            probabilities = [self._separator.join(f"{x:.4f}" for x in p) for p in probabilities]
        else:
            # In a file, labels are text.
            labels = [label if label is None else str(label) for label in labels]
            # As `round` does, which takes longer than to predict: these are float32, of which
            # float64 holds the product.
            probabilities = (np.rint(np.array(probabilities) * 1e4) / 1e4).tolist()
        unsure = labels.count(None) - sum(labels[i] is None for i in done.skipped)
        columns = [labels, probabilities] + [done.languages] * (self.lang == AUTO)
        for i in done.skipped:
            for column in columns:
                column[i] = None
        names = (*block.names, *added)
        return Records(names, block.cells, (*columns, done.notes)), {
            "columns": state.columns or names,
            "unsure": state.unsure + unsure,
            "empty": state.empty + int(done.found.empty.sum()) - len(done.skipped),
        }
