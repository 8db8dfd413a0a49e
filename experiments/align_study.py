"""Which parallel text, how much of it, and which map: the choices of sentence-level alignment.

    python experiments/align_study.py DATA LANG [TASK ...]

DATA has ``parallel``, ``lexicon`` and ``tasks``; the space ``googlenews-subset`` is installed
(``experiments/spaces.py``). A word of LANG (de, fr) is the mean of its translations' vectors, and a
sentence its min, mean and max. Choices are made by translation retrieval among held-out pairs (the
second to last 2 % of each source, at most 300, mean over the sources of the share of sentences
whose nearest English one is their translation); the tasks only say whether transfer agrees.
A task's classifiers are trained once, on English, and scored on every variant.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.align import Alignment, Fit, Products
from pmeans.evaluation import tasks
from pmeans.evaluation.protocols import evaluate
from pmeans.output import unit_rows
from pmeans.spaces.library import find_space
from pmeans.training.corpus import read_lines, read_pairs

SOFTWARE = {"libreoffice", "debian"}
BASE = 80_000
Keep = Callable[[str, int, int], bool]
PENALTIES = (30, 100, 300, 1000, 3000, 10000)


def dictionary_space(folder: Path, lang: str) -> WordSpace:
    """GoogleNews for English, and for the other language means over its translations."""
    english = find_space("googlenews-subset")
    rows = {word: row for row, word in enumerate(english.words("en"))}
    meanings = defaultdict(set)
    for path in sorted(folder.glob(f"en-{lang}.translations.*.tsv.gz")):
        for line in read_lines(path):
            word, foreign = line.split("\t")
            if word in rows:
                meanings[foreign.lower()].add(rows[word])
    matrix = english.rows(slice(None))
    vectors = [matrix[sorted(translations)].mean(axis=0) for translations in meanings.values()]
    listed = {"en": list(rows), lang: list(meanings)}
    matrix = np.concatenate([matrix, vectors])
    return WordSpace.from_words("dictionary", listed, matrix, case="cased-then-lower")


class Pairs:
    """Lower-cased pairs without the held-out ones, and those to measure retrieval on."""

    def __init__(self, path: Path, rng: np.random.Generator) -> None:
        by_source = defaultdict(list)
        for pair in read_pairs(path):
            by_source[pair.source].append((pair.first.lower(), pair.second.lower()))
        self.dev = {}
        fitting = []
        for source, found in by_source.items():
            held = len(found) // 50
            self.dev[source] = found[-2 * held : -held][:300]
            fitting += [(source, pair) for pair in found[: -2 * held]]
        self._fitting = [fitting[i] for i in rng.permutation(len(fitting))]

    def choose(self, n: int, keep: Keep = lambda source, a, b: True) -> list[tuple[str, str]]:
        """Return n random pairs of sources and lengths (in words) that are kept."""
        kept = (
            pair
            for source, pair in self._fitting
            if keep(source, len(pair[0].split()), len(pair[1].split()))
        )
        return list(islice(kept, n))


def sums_of(encoder: PowerMeanEncoder, pairs: list[tuple[str, str]], lang: str) -> Products:
    """Take the products of some pairs' rows."""
    sums = Products(encoder.dim)
    for start in range(0, len(pairs), 4096):
        block = pairs[start : start + 4096]
        sums.add(
            encoder.encode([b for _, b in block], lang=lang),
            encoder.encode([a for a, _ in block], lang="en"),
        )
    return sums


def maps(encoder: PowerMeanEncoder, pairs: Pairs, lang: str):
    """Yield the name and the alignment of every variant."""
    base = sums_of(encoder, pairs.choose(BASE), lang)
    fits = [Fit(penalty=p) for p in PENALTIES]
    fits += [Fit(rank=r) for r in (100, 300, 600)] + [Fit("cca"), Fit("cca", 3000.0)]
    fits += [Fit("cca", rank=300), Fit("procrustes"), Fit("procrustes", rank=300)]
    for fit in fits:
        yield f"{fit}", base, fit
    del base
    for n in (10_000, 40_000, 160_000):
        yield f"{n:,} pairs", sums_of(encoder, pairs.choose(n), lang), Fit()
    choices = {
        "without tatoeba": lambda s, a, b: s != "tatoeba",
        "tatoeba alone": lambda s, a, b: s == "tatoeba",
        "without bible": lambda s, a, b: s != "bible",
        "without software": lambda s, a, b: s not in SOFTWARE,
        "5 words and more": lambda s, a, b: min(a, b) >= 5,
        "12 words and more": lambda s, a, b: min(a, b) >= 12,
        "at most 12 words": lambda s, a, b: max(a, b) <= 12,
        "no tatoeba, 5 to 60 words": lambda s, a, b: (
            s != "tatoeba" and min(a, b) >= 5 and max(a, b) <= 60
        ),
    }
    for name, keep in choices.items():
        yield f"40,000 pairs, {name}", sums_of(encoder, pairs.choose(40_000, keep), lang), Fit()


