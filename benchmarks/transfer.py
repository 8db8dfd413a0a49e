"""Train a classifier on 10,000 sentences, predict 100,000: seconds, and peak memory.

    python benchmarks/transfer.py [SPACE...] [--classes 4] [--train 10000] [--predict 100000]

The encoder is the model in the package, or min, mean and max over installed spaces. Sentences are
drawn from the words of its first space, commoner words more often, and each class prefers some.
What is measured is the whole way from strings to labels, the count of unknown words included;
reading the spaces is not, they are mapped.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time

import numpy as np

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier
from pmeans.kernels import available_threads, backend
from pmeans.spaces.library import find_space

LENGTH = 15
VOCABULARY = 20_000
PREFERRED = 200
"""Words that a class prefers: it draws two of a sentence's words among them."""


def sentences(words: list[str], n: int, n_classes: int, rng: np.random.Generator):
    ranks = np.arange(1, len(words) + 1)
    common = rng.choice(len(words), (n, LENGTH), p=(1 / ranks) / (1 / ranks).sum())
    labels = rng.integers(0, n_classes, n)
    common[:, :2] = rng.integers(0, PREFERRED, (n, 2)) + 100 + PREFERRED * (labels[:, None] % 50)
    texts = [" ".join([words[i] for i in row]) for row in common.tolist()]
    return texts, [f"class {label}" for label in labels]


def over(names: list[str]) -> PowerMeanEncoder:
    spaces = {name: find_space(name) for name in names}
    parts = tuple(Part(name, (-math.inf, 1, math.inf)) for name in spaces)
    recipe = Recipe(parts, "benchmark", tokenizer="words", znorm="per_language")
    return PowerMeanEncoder(recipe, spaces)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spaces", nargs="*", help="names of installed spaces that share a language")
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--train", type=int, default=10_000)
    parser.add_argument("--predict", type=int, default=100_000)
    given = parser.parse_args()

    encoder = over(given.spaces) if given.spaces else pmeans.load()
    lang = encoder.languages[0] if encoder.languages else "*"
    table = next(iter(encoder.spaces.values())).table(lang)
    words = [table[i] for i in range(min(VOCABULARY, len(table)))]
    rng = np.random.default_rng(0)
    train, labels = sentences(words, given.train, given.classes, rng)
    test, gold = sentences(words, given.predict, given.classes, rng)
    if given.spaces:
        encoder = encoder.fit_znorm(train, lang=lang)

    begin = time.perf_counter()
    classifier = TransferClassifier(encoder).fit(train, labels, lang=lang)
    fitted = time.perf_counter()
    predicted = classifier.predict(test, lang=lang)
    end = time.perf_counter()
    right = np.mean([a == b for a, b in zip(predicted, gold, strict=True)])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )
    print(f"{backend()} kernels, {available_threads()} threads, {encoder.dim} columns")
    print(f"{classifier.chosen}")
    print(f"fit     {given.train:>9,} rows, {given.classes:,} classes: {fitted - begin:6.1f} s")
    print(f"predict {given.predict:>9,} rows: {end - fitted:6.1f} s, accuracy {right:.3f}")
    print(f"together {end - begin:.1f} s, peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
