"""Measure which duplicates are found, and how fast, beside semhash.

    pip install semhash
    python studies/duplicates.py DATA > results/duplicates/table.md

What is found. Two English sentences of Tatoeba with the same German translation say the same. Of
2,000 German sentences that have several, two English ones each are taken, equal ones left out, and
6,000 English sentences beside them. A row that is taken away is right if a German sentence
translates it and the row that it is said to repeat. The second of two that say the same is found if
it shares a group with the first. Right rows are more than the table counts: no translation is there
of many sentences that say the same. Across languages, all 1,997 lines of NTREX in English and
German are mixed, and those rows are counted that go for one in the other language: right if it
translates them.

How fast. English sentences of Tatoeba, drawn at random, from texts to texts and with two threads.
All encode with the model in the package, so that only the search differs. Seconds are those of all
threads together, which others at work on the machine change least. Rows that should have gone are
those that stay, although an earlier row that stays has a cosine of at least the threshold.
"""

import gzip
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from semhash import SemHash

import pmeans
from pmeans.search.margins import normalised

THRESHOLDS = (0.8, 0.85, 0.9, 0.95)
SIZES = (10_000, 40_000)
SAME, OTHERS = 2000, 6000
HEAD = """\
# Duplicates

By `python studies/duplicates.py DATA`.

{method}

| | threshold | taken away | precision | recall |
|---|--:|--:|--:|--:|"""
SPEED = """
| rows | | CPU seconds | taken away | should have gone |
|--:|---|--:|--:|--:|"""


def tatoeba(data: Path) -> list[tuple[str, str]]:
    """Return pairs of English and German sentences."""
    with gzip.open(data / "parallel" / "en-de.tsv.gz", "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        return [(row[1], row[2]) for row in rows if row[0] == "tatoeba"]


def ntrex(data: Path, lang: str) -> list[str]:
    """Return all lines of a language."""
    path = data / "tasks" / "ntrex" / "full" / f"{lang}.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def sentences(pairs: Sequence[tuple[str, str]]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return English sentences in random order, and which of them say the same."""
    rng = np.random.default_rng(0)
    of_german: dict[str, list[str]] = defaultdict(list)
    for english, german in pairs:
        if normalised(english) not in map(normalised, of_german[german]):
            of_german[german].append(english)
    several = [english for english in of_german.values() if len(english) > 1]
    drawn = rng.permutation(len(several))[:SAME].tolist()
    same = [(several[i][0], several[i][1]) for i in drawn]
    rest = sorted({english for english, _ in pairs} - {text for pair in same for text in pair})
    others = [rest[i] for i in rng.permutation(len(rest))[:OTHERS].tolist()]
    texts = list(dict.fromkeys([*(text for pair in same for text in pair), *others]))
    return [texts[i] for i in rng.permutation(len(texts)).tolist()], same


def by_pmeans(texts: Sequence[str], threshold: float) -> dict[str, str]:
    """Return what is taken away, and the earlier text that it repeats."""
    found = pmeans.dedupe(texts, lang="en", threshold=threshold)
    gone = np.flatnonzero(found.representatives != np.arange(len(texts))).tolist()
    return {texts[i]: texts[found.nearest[i]] for i in gone}


class English:
    """The model in the package as semhash calls it."""

    def encode(self, inputs: Sequence[str], **_: object) -> np.ndarray:
        """Return rows, (n, dim)."""
        return pmeans.load().encode(list(inputs), lang="en")


def by_semhash(texts: Sequence[str], threshold: float, backend: str = "usearch") -> dict[str, str]:
    """Return what semhash takes away, and one of the texts that stay for it."""
    index = SemHash.from_records(records=list(texts), model=English(), ann_backend=backend)
    found = index.self_deduplicate(threshold=threshold)
    return {gone.record: gone.duplicate_of for gone in found.filtered}


def quality(
    texts: Sequence[str], gone: dict[str, str], pairs: Sequence[tuple[str, str]],
    same: Sequence[tuple[str, str]],
) -> str:  # fmt: skip
    """Return the cells of a line: how many go, precision and recall in per cent."""
    of_english: dict[str, set[str]] = defaultdict(set)
    for english, german in pairs:
        of_english[english].add(german)
    right = sum(bool(of_english[one] & of_english[other]) for one, other in gone.items())

    def group(text: str) -> str:
        while text in gone:
            text = gone[text]
        return text

    hits = sum(group(one) == group(other) for one, other in same)
    return f"{len(gone):,} | {100 * right / max(1, len(gone)):.1f} | {100 * hits / len(same):.1f}"


def show_quality(data: Path) -> None:
    """Print what is found in English, and across languages."""
    pairs = tatoeba(data)
    texts, same = sentences(pairs)
    for threshold in THRESHOLDS:
        cells = quality(texts, by_pmeans(texts, threshold), pairs, same)
        print(f"| English | {threshold} | {cells} |")
    cells = quality(texts, by_semhash(texts, 0.9), pairs, same)
    print(f"| English, semhash over our rows | 0.9 | {cells} |")
    english, german = ntrex(data, "en"), ntrex(data, "de")
    mixed = [*((text, "en") for text in english), *((text, "de") for text in german)]
    order = np.random.default_rng(0).permutation(len(mixed)).tolist()
    rows, langs = zip(*(mixed[i] for i in order), strict=True)
    both = {*zip(english, german, strict=True), *zip(german, english, strict=True)}
    for what, across in (("English and German", False), ("the same, translations as well", True)):
        found = pmeans.dedupe(rows, lang=langs, across=across)
        crossing = [
            (rows[i], rows[j])
            for i, j in enumerate(found.nearest.tolist())
            if found.representatives[i] != i and langs[i] != langs[j]
        ]
        right = sum(pair in both for pair in crossing)
        places = {text: found.representatives[i] for i, text in enumerate(rows)}
        hits = sum(places[a] == places[b] for a, b in zip(english, german, strict=True))
        precision = f"{100 * right / len(crossing):.1f}" if crossing else "–"
        print(
            f"| {what} | 0.9 | {len(crossing):,} | {precision} | {100 * hits / len(english):.1f} |",
            flush=True,
        )


def show_speed(data: Path) -> None:
    """Print times of all programs over the same texts."""
    texts = sorted({english for english, _ in tatoeba(data)})
    texts = [texts[i] for i in np.random.default_rng(0).permutation(len(texts)).tolist()]
    programs: dict[str, Callable[[list[str]], list[str]]] = {
        "pmeans": lambda some: [some[i] for i in pmeans.dedupe(some, lang="en").rows.tolist()],
        "pmeans, approximate": lambda some: [
            some[i] for i in pmeans.dedupe(some, lang="en", approximate=True).rows.tolist()
        ],
        "semhash (usearch)": lambda some: _left(some, by_semhash(some, 0.9)),
        "semhash (exact)": lambda some: _left(some, by_semhash(some, 0.9, "basic")),
    }
    for size in SIZES:
        for name, program in programs.items():
            start = time.process_time()
            left = program(texts[:size])
            seconds = time.process_time() - start
            missed = len(left) - len(pmeans.dedupe(left, lang="en").rows)
            cells = f"{seconds:.1f} | {size - len(left):,} | {missed:,}"
            print(f"| {size:,} | {name} | {cells} |", flush=True)


def _left(texts: Sequence[str], gone: dict[str, str]) -> list[str]:
    return [text for text in texts if text not in gone]


def main(data: Path) -> None:
    """Print both tables."""
    method = "\n\n".join(" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[2:])
    print(HEAD.format(method=method))
    show_quality(data)
    print(SPEED)
    show_speed(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
