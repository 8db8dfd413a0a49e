"""A user's own task: CSV, TSV or JSON lines with a text, a label and perhaps a language column.

The extension tells the format, ``.gz`` behind it or not. CSV may quote, also over several lines;
TSV knows no quotes; a label in JSON lines is a string, a whole number, ``true`` or ``false``.
Blank lines are no rows. A column that is missing or there twice, a row with too few fields, a text
without words and a language that the task does not list are errors that name file and line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pmeans.errors import FormatError, did_you_mean
from pmeans.evaluation.dataset import TaskPart
from pmeans.evaluation.layouts.opening import check, find, read_text
from pmeans.evaluation.layouts.task import File, Labelled, Parts, Task
from pmeans.text import tokenize

_Records = Iterator[tuple[int, Mapping[str, object]]]


def read(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read the rows of some languages."""
    found: dict[str, dict[TaskPart, list[Labelled]]] = {lang: {} for lang in languages}
    for file in task.files:
        if file.lang and file.lang not in found:
            continue
        path = find(task, file, root)
        text, data = read_text(file, path)
        rows = 0
        for line, record in _records(path, text, _columns(task, file)):
            rows += 1
            lang, row = _row(task, file, record, f"{path}, line {line:,}")
            if lang in found:
                found[lang].setdefault(file.part, []).append(row)
        check(task, file, path, data, rows)
    for lang, parts in found.items():
        if not parts:
            files = ", ".join(file.path for file in task.files)
            raise FormatError(f"task {task.name}: no rows of language {lang!r} in {files}.")
    return dict(found)


def _columns(task: Task, file: File) -> tuple[str, ...]:
    return (task.text, task.label) if file.lang else (task.text, task.label, task.lang)


def _row(task: Task, file: File, record: Mapping[str, object], where: str) -> tuple[str, Labelled]:
    text, label = record[task.text], record[task.label]
    lang = file.lang or record[task.lang]
    if not isinstance(text, str):
        raise FormatError(f"{where}: the text is not a string: {text!r:.60}.")
    if not isinstance(label, str | int) or label == "":
        raise FormatError(f"{where}: {label!r:.60} is no label: use a string or a whole number.")
    if lang not in task.languages or not isinstance(lang, str):
        raise FormatError(
            f"{where}: language {lang!r:.60} is none of the task's: {', '.join(task.languages)}."
        )
    sentence = " ".join(tokenize(text, task.tokenizer, lang))
    if not sentence:
        raise FormatError(f"{where}: a text without words. Fill it in, or drop the row.")
    name = label if isinstance(label, str) else json.dumps(label)
    return lang, Labelled(sentence, name, where)


def _records(path: Path, text: str, columns: tuple[str, ...]) -> _Records:
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix not in _FORMATS:
        raise FormatError(f"{path}: name it {', '.join(_FORMATS)}, so that its format is known.")
    return _FORMATS[suffix](path, text, columns)


def _table(path: Path, text: str, columns: tuple[str, ...], quoted: bool) -> _Records:
    lines = io.StringIO(text, newline="")
    if quoted:
        reader = csv.reader(lines, strict=True)
    else:
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    try:
        header = next(reader, [])
        for name in columns:
            if header.count(name) != 1:
                there = "is there twice" if name in header else "is missing"
                raise FormatError(
                    f"{path}: the column {name!r} {there}.{did_you_mean(name, header)} "
                    f"The columns are: {', '.join(map(repr, header))}."
                )
        for fields in reader:
            if not fields:
                continue
            if len(fields) != len(header):
                raise FormatError(
                    f"{path}, line {reader.line_num:,}: {len(fields)} fields under "
                    f"{len(header)} columns."
                )
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise FormatError(f"{path}, line {reader.line_num:,}: not valid: {error}.") from error


def _json_lines(path: Path, text: str, columns: tuple[str, ...]) -> _Records:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"{path}, line {number:,}: not valid JSON: {error}.") from error
        if not isinstance(record, dict):
            raise FormatError(f"{path}, line {number:,}: expected an object, got {line[:60]!r}.")
        for name in columns:
            if name not in record:
                raise FormatError(
                    f"{path}, line {number:,}: no key {name!r}.{did_you_mean(name, record)}"
                )
        yield number, record


_FORMATS: dict[str, Callable[[Path, str, tuple[str, ...]], _Records]] = {
    ".csv": lambda path, text, columns: _table(path, text, columns, quoted=True),
    ".tsv": lambda path, text, columns: _table(path, text, columns, quoted=False),
    ".jsonl": _json_lines,
}
