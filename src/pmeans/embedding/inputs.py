"""Open an input by its name: ``-`` is standard input, else the extension tells the format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, get_args

from pmeans.embedding.parquet import ParquetSource
from pmeans.embedding.rows import Fields, Source
from pmeans.embedding.text import TextFormat, TextSource
from pmeans.errors import InputError, StorageError

InputFormat = Literal["txt", "csv", "tsv", "jsonl", "parquet"]


def open_source(
    path: str | Path = "-",
    fields: Fields | None = None,
    *,
    format: InputFormat | None = None,  # noqa: A002 - what everyone calls it
) -> Source:
    """Open a source of sentences.

    Args:
        path: A file, also ``.gz`` for the text formats; ``-`` is standard input.
        fields: Which columns to read; plain text has none.
        format: The format, where the name does not tell; standard input is ``"txt"`` else.
    """
    fields = fields or Fields()
    name = str(path)
    if name != "-":
        _check_readable(Path(path))
    chosen = format or _guess(name)
    if chosen == "parquet":
        if name == "-":
            raise InputError("Parquet cannot be read from standard input: name the file.")
        return ParquetSource(Path(path), fields)
    if chosen == "txt" and fields.lang is not None:
        raise InputError("plain text has no columns: use --lang instead of --lang-column.")
    return TextSource(None if name == "-" else Path(path), chosen, fields)


def _guess(name: str) -> InputFormat:
    suffix = Path(name.removesuffix(".gz")).suffix.removeprefix(".").lower()
    if suffix == "parquet" and not name.endswith(".gz"):
        return "parquet"
    for known in get_args(TextFormat):
        if suffix == known:
            return known
    if name == "-" or not Path(name).is_file():  # standard input, or a pipe with a name
        return "txt"
    raise InputError(
        f"cannot tell the format of {name!r} by its name: say --input-format "
        f"{', '.join(get_args(InputFormat))}."
    )


def _check_readable(path: Path) -> None:
    if not path.exists():
        raise StorageError(f"no file {str(path)!r}.")
    if path.is_dir():
        raise StorageError(f"{str(path)!r} is a folder: name a file in it.")
    if not os.access(path, os.R_OK):
        raise StorageError(f"cannot read {str(path)!r}: permission denied.")
