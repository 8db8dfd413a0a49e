"""A file without its duplicates, and a report of what was taken away.

The file is read twice, or three times with a report: first to compare its rows, whose texts do not
stay in memory, then to write those that stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from pmeans.choices import TableFormat
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.jobs.files import SAVE_EVERY, fields_of
from pmeans.jobs.options import DedupeOptions, spread
from pmeans.jobs.resumable import Job, run
from pmeans.jobs.rows import block_languages
from pmeans.languages.resolution import Doubts, language_of_rows
from pmeans.outputs import check_output, place_of
from pmeans.search import Duplicates
from pmeans.search.duplicates import DuplicateFinder
from pmeans.tables import open_source
from pmeans.tables.fields import BLOCK, Block, Place, Source
from pmeans.tables.journal import State
from pmeans.tables.writers import Records, table_writer

CLOSEST = 100
"""Pairs of rows that stay, which a report ends with."""
COLUMNS = ("group", "row", "removed", "nearest_row", "cosine", "text", "nearest_text")
"""Of a report."""


@spread(DedupeOptions)
def dedupe_to_file(
    encoder: SentenceEncoder,
    source: str | Path | Source,
    out: str | Path | IO[bytes],
    *,
    options: DedupeOptions,
    format: TableFormat | None = None,  # noqa: A002 - what everyone calls it
    groups: str | Path | None = None,
    report: Callable[[Place], object] = lambda place: None,
    keep: tuple[str, ...] = (),
    doubts: Doubts | None = None,
) -> Duplicates:
    """Write the rows of a file that say what no earlier row says.

    A row that cannot be read, where such rows are skipped, stays.

    Args:
        encoder: What turns sentences into vectors.
        source: A file with the rows, or a source that was opened with the same columns, and whole.
        out: ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet``; a stream gets CSV unless the format
            says otherwise.
        options: What a duplicate is; their fields are keywords as well.
        format: Format of the output, if its name does not show it.
        groups: A table to write as well, with a row for each one that was taken away, and for the
            closest ones that stay: the row that stays for its group, its own number (from 0),
            whether it was removed, the earlier row that it is nearest to, their cosine and texts.
        report: Called with how far the rows are compared.
        keep: Further files and folders that must not be overwritten, such as the model's.
        doubts: Counts rows whose language was looked for, and in doubt.
    """
    if not isinstance(source, Source):
        fields = fields_of(options, encoder.languages, whole=True)
        source = open_source(source, fields, lang=options.lang)
    if not source.files:
        raise InputError(f"{source.name} can be read once only, and is read twice: name a file.")
    writer = table_writer(out, format)
    details = table_writer(groups) if groups is not None else None
    job = _Selecting(encoder, source, options, keep)
    outputs = [each for each in (out, groups) if isinstance(each, str | Path)]
    for path in outputs:
        check_output(path, job.inputs)
    if len({place_of(path).resolve() for path in outputs}) < len(outputs):
        raise InputError(f"both outputs are {str(out)!r}: choose another name for one.")
    job.found = _compared(encoder, source, options, doubts or Doubts(), report)
    if groups is not None and details is not None:
        lines = _Reporting(encoder, source, options, keep)
        lines.found = job.found
        run(lines, groups, details, restart=True, report=lambda state: None)
    run(job, out, writer, restart=True, report=lambda state: None)
    return job.found


def _compared(
    encoder: SentenceEncoder,
    source: Source,
    options: DedupeOptions,
    doubts: Doubts,
    report: Callable[[Place], object],
) -> Duplicates:
    """Read all rows, and compare them."""
    code = language_of_rows(encoder, options.lang, source.fields.lang_column)
    finder = DuplicateFinder(
        encoder, options.threshold, options.across, options.approximate, options.n_threads
    )
    for block in source.blocks():
        finder.add(block.texts, block_languages(block, encoder, code, doubts, options.n_threads))
        report(block.place)
    return finder.result()


class _Selecting(Job):
    """Writes the rows that stay, as they are."""

    may_be_empty = False
    found: Duplicates

    def __init__(
        self,
        encoder: SentenceEncoder,
        source: Source,
        options: DedupeOptions,
        keep: tuple[str, ...],
    ) -> None:
        super().__init__(encoder, source, options.lang, keep, BLOCK, SAVE_EVERY)

    def identity(self) -> dict[str, Any]:
        return {"rows": hashlib.sha256(self.found.representatives.tobytes()).hexdigest()[:12]}

    def work(self, block: Block, state: State) -> tuple[Records, dict[str, Any]]:
        numbers = range(state.rows, state.rows + len(block.texts))
        of_block = self.found.representatives[state.rows : state.rows + len(block.texts)]
        cells = [block.cells[i] for i in np.flatnonzero(of_block == np.array(numbers)).tolist()]
        return Records(block.names, cells, ()), {"columns": state.columns or tuple(block.names)}


class _Reporting(_Selecting):
    """Writes what was taken away, and the closest rows that were not."""

    def identity(self) -> dict[str, Any]:
        return {**super().identity(), "report": len(COLUMNS)}

    def work(self, block: Block, state: State) -> tuple[Records, dict[str, Any]]:
        found, lines = self.found, []
        if not state.rows:
            wanted = {pair.row for pair in found.closest(CLOSEST)}
            self._removed = found.representatives != np.arange(len(found.representatives))
            self._listed = self._removed.copy()
            self._listed[[*wanted]] = True
            self._needed = {*found.nearest[self._listed].tolist()}
            self._texts: dict[int, str] = {}
        for row, text in enumerate(block.texts, state.rows):
            if row in self._needed:
                self._texts[row] = text or ""
            if self._listed[row]:
                nearest = int(found.nearest[row])
                lines.append((
                    int(found.representatives[row]), row, bool(self._removed[row]), nearest,
                    round(float(found.cosines[row]), 4), text or "", self._texts[nearest],
                ))  # fmt: skip
        return Records(COLUMNS, lines, ()), {"columns": COLUMNS}
