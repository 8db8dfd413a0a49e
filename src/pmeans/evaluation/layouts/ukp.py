"""The argumentation tasks as the paper's authors publish them.

One sentence a line, tokenised and lowercased, in one file a language; one label a line in a file
that all languages share. Every token carries its language (``claim_en``), which is cut off: a word
space adds its own suffix where it has one. Rows stay in the order of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pmeans.errors import FormatError
from pmeans.evaluation.layouts.opening import read_lines
from pmeans.evaluation.layouts.task import Labelled, Parts, Task


def read(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read the sentences of some languages beside the labels of all."""
    labels_path, labels = next(read_lines(task, f, root) for f in task.files if not f.lang)
    found: dict[str, Parts] = {}
    for file in task.files:
        if file.lang not in languages:
            continue
        path, lines = read_lines(task, file, root)
        if len(lines) != len(labels):
            raise FormatError(
                f"{path} has {len(lines):,} sentences and {labels_path} has {len(labels):,} "
                "labels: they must go together line by line."
            )
        sentences = without_suffix(lines, file.lang)
        found[file.lang] = {
            "all": [
                Labelled(sentence, label.strip(), f"{labels_path}, line {n:,}")
                for n, (sentence, label) in enumerate(zip(sentences, labels, strict=True), 1)
            ]
        }
    return found


def without_suffix(sentences: Sequence[str], lang: str) -> list[str]:
    """Return sentences with single spaces, and without ``_lang`` if every token has it."""
    tokens = [sentence.split() for sentence in sentences]
    suffix = f"_{lang}"
    if all(len(t) > len(suffix) and t.endswith(suffix) for each in tokens for t in each):
        tokens = [[token.removesuffix(suffix) for token in each] for each in tokens]
    return [" ".join(each) for each in tokens]
