"""Predict a file: its rows, in their order and with their columns, and the predictions beside."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.apply.labelled import block_languages
from pmeans.apply.pipeline import Job, JobOptions, Report, run_to_file, run_to_stream
from pmeans.errors import InputError
from pmeans.rows.fields import BLOCK, Block, Source
from pmeans.rows.partial import State
from pmeans.rows.writers import Records, TableFormat, table_writer
from pmeans.transfer import TransferClassifier, WordCount

ADDED = ("label", "probability", "note")
"""Columns of a prediction; ``predicted_`` stands before them if the input has one of these."""


@dataclass(frozen=True)
class PredictOptions(JobOptions):
    """How to predict.

    Attributes:
        separator: Between the labels of a row, where it may have several; ``|`` if not given.
        words: Counts known and unknown words of the rows of this run.
    """

    batch_size: int = 4 * BLOCK  # vectors do not stay, so that there is room for more
    separator: str | None = None
    words: WordCount = field(default_factory=WordCount)


def predict_to_file(
    classifier: TransferClassifier,
    source: Source,
    out: str | Path,
    options: PredictOptions | None = None,
    *,
    format: TableFormat | None = None,  # noqa: A002 - what everyone calls it
    restart: bool = False,
    report: Report = lambda state: None,
    keep: tuple[str, ...] = (),
) -> State:
    """Predict every row of a source into a file, resuming where an earlier run was stopped.

    A note says why a row has no label of its own making: ``unsure``, ``no known word`` (the label
    is then the commonest of training), or ``unreadable``.

    Args:
        classifier: What predicts.
        source: The rows, opened with all their columns.
        out: Where to write: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``.
        options: How to predict.
        format: Of the output, where the name does not tell.
        restart: Discard what an earlier run did.
        report: Called at the start, and after each block.
        keep: Further files and folders that must not be overwritten, such as the classifier's.
    """
    options = options or PredictOptions()
    job = _Labelling(classifier, source, options, keep)
    return run_to_file(job, out, table_writer(out, format), restart=restart, report=report)


def predict_to_stream(
    classifier: TransferClassifier,
    source: Source,
    stream: IO[bytes],
    options: PredictOptions | None = None,
    *,
    format: TableFormat | None = None,  # noqa: A002
) -> State:
    """Predict every row of a source into a stream, as CSV if nothing else is asked for."""
    if format == "parquet":
        raise InputError("Parquet cannot be written to a stream: take csv, or name a file.")
    job = _Labelling(classifier, source, options or PredictOptions())
    return run_to_stream(job, stream, table_writer("-", format or "csv"))


class _Labelling(Job):
    may_be_empty = False

    def __init__(
        self,
        classifier: TransferClassifier,
        source: Source,
        options: PredictOptions,
        keep: tuple[str, ...] = (),
    ) -> None:
        if not source.fields.whole:
            raise InputError("open the source with whole=True: all columns are written.")
        super().__init__(classifier.encoder, source, options, keep)
        self._classifier, self._words = classifier, options.words
        self._separator = options.separator or "|"

    def identity(self) -> dict[str, Any]:
        fitted, digest = self._classifier.fitted, hashlib.sha256()
        digest.update(repr((fitted.classes, fitted.multi_label, sorted(fitted.adapted))).encode())
        arrays = [fitted.weights, fitted.bias, fitted.prior]
        arrays += [a for lang in sorted(fitted.adapted) for a in classifier.weights_for(lang)]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return {
            "model": self.encoder.fingerprint(),
            "classifier": digest.hexdigest()[:12],
            "unsure": self._classifier.unsure,
            "lang": self.lang,
            "separator": self._separator,
        }

    def work(self, block: Block, state: State) -> tuple[Records, dict[str, Any]]:
        """Return the rows of a block with their predictions, and what there is to count."""
        added = state.columns[-len(ADDED) :]
        if not added:
            taken = not set(ADDED).isdisjoint(block.names)
            added = tuple(f"predicted_{name}" for name in ADDED) if taken else ADDED
        skipped = [i for i, text in enumerate(block.texts) if text is None]
        found = self._classifier.classify(
            [text or "" for text in block.texts],
            lang=block_languages(block, self.lang, self.encoder),
            words=self._words,
        )
        labels: list[Any] = list(found.labels)
        probabilities: list[Any] = [
            round(p, 4) if isinstance(p, float) else self._separator.join(f"{x:.4f}" for x in p)
            for p in found.probabilities
        ]
        if self._classifier.multi_label:
            labels = list(map(self._separator.join, labels))
        unsure = labels.count(None) - sum(labels[i] is None for i in skipped)
        notes = ["unsure" if label is None else "" for label in labels]
        for i in np.flatnonzero(found.empty).tolist():
            notes[i] = "no known word"
        for i in skipped:
            labels[i] = probabilities[i] = None
            notes[i] = "unreadable"
        names = (*block.names, *added)
        columns = zip(block.cells, labels, probabilities, notes, strict=True)
        cells = [[*cells, *prediction] for cells, *prediction in columns]
        return Records(names, cells), {
            "columns": state.columns or names,
            "unsure": state.unsure + unsure,
            "empty": state.empty + int(found.empty.sum()) - len(skipped),
        }
