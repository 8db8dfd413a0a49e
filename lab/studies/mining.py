"""Measure how well translations are found in text that nobody has aligned.

    python studies/mining.py DATA > results/mining/table.md

NTREX has news in eleven languages. Of its 1,997 lines, 1,000 are on both sides, 500 in English
alone and 497 in the other language alone. They are hidden among 10,000 lines of English novels
(gutenberg) on one side and 10,000 lines of documentation in the other language on the other side,
which are not translations of each other. `pmeans.mine` chooses the threshold by itself. Beside it
stands the best F1 of any threshold, which nobody could know, and with no held-out lines in the way.
A pair is right if both lines have the same number, or the same text as one that has: NTREX repeats
some lines.

Retrieval is over all 1,997 lines: how often the translation of an English line, or the English of a
translation, has the largest cosine, or the largest margin, of all lines of the other side (the mean
of both directions).
"""

import gzip
import lzma
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import pmeans
from pmeans import PowerMeanEncoder
from pmeans.search import mine, top_k
from pmeans.search.margins import proposals
from pmeans.search.stored import StoredRows

PAIRS, FIRST_ALONE, NOISE = 1000, 500, 10_000
HEAD = """\
# Translations in unaligned text

By `python studies/mining.py DATA`.

{method}

| model | language | threshold | precision | recall | F1 | best F1 | at | cosine | margin |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


def ntrex(data: Path, lang: str) -> list[str]:
    """Return all lines of a language."""
    with gzip.open(
        data / "tasks" / "ntrex" / "full" / f"{lang}.txt.gz", "rt", encoding="utf-8"
    ) as f:
        return f.read().splitlines()


def drawn(path: Path, column: int, source: str | None = None) -> list[str]:
    """Draw lines of one column of a file of pairs, of one source or of all, each text once."""
    open_ = lzma.open if path.suffix == ".xz" else gzip.open
    with open_(path, "rt", encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t") for line in file)
        texts = list(dict.fromkeys(row[column] for row in rows if source in (None, row[0])))
    order = np.random.default_rng(0).permutation(len(texts))[:NOISE]
    return [texts[i] for i in order.tolist()]


def noise(data: Path, lang: str) -> tuple[list[str], list[str]]:
    """Return English novels, and documentation in another language."""
    novels = data / "parallel" / f"en-{'de' if lang == 'fr' else 'fr'}.more.tsv.xz"
    documentation = data / "parallel" / f"en-{lang}.docs.tsv.xz"
    return drawn(novels, 1, "gutenberg"), drawn(documentation, 2)


def quality(right: Sequence[bool], n_true: int) -> tuple[float, float, float]:
    """Return precision, recall and F1, in per cent."""
    hits = sum(right)
    precision, recall = hits / max(1, len(right)), hits / n_true
    f1 = 2 * hits / (len(right) + n_true)
    return 100 * precision, 100 * recall, 100 * f1


def mined(encoder: PowerMeanEncoder, data: Path, lang: str) -> list[str]:
    """Return threshold and quality of what is found in noise, and what could be at best."""
    english, other = ntrex(data, "en"), ntrex(data, lang)
    novels, documentation = noise(data, lang)
    first = [*novels, *english[: PAIRS + FIRST_ALONE]]
    second = [*documentation, *other[:PAIRS], *other[PAIRS + FIRST_ALONE :]]
    translations = set(zip(english, other, strict=True))

    def right(found: pmeans.search.Mined) -> list[bool]:
        return [(first[pair.first], second[pair.second]) in translations for pair in found.pairs]

    n_true = len(set(zip(english[:PAIRS], other[:PAIRS], strict=True)))
    chosen = mine(first, second, langs=("en", lang), model=encoder)
    every = mine(first, second, langs=("en", lang), model=encoder, threshold=0)
    hits = right(every)
    best = max(range(1, len(hits) + 1), key=lambda n: quality(hits[:n], n_true)[2])
    return [
        f"{chosen.threshold:.2f}",
        *(f"{x:.1f}" for x in quality(right(chosen), n_true)),
        f"{quality(hits[:best], n_true)[2]:.1f}",
        f"{every.pairs[best - 1].score:.2f}",
    ]


def retrieved(encoder: PowerMeanEncoder, data: Path, lang: str) -> list[str]:
    """Return how often cosine and margin find the translation, in per cent."""
    rows = [encoder.encode(ntrex(data, code), lang=code) for code in ("en", lang)]
    numbers = np.arange(len(rows[0]))
    by_cosine = [
        np.mean(top_k(rows[side], rows[1 - side], 1)[0][:, 0] == numbers) for side in (0, 1)
    ]
    stores = [StoredRows(encoder.dim), StoredRows(encoder.dim)]
    for store, some in zip(stores, rows, strict=True):
        store.append(some)
    found = proposals(*stores)
    by_margin = np.sum(found.first == found.second) / (2 * len(numbers))
    return [f"{100 * np.mean(by_cosine):.1f}", f"{100 * by_margin:.1f}"]


def main(data: Path) -> None:
    """Print the table."""
    method = "\n\n".join(" ".join(part.split()) for part in (__doc__ or "").split("\n\n")[2:])
    print(HEAD.format(method=method))
    for name in ("default", "wide"):
        encoder = pmeans.load(name)
        for lang in encoder.languages:
            if lang != "en":
                cells = [*mined(encoder, data, lang), *retrieved(encoder, data, lang)]
                print(f"| {name} | {lang} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
