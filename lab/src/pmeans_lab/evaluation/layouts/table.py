"""A user's own task: a table with a text, a label and perhaps a language column.

It is any file that `pmeans.tables` reads: CSV, TSV, JSON lines or Parquet, by its name. A label is
a string, a whole number, ``true`` or ``false``. Blank lines are not rows. A column that is missing
or there twice, a row with too few cells, a text without words and a language that the task does not
list are errors that name file and line.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pmeans.errors import FormatError
from pmeans.languages.tokenizers import tokenize
from pmeans.tables import Fields, open_source
from pmeans_lab.evaluation.dataset import TaskPart
from pmeans_lab.evaluation.layouts.task import Labelled, Parts, Task, check, find, read_text


def read(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read the rows of some languages."""
    found: dict[str, dict[TaskPart, list[Labelled]]] = {lang: {} for lang in languages}
    for file in task.files:
        if file.lang and file.lang not in found:
            continue
        path = find(task, file, root)
        column = None if file.lang else task.lang
        fields = Fields(task.text, column, task.label, tuple(task.languages), whole=True)
        source = open_source(path, fields, encoding=file.encoding)
        rows = 0
        for block in source.blocks():
            langs = block.langs or [file.lang] * len(block.texts)
            cells = zip(block.texts, langs, block.labels or (), block.lines, strict=True)
            for text, lang, label, line in cells:
                rows += 1
                where = f"{path}, {source.unit} {line:,}"
                row = _row(task, text or "", str(lang), label, where)
                if lang in found:
                    found[lang].setdefault(file.part, []).append(row)
        _, data = read_text(file, path)
        check(task, file, path, data, rows)
    for lang, parts in found.items():
        if not parts:
            files = ", ".join(file.path for file in task.files)
            raise FormatError(f"task {task.name}: no rows of language {lang!r} in {files}.")
    return dict(found)


def _row(task: Task, text: str, lang: str, label: object, where: str) -> Labelled:
    if not isinstance(label, str | int) or label == "":
        raise FormatError(f"{where}: {label!r:.60} is not a label: use a string or a whole number.")
    sentence = " ".join(tokenize(text, task.tokenizer, lang))
    if not sentence:
        raise FormatError(f"{where}: a text without words. Fill it in, or drop the row.")
    return Labelled(sentence, label if isinstance(label, str) else json.dumps(label), where)
