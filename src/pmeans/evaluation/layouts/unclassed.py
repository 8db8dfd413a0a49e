"""Sentences without classes: translations line by line, and graded pairs.

``lines`` is a file per language with one sentence per line, and row i means the same everywhere.
``graded-pairs`` is a table with the columns ``score``, ``first`` and ``second``; its sides become
the parts ``first`` and ``second``, so that the first sentence may be of one language and the
second from another. Text is raw: `pmeans.text` splits the words, and case is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pmeans.errors import FormatError
from pmeans.evaluation.layouts.task import Labelled, Parts, Task, read_lines
from pmeans.text import tokenize

_HEADER = "score\tfirst\tsecond"


def read(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read some languages; a label is a grade, or 0 where there is none."""
    found: dict[str, Parts] = {}
    for file in (file for lang in languages for file in task.files if file.lang == lang):
        path, lines = read_lines(task, file, root)
        places = [f"{path}, line {number:,}" for number in range(1, len(lines) + 1)]
        if task.layout == "lines":
            rows = zip(lines, places, strict=True)
            found[file.lang] = {"test": [_labelled(text, "0", file.lang, at) for text, at in rows]}
            continue
        if lines[0] != _HEADER:
            raise FormatError(f"{path}: expected the columns {_HEADER!r}, got {lines[0]!r}.")
        firsts, seconds = [], []
        for line, at in zip(lines[1:], places[1:], strict=True):
            try:
                grade, first, second = line.split("\t")
                float(grade)
            except ValueError:
                raise FormatError(f"{at}: not a grade and two sentences: {line[:60]!r}.") from None
            firsts.append(_labelled(first, grade, file.lang, at))
            seconds.append(_labelled(second, grade, file.lang, at))
        found[file.lang] = {"first": firsts, "second": seconds}
    return found


def _labelled(text: str, label: str, lang: str, where: str) -> Labelled:
    return Labelled(" ".join(tokenize(text, "words", lang)), label, where)