class Variants:
    """Encodes English once, and the language under the name of a variant with its map."""

    name = "variants"

    def __init__(self, encoder: PowerMeanEncoder, lang: str, found: dict) -> None:
        self.dim, self._encoder, self._lang, self._found = encoder.dim, encoder, lang, found
        self._rows = {}

    def encode(self, sentences, *, lang):
        """Return the rows of English, or of the language with the map of a variant."""
        if lang == "en":
            return self._encoder.encode(sentences, lang="en")
        if sentences not in self._rows:
            self._rows = {sentences: self._encoder.encode(sentences, lang=self._lang)}
        alignment = self._found[lang]
        rows = self._rows[sentences]
        return alignment.apply(rows, self._lang) if alignment else rows


def retrieval(encoder: PowerMeanEncoder, pairs: Pairs, lang: str, alignment) -> float:
    """Return how often a held-out sentence is nearest to its translation, in per cent."""
    sides = [[p[side] for ps in pairs.dev.values() for p in ps] for side in (0, 1)]
    english = unit_rows(encoder.encode(sides[0], lang="en"))
    rows = encoder.encode(sides[1], lang=lang)
    near = np.argmax(unit_rows(alignment.apply(rows, lang) if alignment else rows) @ english.T, 1)
    right = near == np.arange(len(near))
    parts = np.split(right, np.cumsum([len(ps) for ps in pairs.dev.values()])[:-1])
    return 100 * float(np.mean([part.mean() for part in parts]))


def tokenised(encoder: PowerMeanEncoder) -> PowerMeanEncoder:
    """Return the encoder for text that is split already, as the tasks are."""
    recipe = replace(encoder.recipe, tokenizer="whitespace")
    return PowerMeanEncoder(recipe, encoder.spaces, encoder.znorm)


def transfer(encoder: PowerMeanEncoder, data: Path, task: str, lang: str, found: dict) -> dict:
    """Return the mean score of every variant on a task, trained on English."""
    encoder = tokenised(encoder)
    dataset = tasks.load(tasks.known()[task], data, ["en", lang])
    rows = {"en": dataset.rows["en"]} | dict.fromkeys(found, dataset.rows[lang])
    scores = evaluate(
        Variants(encoder, lang, found),
        replace(dataset, rows=rows),
        "ukp-subsample",
        train_lang="en",
        test_langs=list(found),
    )
    return {name: np.mean([s.value for s in scores if s.test_lang == name]) for name in found}


def main() -> None:
    """Print a table of all variants."""
    data, lang, *names = sys.argv[1:]
    data = Path(data)
    space = dictionary_space(data / "lexicon", lang)
    raw = PowerMeanEncoder(Recipe((Part(space.name),), tokenizer="words"), {space.name: space})
    pairs = Pairs(data / "parallel" / f"en-{lang}.tsv.gz", np.random.default_rng(0))
    text = pairs.choose(BASE)
    znormed = PowerMeanEncoder(replace(raw.recipe, znorm="per_language"), raw.spaces)
    for side, code in enumerate(("en", lang)):
        znormed = znormed.fit_znorm((pair[side] for pair in text), lang=code)
    found: dict = {"z-norm": None}
    begin = time.perf_counter()
    for name, sums, fit in maps(znormed, pairs, lang):
        found[name] = Alignment("en", {lang: sums.solve(fit)})
        print(f"{time.perf_counter() - begin:6.1f} s  {name}", file=sys.stderr, flush=True)
    columns = {"retrieval": {n: retrieval(znormed, pairs, lang, a) for n, a in found.items()}}
    columns["retrieval"]["raw"] = retrieval(raw, pairs, lang, None)
    for task in names:
        columns[task] = transfer(znormed, data, task, lang, found)
        columns[task] |= transfer(raw, data, task, lang, {"raw": None})
        print(f"{time.perf_counter() - begin:6.1f} s  {task}", file=sys.stderr, flush=True)
    print(f"| en-{lang} | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name in ("raw", *found):
        print(f"| {name} | " + " | ".join(f"{c[name]:.1f}" for c in columns.values()) + " |")


if __name__ == "__main__":
    main()
