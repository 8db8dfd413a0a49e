"""The paper's tasks: SentEval's, translations of them, and argumentation (``ukp``).

What moves a digit in ``data/downstream``, all of it as in SentEval of January 2018:

- The class numbered 1 is positive; for SUBJ it is objective.
- Each part is sorted by (number of tokens, number of the class), and rows that tie stay in the
  order of their file. Folds and minibatches depend on it.
- A blank line is a sentence without words. It is sorted as one of no tokens, and then becomes
  ``.``, as in the batchers of SentEval's examples.
- TREC is ``COARSE:fine Question ?`` in latin-1, and its coarse class counts. SST is the sentence,
  a tab and the label.

Translations lie in ``Translated-Datasets/<lang>/<TASK>/`` under SentEval's file names, line for
line, in UTF-8. The folders below that name are our assumption: the authors' collection was never
public in a form that could be looked at. Their rows take the order of the English rows, so that
row i is the same sentence everywhere, and tokens lose ``_de`` or ``_fr`` where all have it.

The argumentation tasks are as the paper's authors publish them: one sentence per line, tokenised
and lowercased, in one file per language; one label per line in a file that all languages share.
Every token carries its language (``claim_en``), which is cut off: a word space adds its own suffix
where it has one. Rows stay in the order of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pmeans.errors import FormatError
from pmeans_lab.evaluation.dataset import TaskPart
from pmeans_lab.evaluation.layouts.task import File, Labelled, Parts, Task, read_lines

_Parse = Callable[[str, File], tuple[str, str]]
_ORIGINAL = "en"


def read(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
    """Read some languages, in the order of the English rows."""
    parse = _PARSERS[task.layout]
    original = _read_language(task, root, _ORIGINAL, parse)
    orders = {part: _order(task, rows) for part, rows in original.items()}
    found: dict[str, Parts] = {}
    for lang in languages:
        parts = original if lang == _ORIGINAL else _read_language(task, root, lang, parse)
        for part, order in orders.items():
            if len(parts.get(part, ())) != len(order):
                raise FormatError(
                    f"task {task.name}: {lang!r} has {len(parts.get(part, ())):,} rows of the part "
                    f"{part!r}, and {_ORIGINAL!r} has {len(order):,}: translate line by line."
                )
        found[lang] = {
            part: [_with_words(parts[part][i]) for i in order] for part, order in orders.items()
        }
    return found


def _read_language(
    task: Task, root: Path, lang: str, parse: _Parse
) -> dict[TaskPart, list[Labelled]]:
    parts: dict[TaskPart, list[Labelled]] = {}
    for file in task.files:
        if file.lang != lang:
            continue
        path, lines = read_lines(task, file, root)
        rows = []
        for number, line in enumerate(lines, 1):
            where = f"{path}, line {number:,}"
            try:
                rows.append(Labelled(*parse(line, file), where))
            except ValueError:
                raise FormatError(f"{where}: no label and sentence in {line[:60]!r}.") from None
        sentences = without_suffix([row.sentence for row in rows], lang)
        parts.setdefault(file.part, []).extend(
            row._replace(sentence=s) for row, s in zip(rows, sentences, strict=True)
        )
    return parts


def _order(task: Task, rows: Sequence[Labelled]) -> list[int]:
    """Return the rows by (number of tokens, number of the class); an unknown class comes last."""
    numbers = {label: number for number, label in enumerate(task.classes)}

    def key(i: int) -> tuple[int, int]:
        return len(rows[i].sentence.split()), numbers.get(rows[i].label, len(numbers))

    return sorted(range(len(rows)), key=key)


def _with_words(row: Labelled) -> Labelled:
    return row if row.sentence else row._replace(sentence=".")


def _trec(line: str, file: File) -> tuple[str, str]:
    label, rest = line.split(":", 1)
    return rest.partition(" ")[2], label


def _sst(line: str, file: File) -> tuple[str, str]:
    sentence, label = line.split("\t")
    return sentence, label.strip()


_PARSERS: dict[str, _Parse] = {
    "senteval-binary": lambda line, file: (line, file.label),
    "senteval-trec": _trec,
    "senteval-sst": _sst,
}


def read_ukp(task: Task, root: Path, languages: Sequence[str]) -> dict[str, Parts]:
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
