"""What a classifier learns from, or is compared with: texts, labels and languages of a source."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError, LanguageError, count, shown
from pmeans.languages.codes import language_code
from pmeans.languages.resolution import AUTO, language_of_rows
from pmeans.tables import Fields, Source, open_source, read_lines
from pmeans.tables.fields import Place
from pmeans.transfer.describing import Described
from pmeans.transfer.labels import Label


@dataclass(frozen=True)
class LabelledRows:
    """What a classifier learns from, or is evaluated on; ``skipped`` rows could not be read."""

    texts: list[str]
    labels: list[Label]
    lang: str | list[str] | None
    skipped: int


def read_labelled(
    source: Source,
    encoder: SentenceEncoder,
    lang: str | None = None,
    separator: str | None = None,
    report: Callable[[Place], object] = lambda place: None,
) -> LabelledRows:
    """Read all labelled rows of a source.

    Args:
        source: Opened with the name of the label's column.
        encoder: Whose languages they are.
        lang: Language of all rows; None or `AUTO` if a column tells it, or else to find it.
        separator: Splits the label column into several labels, if given.
        report: Called with how far it is read.
    """
    lang = language_of_rows(encoder, lang, source.fields.lang_column)
    texts: list[str] = []
    labels: list[Label] = []
    langs: list[str] = []
    skipped = 0
    for block in source.blocks():
        codes = block.langs or [None] * len(block.texts)
        rows = zip(block.texts, block.labels or (), codes, block.lines, strict=True)
        for text, value, code, line in rows:
            label = _label(value, separator)
            if text is not None and label is None:
                error = ValueError("no label")
                source.fields.unreadable(error, f"{source.name}, {source.unit} {line:,}")
            if text is None or label is None:
                skipped += 1
                continue
            texts.append(text)
            labels.append(label)
            langs.append(code or "")
        report(block.place)
    if not texts:
        lost = f". Could not read {count(skipped, 'row')}" if skipped else ""
        raise InputError(f"{source.name}: no rows to learn from or to compare with{lost}.")
    has_column = source.fields.lang_column is not None
    return LabelledRows(texts, labels, langs if has_column else lang, skipped)


def _label(value: Any, separator: str | None) -> Label | None:
    """Return the label in a cell, or the labels; numbers, as tables have them, become strings."""
    if separator is not None or isinstance(value, list):
        parts = value if isinstance(value, list) else str(value or "").split(separator)
        return tuple(name for part in parts if (name := str(part).strip()))
    return None if value is None else str(value).strip() or None


def adaptation_file(entry: str, encoder: SentenceEncoder) -> tuple[str, str | None]:
    """Return the file, and the language if it tells one: see `read_adaptation`."""
    code, equals, path = entry.partition("=")
    if equals:
        with contextlib.suppress(LanguageError):  # the name of the file has an equals sign
            return path, language_code(code, encoder.languages)
    parts = [part for part in Path(entry).name.split(".") if part in encoder.languages]
    return entry, parts[-1] if parts else None


def read_adaptation(
    entry: str, encoder: SentenceEncoder, lang: str | None
) -> tuple[list[str], str | None]:
    """Read unlabelled text, a sentence per line, and tell its language.

    Args:
        entry: ``CODE=FILE``, or a file; then a code among the parts of its name tells, as in
            ``unlabelled.de.txt``.
        encoder: Whose languages they are.
        lang: The language if neither tells.
    """
    path, code = adaptation_file(entry, encoder)
    if code is None and lang not in (None, AUTO):
        code = language_code(str(lang), encoder.languages)
    if code is None and len(encoder.languages) > 1:
        raise InputError(
            f"which language has {entry!r}? Say it in front, as in {encoder.languages[0]}={entry}."
        )
    texts = [line for line in read_lines(path, lang=code) if line]
    if not texts:
        raise InputError(f"{path}: no text to adapt to.")
    return texts, code


def read_described(labels_or_file: str) -> Described:
    """Read names with commas between them, or a file with columns ``label`` and ``text``."""
    if not Path(labels_or_file).is_file():
        names = [name.strip() for name in labels_or_file.split(",")]
        if len(names) < 2 or not all(names):
            raise InputError(
                f"labels are names with commas between them, or a file, and "
                f"{shown(labels_or_file)} is neither."
            )
        return names
    described: dict[str, list[str]] = {}
    for block in open_source(labels_or_file, Fields(label="label", whole=True)).blocks():
        for name, text in zip(block.labels or (), block.texts, strict=True):
            described.setdefault(str(name), []).append(text or "")
    return described
