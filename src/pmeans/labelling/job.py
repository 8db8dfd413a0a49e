"""Predict a file: its rows, in their order and with their columns, and the predictions beside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from pmeans.embedding.rows import Row
from pmeans.errors import InputError
from pmeans.files import replacing
from pmeans.labelling.inputs import Columns, open_rows
from pmeans.labelling.tables import table_format, table_writer
from pmeans.transfer import TransferClassifier, WordCount

_BLOCK = 4096
ADDED = ("label", "probability", "note")
"""Columns of a prediction; ``predicted_`` stands before them if the input has one of these."""


@dataclass
class Counts:
    """Of the rows of a file: all, those in doubt, and the words of those that were read."""

    rows: int = 0
    skipped: int = 0
    empty: int = 0
    unsure: int = 0
    words: WordCount = field(default_factory=WordCount)


def predict_file(
    classifier: TransferClassifier,
    path: str | Path,
    out: str | Path,
    columns: Columns,
    report: Callable[[Counts], object] = lambda counts: None,
) -> Counts:
    """Predict every row of a file into another file.

    A note says why a row has no label of its own making: ``unsure``, ``no known word`` (the label
    is then the commonest of training), or ``unreadable``.

    Args:
        classifier: What predicts.
        path: The rows.
        out: Where to write: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``.
        columns: Where the rows have their text and language.
        report: Called after each block.
    """
    writer = table_writer(table_format(out))
    rows = open_rows(path, columns, classifier.encoder).rows(0, 0, 0)
    counts = Counts()
    added: tuple[str, ...] = ()
    with replacing(out) as file, contextlib.closing(writer):
        while block := list(islice(rows, _BLOCK)):
            if not added:
                taken = any(name in row.record for row in block for name in ADDED)
                added = tuple(f"predicted_{name}" for name in ADDED) if taken else ADDED
            predictions = _predicted(classifier, block, columns, counts)
            writer.write(
                file,
                [
                    {**row.record, **dict(zip(added, values, strict=True))}
                    for row, values in zip(block, predictions, strict=True)
                ],
            )
            report(counts)
        if not counts.rows:
            raise InputError(f"{path}: no rows to predict.")
    return counts


def _predicted(
    classifier: TransferClassifier, block: list[Row], columns: Columns, counts: Counts
) -> list[tuple[object, object, str]]:
    """Return label, probability and note of each row."""
    readable = [i for i, row in enumerate(block) if row.text is not None]
    kept = [block[i] for i in readable]
    found = classifier.classify(
        [row.text for row in kept],
        lang=columns.languages(kept, classifier.encoder) if kept else None,
        words=counts.words,
    )
    rows: list[tuple[object, object, str]] = [(None, None, "unreadable")] * len(block)
    for i, label, p, empty in zip(
        readable, found.labels, found.probabilities, found.empty, strict=True
    ):
        note = "no known word" if empty else "unsure" if label is None else ""
        rows[i] = (*_cells(label, p, columns.separator or "|"), note)
    counts.rows += len(block)
    counts.skipped += len(block) - len(kept)
    counts.empty += int(found.empty.sum())
    counts.unsure += sum(label is None for label in found.labels)
    return rows


def _cells(label: object, p: object, separator: str) -> tuple[object, object]:
    """Several labels, and their probabilities, share a cell each."""
    if isinstance(label, tuple) and isinstance(p, tuple):
        return separator.join(label), separator.join(f"{each:.4f}" for each in p)
    return label, round(float(p), 4) if isinstance(p, float) else p
