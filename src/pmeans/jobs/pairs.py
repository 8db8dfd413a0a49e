"""Pairs of lines that translate each other become files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pmeans.errors import InputError
from pmeans.files import replacing
from pmeans.outputs import check_output, is_stream, place_of
from pmeans.search import Mined
from pmeans.tables.journal import open_partial, own_paths
from pmeans.tables.writers import Records, table_writer

COLUMNS = ("score", "cosine", "first_row", "second_row", "first", "second")
"""Of a table of pairs."""


def check_pair_outputs(
    out: str | Path, report: str | Path | None, inputs: Iterable[str | Path]
) -> None:
    """Refuse outputs of `write_pairs` that would overwrite something, before any work is done."""
    read = list(inputs)
    for path in (None if out == "-" else out, *(own_paths(Path(report)) if report else ())):
        if path is not None:
            check_output(path, read)
    if report is not None:
        table_writer(report)
        if is_stream(report):
            raise InputError(f"{str(report)!r} is a stream: name a file for the report.")
        if out != "-" and place_of(out).resolve() == place_of(report).resolve():
            raise InputError(f"both outputs are {str(out)!r}: choose another name for one.")


def write_pairs(
    mined: Mined,
    first: Sequence[str],
    second: Sequence[str],
    out: str | Path,
    report: str | Path | None = None,
) -> None:
    """Write pairs as `pmeans extend` reads them, and a table with their scores.

    Args:
        mined: The pairs.
        first: The texts that their first numbers count.
        second: Those of the second.
        out: Two columns with a tab between them, in the order of the first texts; white space
            within a text becomes single spaces. ``-`` is standard output.
        report: A ``.csv``, ``.tsv``, ``.jsonl`` or ``.parquet`` with a row for each pair, the best
            first.
    """
    if report is not None:
        rows = [
            (round(p.score, 4), round(p.cosine, 4), p.first, p.second, first[p.first],
             second[p.second])
            for p in mined.pairs
        ]  # fmt: skip
        writer, target = table_writer(report), place_of(report)
        with open_partial(target, {}) as partial:
            partial.resume(restart=True)
            writer.begin(partial.file, COLUMNS)
            writer.append(partial.file, Records(COLUMNS, rows, ()), 0)
            writer.finish(partial.file, partial.path, target, len(rows))
            partial.discard()
    ordered = sorted(mined.pairs, key=lambda pair: pair.first)
    lines = ((first[pair.first], second[pair.second]) for pair in ordered)
    written = "".join("\t".join(" ".join(x.split()) for x in line) + "\n" for line in lines)
    if out == "-":
        sys.stdout.write(written)
        return
    with replacing(out) as file:
        file.write(written.encode("utf-8"))
