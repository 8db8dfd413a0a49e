"""BIVCD against gensim: words a second in one run, and how good the vectors are.

Both train on the same merged and shuffled pairs with the same vocabulary and settings, in turn.
Vocabularies are made beforehand, and gensim gets lists of strings in memory. The ratio is taken
within a round, of wall time and of processor time over all threads; the latter is the steadier one
where other programs load the machine. With --quality both train for five epochs, and are measured
by how often the nearest German word of an English one, by cosine after centring each language, is
a translation in the bilingual dictionary.

    python benchmarks/skipgram.py [--pairs N] [--rounds N] [--threads N] [--quality]
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from pathlib import Path

import numpy as np
from gensim.models import Word2Vec

from pmeans.tables import read_lines
from pmeans.training import corpus, word2vec
from pmeans.types import Array, Floats

DIM, WINDOW, NEGATIVES, MIN_COUNT, SUBSAMPLE, RATE, SEED = 300, 10, 10, 3, 1e-3, 0.025, 1


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure skip-gram against gensim.")
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quality", action="store_true", help="five epochs, and the dictionary")
    options = parser.parse_args()
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    data = Path(os.environ.get("PMEANS_DATA", default))
    text = read(data / "parallel" / "en-de.tsv.gz", options.pairs)
    keys = [f"{lang}:{word}" for lang, words in text.words.items() for word in words]
    sentences = as_strings(text, keys)
    epochs = 5 if options.quality else 1
    ours, theirs = [], []
    for _ in range(1 if options.quality else options.rounds):
        start = clocks()
        vectors = train_ours(text, epochs, options.threads)
        ours.append(clocks() - start)
        peer = gensim_model(sentences, options.threads)  # the vocabulary is nobody's time
        start = clocks()
        peer.train(sentences, total_examples=len(sentences), epochs=epochs)
        theirs.append(clocks() - start)
    n = len(text.ids) * epochs
    print(f"{options.pairs:,} pairs, {n:,} words in all, {len(keys):,} distinct, {epochs} epoch(s)")
    for i, clock in enumerate(("wall", "processor")):
        pairs = [(float(a[i]), float(b[i])) for a, b in zip(ours, theirs, strict=True)]
        a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratios = [b / a for a, b in pairs]
        print(
            f"{clock}: pmeans {n / a:,.0f} words/s, gensim {n / b:,.0f} words/s, ratio "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
    if options.quality:
        theirs_in_order = peer.wv[keys]
        for name, matrix in (("pmeans", vectors), ("gensim", theirs_in_order)):
            found, asked = precision(text.words, matrix, data / "lexicon" / "en-de.bli.test.tsv")
            print(f"{name}: en-de P@1 {found / asked:.3f} of {asked}")


def read(path: Path, n_pairs: int) -> word2vec.Corpus:
    pairs = corpus.read_pairs(path)
    drawn = np.random.default_rng(SEED).choice(len(pairs), n_pairs, replace=False)
    collector = word2vec.Collector()
    for i in drawn.tolist():
        first, second = corpus.words(pairs[i].first, "en"), corpus.words(pairs[i].second, "de")
        collector.add([("en", first), ("de", second)])
    return collector.corpus(MIN_COUNT, SEED)


def as_strings(text: word2vec.Corpus, keys: list[str]) -> list[list[str]]:
    rng = np.random.default_rng(SEED)
    borders = text.offsets.tolist()
    return [
        [keys[i] for i in rng.permutation(text.ids[begin:end])]
        for begin, end in itertools.pairwise(borders)
    ]


def train_ours(text: word2vec.Corpus, epochs: int, threads: int) -> Floats:
    settings = word2vec.Settings(
        dim=DIM,
        window=WINDOW,
        negatives=NEGATIVES,
        epochs=epochs,
        subsample=SUBSAMPLE,
        rate=RATE,
        seed=SEED,
        threads=threads,
    )
    vectors, _ = word2vec.train(
        text, settings, shuffle=True, progress=lambda share, what: None, checkpoint=None
    )
    return vectors


def clocks() -> Array:
    """Return wall time, and processor time over all threads."""
    return np.array([time.perf_counter(), time.process_time()])


def gensim_model(sentences: list[list[str]], threads: int) -> Word2Vec:
    model = Word2Vec(
        vector_size=DIM,
        window=WINDOW,
        negative=NEGATIVES,
        min_count=1,
        sample=SUBSAMPLE,
        alpha=RATE,
        min_alpha=1e-4,
        sg=1,
        seed=SEED,
        workers=threads,
    )
    model.build_vocab(sentences)
    return model


def precision(words: dict[str, list[str]], vectors: Floats, path: Path) -> tuple[int, int]:
    """Return for how many English words of the dictionary the nearest German one is right."""
    n = len(words["en"])
    english, german = (
        part / np.linalg.norm(part, axis=1, keepdims=True)
        for side in (vectors[:n], vectors[n:])
        for part in (side - side.mean(axis=0),)
    )
    row_en, row_de = ({w: i for i, w in enumerate(words[lang])} for lang in ("en", "de"))
    right: dict[int, set[int]] = {}
    for line in read_lines(path):
        first, second = line.lower().split("\t")
        if first in row_en and second in row_de:
            right.setdefault(row_en[first], set()).add(row_de[second])
    nearest = (english[list(right)] @ german.T).argmax(axis=1)
    found = sum(int(i) in some for i, some in zip(nearest, right.values(), strict=True))
    return found, len(right)


if __name__ == "__main__":
    main()
