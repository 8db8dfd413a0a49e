"""Texts, labels and languages from the columns of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmeans.embedding.inputs import InputFormat, open_source
from pmeans.embedding.rows import Fields, OnError, Row, Source
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError, LanguageError
from pmeans.transfer import identify
from pmeans.transfer.labels import Label

AUTO = "auto"
"""In place of a language: tell it from each text."""


@dataclass(frozen=True)
class Columns:
    """Where a file has what, and what to do with a row that has it not.

    Attributes:
        text: Name of the column with the texts.
        label: Name of the column with the labels, if they are read.
        lang: Language of all rows, or `AUTO`.
        lang_column: Name of the column with the languages, if it is that which tells.
        separator: Splits the label column into several labels, if given.
        on_error: ``"fail"`` stops at a row that cannot be read, ``"skip"`` counts it.
        format: Of the file, if its name does not tell.
    """

    text: str = "text"
    label: str | None = None
    lang: str | None = None
    lang_column: str | None = None
    separator: str | None = None
    on_error: OnError = "fail"
    format: InputFormat | None = None

    def fields(self, encoder: PowerMeanEncoder) -> Fields:
        """Return the same as a reader of rows needs it, checked against the encoder."""
        covered = ", ".join(encoder.languages) or "any language"
        if self.lang and self.lang_column:
            raise InputError("--lang and --lang-column exclude each other: leave one out.")
        if not self.lang and not self.lang_column and len(encoder.languages) > 1:
            raise LanguageError(
                f"which language? {encoder.name!r} covers {covered}: say --lang or --lang-column."
            )
        if (
            self.lang not in (None, AUTO)
            and encoder.languages
            and self.lang not in encoder.languages
        ):
            raise LanguageError(f"no language {self.lang!r}: {encoder.name!r} covers {covered}.")
        return Fields(
            self.text,
            self.lang_column,
            encoder.languages,
            self.on_error,
            whole=True,
            label=self.label,
            text_option="--text",
        )

    def languages(self, rows: Sequence[Row], encoder: PowerMeanEncoder) -> str | list[str] | None:
        """Return the language of all rows, or one for each."""
        if self.lang == AUTO:
            return identify([row.text or "" for row in rows], encoder.languages)
        if self.lang_column:
            return [row.lang or "" for row in rows]
        return self.lang


@dataclass(frozen=True)
class LabelledRows:
    """What a classifier learns from, or is evaluated on; ``skipped`` rows could not be read."""

    texts: list[str]
    labels: list[Label]
    lang: str | list[str] | None
    skipped: int


def open_rows(path: str | Path, columns: Columns, encoder: PowerMeanEncoder) -> Source:
    """Open a file of rows with columns."""
    return open_source(path, columns.fields(encoder), format=columns.format)


def read_labelled(path: str | Path, columns: Columns, encoder: PowerMeanEncoder) -> LabelledRows:
    """Read all labelled rows of a file."""
    fields = columns.fields(encoder)
    kept: list[Row] = []
    labels: list[Label] = []
    skipped = 0
    for row in open_rows(path, columns, encoder).rows(0, 0, 0):
        text = row.text
        if text is not None:
            try:
                labels.append(_label(row.record.get(columns.label or ""), columns.separator))
                kept.append(row)
                continue
            except ValueError as error:
                fields.unreadable(error, f"{path}, line {row.line:,}")
        skipped += 1
    if not kept:
        lost = f", and {skipped:,} rows could not be read" if skipped else ""
        raise InputError(f"{path}: no rows to learn from or to compare with{lost}.")
    lang = columns.languages(kept, encoder)
    return LabelledRows([row.text or "" for row in kept], labels, lang, skipped)


def _label(value: Any, separator: str | None) -> Label:
    """Return the label in a cell, or the labels; numbers, as tables have them, become strings."""
    if separator is not None or isinstance(value, list):
        parts = value if isinstance(value, list) else str(value or "").split(separator)
        return tuple(name for part in parts if (name := str(part).strip()))
    name = "" if value is None else str(value).strip()
    if not name:
        raise ValueError("no label")
    return name


def read_adaptation(
    given: str, encoder: PowerMeanEncoder, lang: str | None
) -> tuple[list[str], str | None]:
    """Read unlabelled text, a sentence a line, and tell its language.

    Args:
        given: ``CODE=FILE``, or a file; then a code among the parts of its name tells, as in
            ``unlabelled.de.txt``.
        encoder: Whose languages they are.
        lang: The language if neither tells.
    """
    code, equals, path = given.partition("=")
    if not equals or code not in encoder.languages:
        path = given
        parts = [part for part in Path(path).name.split(".") if part in encoder.languages]
        code = parts[-1] if parts else ("" if lang in (None, AUTO) else str(lang))
    if not code and len(encoder.languages) > 1:
        raise InputError(
            f"which language has {given!r}? Say it in front, as in "
            f"--adapt {encoder.languages[0]}={given}."
        )
    rows = open_source(path, format="txt").rows(0, 0, 0)
    texts = [row.text for row in rows if row.text]
    if not texts:
        raise InputError(f"{path}: no text to adapt to.")
    return texts, code or None
