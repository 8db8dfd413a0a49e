"""Predict a file: its rows, in their order and with their columns, and the predictions beside."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.apply.labelled import block_languages, checked_language
from pmeans.apply.pipeline import SAVE_EVERY, Report, run_to_file, run_to_stream
from pmeans.errors import InputError
from pmeans.rows.fields import BLOCK, Block, Source
from pmeans.rows.partial import State
from pmeans.rows.records import Records, TableFormat, table_writer
from pmeans.transfer import TransferClassifier, WordCount

ADDED = ("label", "probability", "note")
"""Columns of a prediction; ``predicted_`` stands before them if the input has one of these."""


@dataclass(frozen=True)
class PredictOptions:
    """How to predict.

    Attributes:
        lang: Language of all rows, ``"auto"``, or None if a column tells.
        separator: Between the labels of a row, where it may have several; ``|`` if not given.
        words: Counts known and unknown words of the rows of this run.
        batch_size: Rows that are read and predicted together; changes no byte of the output.
        save_every: Seconds between savepoints.
    """

    lang: str | None = None
    separator: str | None = None
    words: WordCount = field(default_factory=WordCount)
    batch_size: int = 4 * BLOCK  # vectors do not stay, so that there is room for more
    save_every: float = SAVE_EVERY


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
    return run_to_file(
        _Labelling(classifier, source, options, keep),
        source,
        out,
        table_writer(out, format),
        n_rows=options.batch_size,
        restart=restart,
        report=report,
        save_every=options.save_every,
    )


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
    options = options or PredictOptions()
    job = _Labelling(classifier, source, options, ())
    writer = table_writer("-", format or "csv")
    return run_to_stream(job, source, stream, writer, n_rows=options.batch_size)


class _Labelling:
    may_be_empty = False

    def __init__(
        self,
        classifier: TransferClassifier,
        source: Source,
        options: PredictOptions,
        keep: tuple[str, ...],
    ) -> None:
        if not source.fields.whole:
            raise InputError("open the source with whole=True: all columns are written.")
        self._lang = checked_language(classifier.encoder, source.fields, options.lang)
        self._classifier, self._separator = classifier, options.separator or "|"
        self._words = options.words
        spaces = (space.path for space in classifier.encoder.spaces.values())
        self.inputs = (*(str(path) for path in spaces if path), *keep)

    def identity(self) -> dict[str, Any]:
        classifier = self._classifier
        fitted, digest = classifier.fitted, hashlib.sha256()
        digest.update(repr((fitted.classes, fitted.multi_label, sorted(fitted.adapted))).encode())
        arrays = [fitted.weights, fitted.bias, fitted.prior]
        arrays += [a for lang in sorted(fitted.adapted) for a in classifier.weights_for(lang)]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).data)
        return {
            "model": classifier.encoder.fingerprint(),
            "classifier": digest.hexdigest()[:12],
            "unsure": classifier.unsure,
            "lang": self._lang,
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
            [text or "" for text in block.texts] if skipped else block.texts,
            lang=block_languages(block, self._lang, self._classifier.encoder),
            words=self._words,
        )
        labels: list[Any] = list(found.labels)
        probabilities: list[Any] = list(found.probabilities)
        if self._classifier.multi_label:
            labels = [self._separator.join(each) for each in labels]
            probabilities = [
                self._separator.join(f"{p:.4f}" for p in each) for each in probabilities
            ]
        else:
            probabilities = [round(p, 4) for p in probabilities]
        unsure = labels.count(None) - sum(labels[i] is None for i in skipped)
        notes = ["unsure" if label is None else "" for label in labels]
        for i in np.flatnonzero(found.empty).tolist():
            notes[i] = "no known word"
        for i in skipped:
            labels[i] = probabilities[i] = None
            notes[i] = "unreadable"
        names = (*block.names, *added)
        cells = [
            [*cells, label, p, note]
            for cells, label, p, note in zip(block.cells, labels, probabilities, notes, strict=True)
        ]
        return Records(names, cells), {
            "columns": state.columns or names,
            "unsure": state.unsure + unsure,
            "empty": state.empty + int(found.empty.sum()) - len(skipped),
        }
