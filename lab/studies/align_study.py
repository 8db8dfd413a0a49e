"""Which parallel text, how much of it, and which map: the choices of sentence-level alignment.

    python studies/align_study.py DATA LANG SPACE[,SPACE] [TASK ...]

DATA has ``parallel`` and ``tasks``; the spaces are installed and have English and LANG. A sentence
is the min, mean and max of its words. Choices are made by translation retrieval among the pairs
held out for development (at most 300 of a source, mean over the sources of the share of sentences
whose nearest English one is their translation); the tasks only say whether transfer agrees.
A task's classifiers are trained once on English rows as they are, and scored on all maps that lead
to these; canonical directions change the English rows, and have classifiers of their own.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.alignment_fit import Fit, Products, canonical_pivot, to_canonical, to_pivot
from pmeans.encoder.postprocess import unit_rows
from pmeans.spaces.library import find_space
from pmeans.training.corpus import read_pairs, split
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.protocols import evaluate

SOFTWARE = {"libreoffice", "debian"}
BASE = 80_000
Keep = Callable[[str, list[str], list[str]], bool]
PENALTIES = (30, 100, 300, 1000, 3000, 10000)


class Pairs:
    """Lower-cased pairs without the held-out ones, and those to measure retrieval on."""

    def __init__(self, path: Path, rng: np.random.Generator) -> None:
        parts = split(read_pairs(path))
        dev = defaultdict(list)
        for pair in parts["dev"]:
            dev[pair.source].append((pair.first.lower(), pair.second.lower()))
        self.dev = {source: found[:300] for source, found in dev.items()}
        train = parts["train"]
        shuffled = (train[i] for i in rng.permutation(len(train)))
        self._fitting = [(p.source, (p.first.lower(), p.second.lower())) for p in shuffled]

    def choose(self, n: int, keep: Keep = lambda *_: True) -> list[tuple[str, str]]:
        """Return n random pairs that are kept, by their source and their words."""
        kept = (
            pair for source, pair in self._fitting if keep(source, pair[0].split(), pair[1].split())
        )
        return list(islice(kept, n))

    def commonest(self, n: int) -> set[str]:
        """Return the commonest words of both languages, n of each."""
        counts = [
            Counter(word for _, pair in self._fitting for word in pair[i].split()) for i in (0, 1)
        ]
        return {word for counted in counts for word, _ in counted.most_common(n)}


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
    fits = [Fit("ridge", p) for p in PENALTIES]
    fits += [Fit(m, p) for m in ("cca", "canonical") for p in PENALTIES]
    ranks = [rank for rank in (50, 100, 200, 300, 600) if rank < encoder.dim]
    fits += [Fit(m, 3000.0, rank) for m in ("ridge", "cca", "canonical") for rank in ranks]
    fits += [Fit("procrustes")]
    for fit in fits:
        yield f"{fit}", base, fit
    del base
    best = Fit("canonical", 3000.0)
    for n in (10_000, 40_000, 160_000, 300_000):
        yield f"{best}, {n:,} pairs", sums_of(encoder, pairs.choose(n), lang), best
    common = pairs.commonest(5_000)
    choices = {
        "without tatoeba": lambda s, a, b: s != "tatoeba",
        "tatoeba alone": lambda s, a, b: s == "tatoeba",
        "without bible": lambda s, a, b: s != "bible",
        "without software": lambda s, a, b: s not in SOFTWARE,
        "5 words and more": lambda s, a, b: min(len(a), len(b)) >= 5,
        "12 words and more": lambda s, a, b: min(len(a), len(b)) >= 12,
        "at most 12 words": lambda s, a, b: max(len(a), len(b)) <= 12,
        "common words alone": lambda s, a, b: common.issuperset(a + b),
        "a rare word in each": lambda s, a, b: not (common.issuperset(a) or common.issuperset(b)),
    }
    for name, keep in choices.items():
        sums = sums_of(encoder, pairs.choose(40_000, keep), lang)
        yield f"{best}, {sums.count:,} pairs, {name}", sums, best


def fitted(sums: Products, fit: Fit, lang: str) -> Alignment:
    """Return the alignment of one language with English."""
    if fit.method != "canonical":
        return Alignment("en", {lang: LanguageMap(to_pivot(sums, fit), "")})
    english = canonical_pivot({lang: sums}, fit)
    there = to_canonical(sums, english, fit.penalty)
    return Alignment("en", {"en": LanguageMap((english,), ""), lang: LanguageMap((there,), "")})


class Variants:
    """Encodes English, and the language under the name of a variant with its map."""

    name = "variants"

    def __init__(self, encoder: PowerMeanEncoder, lang: str, found: dict) -> None:
        self._encoder, self._lang, self._found = encoder, lang, found
        self._english = next(iter(found.values()))  # all have the same map for English, or none
        self.dim = self._english.dim if self._english else encoder.dim
        self._rows = {}

    def encode(self, sentences, *, lang):
        """Return the rows of English, or of the language with the map of a variant."""
        if lang == "en":
            rows = self._encoder.encode(sentences, lang="en")
            return self._english.apply(rows, "en") if self._english else rows
        if sentences not in self._rows:
            self._rows = {sentences: self._encoder.encode(sentences, lang=self._lang)}
        alignment = self._found[lang]
        rows = self._rows[sentences]
        return alignment.apply(rows, self._lang) if alignment else rows


def retrieval(encoder: PowerMeanEncoder, pairs: Pairs, lang: str, alignment) -> float:
    """Return how often a held-out sentence is nearest to its translation, in per cent."""
    sides = [[p[side] for ps in pairs.dev.values() for p in ps] for side in (0, 1)]
    english, rows = (
        encoder.encode(side, lang=code) for side, code in zip(sides, ("en", lang), strict=True)
    )
    if alignment:
        english, rows = alignment.apply(english, "en"), alignment.apply(rows, lang)
    near = np.argmax(unit_rows(rows) @ unit_rows(english).T, 1)
    right = near == np.arange(len(near))
    parts = np.split(right, np.cumsum([len(ps) for ps in pairs.dev.values()])[:-1])
    return 100 * float(np.mean([part.mean() for part in parts]))


def tokenised(encoder: PowerMeanEncoder) -> PowerMeanEncoder:
    """Return the encoder for text that is split already, as the tasks are."""
    recipe = replace(encoder.recipe, tokenizer="whitespace")
    return PowerMeanEncoder(recipe, encoder.spaces, encoder.znorm)


def transfer(encoder: PowerMeanEncoder, data: Path, task: str, lang: str, found: dict) -> dict:
    """Return the mean score of every variant on a task, trained on English."""
    own = {name for name, alignment in found.items() if alignment and "en" in alignment.maps}
    together = {name: alignment for name, alignment in found.items() if name not in own}
    scores = scored(encoder, data, task, lang, together) if together else {}
    for name in own:
        scores |= scored(encoder, data, task, lang, {name: found[name]})
    return scores


def scored(encoder: PowerMeanEncoder, data: Path, task: str, lang: str, found: dict) -> dict:
    """Return the mean score of variants that have the same English rows."""
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
    data, lang, spaces, *names = sys.argv[1:]
    data = Path(data)
    opened = {name: find_space(name) for name in spaces.split(",")}
    raw = PowerMeanEncoder(Recipe(tuple(map(Part, opened)), tokenizer="words"), opened)
    pairs = Pairs(data / "parallel" / f"en-{lang}.tsv.gz", np.random.default_rng(0))
    text = pairs.choose(BASE)
    znormed = PowerMeanEncoder(replace(raw.recipe, znorm="per_language"), raw.spaces)
    for side, code in enumerate(("en", lang)):
        znormed = znormed.fit_znorm((pair[side] for pair in text), lang=code)
    found: dict = {"z-norm": None}
    begin = time.perf_counter()
    for name, sums, fit in maps(znormed, pairs, lang):
        found[name] = fitted(sums, fit, lang)
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
