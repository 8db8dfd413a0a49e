"""What is done to the rows of a file: a vector for each, or a label beside its columns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.apply.labelled import block_languages
from pmeans.apply.pipeline import Job, JobOptions, Report, found_by, run
from pmeans.choices import RowPrecision, TableFormat, VectorFormat
from pmeans.encoder.identity import ModelIdentity
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.languages.identifier import AUTO, Doubts, FoundLanguages
from pmeans.tables.fields import BLOCK, Block, Source
from pmeans.tables.journal import State
from pmeans.tables.writers import Records, table_writer, vector_writer
from pmeans.transfer import Predictions, TransferClassifier, WordCount
from pmeans.types import Array, Floats

ADDED = ("label", "probability", "note")
"""Columns of a prediction; ``predicted_`` stands before them if the input has one of these."""

LANGUAGE = "language"
"""One more of them, before the note, where languages are found."""


@dataclass(frozen=True)
class EmbedOptions(JobOptions):
    """How to embed.

    Attributes:
        normalize: Scale every vector to length 1.
        n_threads: Threads to use; all available ones if None.
        dtype: Of the numbers, as `pmeans.tables.writers` says; int8 keeps no lengths.
        doubts: Counts rows of this run whose language was looked for, and in doubt.
    """

    normalize: bool = False
    n_threads: int | None = None
    dtype: RowPrecision = "float32"
    doubts: Doubts = field(default_factory=Doubts)


@dataclass(frozen=True)
class PredictOptions(JobOptions):
    """How to predict.

    Attributes:
        separator: Between the labels of a row, where it may have several; ``|`` if not given.
        words: Counts known and unknown words of the rows of this run, and doubts about languages.
    """

    batch_size: int = 4 * BLOCK  # vectors do not stay, so that there is room for more
    separator: str | None = None
    words: WordCount = field(default_factory=WordCount)


def embed_to_file(
    encoder: SentenceEncoder,
    source: Source,
    out: str | Path | IO[bytes],
    options: EmbedOptions | None = None,
    *,
    format: VectorFormat | None = None,  # noqa: A002 - what everyone calls it
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
) -> State:
    """Embed every row of a source into a file, resuming where an earlier run was stopped.

    Args:
        encoder: What turns sentences into vectors.
        source: Where the sentences come from.
        out: The file to write; what is there before stays until the new one is complete. Or a
            stream, such as standard output: it gets JSON lines, and cannot be resumed.
        options: How to embed.
        format: npy, jsonl or parquet, where the name does not tell.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the model's.

    Returns:
        The numbers of rows written, skipped and empty.
    """
    options = options or EmbedOptions()
    about = ModelIdentity.of(encoder).metadata()
    writer = vector_writer(out, encoder.dim, format, options.dtype, about)
    return run(_Embedding(encoder, source, options, keep), out, writer, restart, report)


def predict_to_file(
    classifier: TransferClassifier,
    source: Source,
    out: str | Path | IO[bytes],
    options: PredictOptions | None = None,
    *,
    format: TableFormat | None = None,  # noqa: A002 - what everyone calls it
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
) -> State:
    """Write every row of a source with its prediction, resuming where an earlier run was stopped.

    The note says why a label is missing or a fallback: ``unsure``, ``no known word`` (the label is
    then the most frequent one of training), or ``unreadable``. If languages are detected, they get
    a column. The note then also says if a language is doubtful, or if a text is in none of the
    encoder's languages. Such a text has no language, and is treated as the likeliest of them.

    Args:
        classifier: What predicts.
        source: The rows, opened with all their columns.
        out: As in `embed_to_file`: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``; a stream gets
            CSV unless the format says otherwise.
        options: How to predict.
        format: Format of the output, if its name does not show it.
        restart: Start from the beginning, and discard what an earlier run has done.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the classifier's.
    """
    writer = table_writer(out, format)
    job = _Labelling(classifier, source, options or PredictOptions(), keep)
    return run(job, out, writer, restart, report)


@dataclass(frozen=True)
class BlockLabels:
    """What is predicted for the rows of a block.

    Attributes:
        found: Labels and probabilities, also of rows that could not be read.
        languages: Of each row; None where it is none of the encoder's.
        notes: What a user should know of each row; mostly nothing.
        skipped: Numbers of the rows that could not be read.
    """

    found: Predictions
    languages: list[str | None]
    notes: list[str]
    skipped: list[int]


def label_block(
    classifier: TransferClassifier,
    block: Block,
    lang: str | None,
    words: WordCount,
    n_threads: int | None = None,
) -> BlockLabels:
    """Predict the rows of a block; ``lang`` as `checked_language` returns it."""
    texts = [text or "" for text in block.texts]
    langs = block_languages(block, classifier.encoder_, lang, words.doubts, n_threads)
    found = classifier.classify(texts, lang=langs, words=words, n_threads=n_threads)
    notes = ["unsure" if label is None else "" for label in found.labels]
    for i in np.flatnonzero(found.empty).tolist():
        notes[i] = "no known word"
    if isinstance(langs, FoundLanguages):
        languages = [each.lang for each in langs.detections()]
        for which, note in (
            (langs.none, "no known language"),
            (langs.doubtful, "which language?"),
        ):
            for i in np.flatnonzero(which).tolist():
                notes[i] = "; ".join(filter(None, (notes[i], note)))
    else:
        only = langs or next(iter(classifier.encoder_.languages), None)
        languages = [*only] if isinstance(only, list) else [only] * len(texts)
    skipped = [i for i, text in enumerate(block.texts) if text is None]
    for i in skipped:
        notes[i] = "unreadable"
    return BlockLabels(found, languages, notes, skipped)


def embedding_identity(
    encoder: SentenceEncoder, lang: str | None, normalize: bool, dtype: RowPrecision
) -> dict[str, Any]:
    """Return what a vector depends on beside its text; ``lang`` is a `checked_language`."""
    return {
        "model": encoder.fingerprint(),
        **found_by(encoder, lang),
        "normalize": normalize,
        "dtype": dtype,
    }


def labelling_identity(classifier: TransferClassifier, lang: str | None) -> dict[str, Any]:
    """Return what a label depends on beside its text; ``lang`` is a `checked_language`."""
    fitted, digest = classifier.fitted, hashlib.sha256()
    langs = sorted({*fitted.adapted, *fitted.calibrated})
    digest.update(repr((fitted.classes, fitted.multi_label, langs)).encode())
    arrays = [fitted.weights, fitted.bias, fitted.prior]
    arrays += [a for lang in langs for a in classifier.weights_for(lang)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return {
        "model": classifier.encoder_.fingerprint(),
        "classifier": digest.hexdigest()[:12],
        "unsure": classifier.unsure,
        **found_by(classifier.encoder_, lang),
    }


def count_empty(vectors: Array) -> int:
    """Return how many of some rows, (n, dim), are zero."""
    rest = vectors[vectors[:, 0] == 0]  # nearly none: the others have a number at once
    return int(np.count_nonzero(~rest.any(axis=1)))


class _Embedding(Job):
    options: EmbedOptions

    def __init__(self, encoder: SentenceEncoder, *args: Any) -> None:
        super().__init__(encoder, *args)
        # Two in turn, one at work and one being written: fresh memory costs as much as the work.
        self._buffers = [np.empty((0, encoder.dim), dtype=np.float32)] * 2

    def identity(self) -> dict[str, Any]:
        how = self.options
        return embedding_identity(self.encoder, self.lang, how.normalize, how.dtype)

    def work(self, block: Block, state: State) -> tuple[Floats, dict[str, Any]]:
        """Return the vectors of a block, (n, dim); a row without text is zero."""
        n = len(block.texts)
        self._buffers.reverse()
        if len(self._buffers[0]) < n:
            self._buffers[0] = np.empty((n, self.encoder.dim), dtype=np.float32)
        vectors = self._buffers[0][:n]
        self.encoder.encode(
            [text or "" for text in block.texts],
            lang=block_languages(
                block, self.encoder, self.lang, self.options.doubts, self.options.n_threads
            ),
            normalize_embeddings=self.options.normalize,
            n_threads=self.options.n_threads,
            out=vectors,
        )
        empty = count_empty(vectors) - block.texts.count(None)
        return vectors, {"empty": state.empty + empty}


class _Labelling(Job):
    options: PredictOptions
    may_be_empty = False

    def __init__(self, classifier: TransferClassifier, source: Source, *args: Any) -> None:
        if not source.fields.whole:
            raise InputError("open the source with whole=True: all columns are written.")
        super().__init__(classifier.encoder_, source, *args)
        if self.options.separator is not None and not classifier.multi_label:
            raise InputError("separator= is for rows with several labels: leave it out.")
        self._classifier, self._separator = classifier, self.options.separator or "|"
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
        done = label_block(self._classifier, block, self.lang, self.options.words)
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
