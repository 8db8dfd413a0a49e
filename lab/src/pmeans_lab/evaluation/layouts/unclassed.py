"""Sentences without classes: translations line by line, graded pairs, and text held out.

``lines`` is a file per language with one sentence per line, and row i means the same everywhere.
``graded-pairs`` is a table with the columns ``score``, ``first`` and ``second``; its sides become
the parts ``first`` and ``second``, so that the first sentence may be of one language and the
second from another. Text is raw: `pmeans.languages.tokenizers` splits the words, and case is kept.

``held-out-pairs`` is one file of sentence pairs that spaces and models are trained on, in the
languages of the task. Of one source, the pairs are read that every trainer leaves for testing
(`pmeans.training.corpus.split`); where people translate the same sentence again and again, that is
not enough. A pair is taken only if neither of its sentences, whatever their case, is in a training
pair of the file or in an earlier pair of these. 2,000 of them are drawn by their SHA-256. Its
English may still be in the training pairs of another language.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from pmeans.errors import FormatError, shown
from pmeans.languages.tokenizers import tokenize
from pmeans.training import corpus
from pmeans.training.corpus import Pair
from pmeans_lab.evaluation.layouts.task import (
    Labelled,
    Parts,
    Task,
    check,
    find,
    read_bytes,
    read_lines,
)

SAMPLE = 2000
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
            raise FormatError(f"{path}: expected the columns {_HEADER!r}, got {shown(lines[0])}.")
        firsts, seconds = [], []
        for line, at in zip(lines[1:], places[1:], strict=True):
            try:
                grade, first, second = line.split("\t")
                float(grade)
            except ValueError:
                raise FormatError(
                    f"{at}: not a grade and two sentences: {shown(line, 60)}."
                ) from None
            firsts.append(_labelled(first, grade, file.lang, at))
            seconds.append(_labelled(second, grade, file.lang, at))
        found[file.lang] = {"first": firsts, "second": seconds}
    return found


def read_held_out(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read a sample of the pairs that nothing is trained on."""
    [file] = task.files
    path = find(task, file, root)
    pairs = corpus.read_pairs(path)
    check(task, file, path, read_bytes(path), len(pairs))
    parts = corpus.split(pairs)
    drawn = select([pair for pair in parts["test"] if pair.source == file.source], parts["train"])
    if not drawn:
        raise FormatError(f"{path}: no pairs of {file.source!r} that are not trained on.")
    sides = ([pair.first for pair in drawn], [pair.second for pair in drawn])
    return {
        lang: {"test": [_labelled(text, "0", lang, str(path)) for text in texts]}
        for lang, texts in zip(task.languages, sides, strict=True)
        if lang in languages
    }


def select(pairs: Sequence[Pair], trained: Sequence[Pair], most: int = SAMPLE) -> list[Pair]:
    """Draw pairs of which no sentence is trained on or there twice; they keep their order."""
    firsts = {pair.first.lower() for pair in trained}
    seconds = {pair.second.lower() for pair in trained}
    fresh = []
    for pair in pairs:
        first, second = pair.first.lower(), pair.second.lower()
        if first not in firsts and second not in seconds:
            fresh.append(pair)
            firsts.add(first)
            seconds.add(second)

    def digest(i: int) -> bytes:
        text = f"{fresh[i].first}\t{fresh[i].second}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    return [fresh[i] for i in sorted(sorted(range(len(fresh)), key=digest)[:most])]


def _labelled(text: str, label: str, lang: str, where: str) -> Labelled:
    return Labelled(" ".join(tokenize(text, "words", lang)), label, where)
