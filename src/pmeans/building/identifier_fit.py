"""How an `Identifier` is fitted: on words in order of frequency, and on sentences.

Both become short texts of one to eight words. Their grams, counted by language, are a first guess
of the weights (naive Bayes), from which logistic regression starts: stochastic gradients with the
steps of Adagrad (Duchi, Hazan and Singer 2011). The weights are then rounded to whole numbers of 8
bits, and the sharpness of probabilities is chosen on held-out sentences.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.errors import ConfigError, FormatError, check_seed
from pmeans.languages.identifier import Identifier
from pmeans.tables import read_lines
from pmeans.training.corpus import PairFile, Portion
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Array, Floats

N_BUCKETS = 1 << 15
_WITH_TEXT, _WITHOUT, _HELD_OUT = 60_000, 15_000, 2_000  # short texts of a language
_LENGTHS = np.array([1, 2, 3, 3, 4, 5, 6, 8])  # words of a short text
_HELD_OUT_LENGTHS = np.array([2, 3, 5, 8, 15])
_RARE = 2e-4  # share of its letters that a language's own exceed
_SMOOTHING, _START = 0.01, 0.3  # of counted grams; how much of them to start from
_EPOCHS, _BATCH, _RATE = 3, 1024, np.float32(0.05)


@dataclass(frozen=True)
class LanguageTexts(FromFiles):
    """What an identifier is fitted on.

    Attributes:
        words: A file with a language and its words, the commonest first, on each line: the code, a
            tab, and words with spaces between them. A code may have several lines, which weigh the
            same.
        texts: Pairs of sentences. Of languages that occur here, more is drawn than of others.
    """

    words: FilePath
    texts: tuple[PairFile, ...]

    def fit(self, seed: int = 0) -> Identifier:
        """Fit an identifier of all languages that have words."""
        check_seed(seed)
        rng = np.random.default_rng(seed)
        words = _read_words(self.words)
        portions = [(file, file.read()) for file in self.texts]
        sentences = _by_language(portions, "train")
        for lang in sentences:
            if lang not in words:
                raise ConfigError(f"{self.words}: no words of {lang!r}, which has texts.")
        samples = {
            lang: list(_samples(lists, sentences.get(lang, ()), rng))
            for lang, lists in words.items()
        }
        letters = _letters(samples[lang] for lang in sentences)
        x, y = _counted(samples, letters)
        weights = _learned(x, y, len(samples), rng)
        weights -= weights.min(axis=1, keepdims=True)
        step = float(np.quantile(weights.max(axis=1), 0.9995)) / 255
        whole = np.zeros((N_BUCKETS, -(-len(samples) // kernels.TILE) * kernels.TILE), np.uint8)
        whole[:, : len(samples)] = np.minimum(np.rint(weights / step), 255)
        held_out = _by_language(portions, "dev")
        cut = {
            lang: [_cut(text, rng, _HELD_OUT_LENGTHS) for text in _drawn(texts, _HELD_OUT, rng)]
            for lang, texts in held_out.items()
        }
        columns = {lang: k for k, lang in enumerate(samples)}
        x, y = _counted(cut, letters)
        rows = np.array([columns[lang] for lang in cut])[y]
        return Identifier(tuple(samples), letters, whole, _sharpness(x, rows, whole, len(samples)))


def _read_words(path: str) -> dict[str, list[list[str]]]:
    words: dict[str, list[list[str]]] = defaultdict(list)
    for number, line in enumerate(read_lines(path), 1):
        lang, tab, listed = line.partition("\t")
        if not tab or not listed.split():
            raise FormatError(f"{path}, line {number:,}: expected a code, a tab, and words.")
        words[lang].append(listed.split())
    return words


def _by_language(
    portions: Iterable[tuple[PairFile, Mapping[Portion, Sequence[Any]]]], portion: Portion
) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = defaultdict(list)
    for file, pairs in portions:
        texts[file.first] += [pair.first for pair in pairs[portion]]
        texts[file.second] += [pair.second for pair in pairs[portion]]
    return texts


def _samples(
    lists: Sequence[Sequence[str]], sentences: Sequence[str], rng: np.random.Generator
) -> Iterator[str]:
    """Yield short texts of a language: half of them cut from sentences, if there are any."""
    if sentences:
        for text in _drawn(sentences, _WITH_TEXT // 2, rng):
            yield _cut(text, rng, _LENGTHS)
    n = (_WITH_TEXT // 2 if sentences else _WITHOUT) // len(lists)
    for words in lists:
        # ZIPF. Of words in order of frequency, Mandelbrot's law says how frequent.
        limits = np.cumsum(1 / (np.arange(len(words)) + 2.7))
        for length in rng.choice(_LENGTHS, n).tolist():
            places = np.searchsorted(limits, rng.random(length) * limits[-1])
            yield " ".join(words[i] for i in places.tolist())


def _drawn(texts: Sequence[str], n: int, rng: np.random.Generator) -> list[str]:
    return [texts[i] for i in rng.integers(len(texts), size=n).tolist()]


def _cut(text: str, rng: np.random.Generator, lengths: Array) -> str:
    """Return some consecutive words of a text."""
    words, n = text.split(), int(rng.choice(lengths))
    start = int(rng.integers(max(len(words) - n, 0) + 1))
    return " ".join(words[start : start + n])


def _letters(samples: Iterable[Sequence[str]]) -> npt.NDArray[np.uint64]:
    """Return the letters that are not rare in one of several languages, as bits."""
    bits = np.zeros(1024, dtype=np.uint64)
    for texts in samples:
        counts = Counter(c for text in texts for c in text.lower() if c.isalpha())
        for letter, n in counts.items():
            if n > _RARE * counts.total() and ord(letter) < 65536:
                bits[ord(letter) >> 6] |= np.uint64(1 << (ord(letter) & 63))
    return bits


def _counted(samples: Mapping[str, Sequence[str]], letters: Array) -> tuple[Any, Array]:
    """Return the grams of all texts as a sparse matrix (n, N_BUCKETS), and their classes (n,)."""
    from scipy.sparse import csr_array

    texts = [text for each in samples.values() for text in each]
    buckets, offsets = kernels.grams(texts, letters, N_BUCKETS)
    ones = np.ones(len(buckets), dtype=np.float32)
    x = csr_array((ones, buckets, offsets.astype(np.int32)), shape=(len(texts), N_BUCKETS))
    return x, np.repeat(np.arange(len(samples)), [len(each) for each in samples.values()])


def _learned(x: Any, y: Array, n_classes: int, rng: np.random.Generator) -> Floats:
    """Return weights, (N_BUCKETS, n_classes)."""
    truth = np.eye(n_classes, dtype=np.float32)[y]
    counts = x.T @ truth
    start = np.log(counts / counts.sum(axis=0) + _SMOOTHING / N_BUCKETS)
    weights = np.float32(_START) * (start - start.mean(axis=1, keepdims=True))
    squares = np.full(weights.shape, 0.01, dtype=np.float32)
    for _ in range(_EPOCHS):
        order = rng.permutation(len(y))
        for begin in range(0, len(y), _BATCH):
            some = order[begin : begin + _BATCH]
            gradient = x[some].T @ (_softmax(x[some] @ weights) - truth[some])
            squares += gradient * gradient
            weights -= _RATE * gradient / np.sqrt(squares)
    return weights


def _sharpness(x: Any, y: Array, weights: Array, n_classes: int) -> float:
    """Return the sharpness by which the held-out texts' own languages are the most probable."""
    scores = x @ weights[:, :n_classes].astype(np.float32)
    scores /= np.sqrt(np.maximum(x.sum(axis=1), 1))[:, None]
    tried = np.geomspace(0.01, 10, 60).tolist()
    rows = np.arange(len(y))
    loss = [-np.log(_softmax(t * scores)[rows, y] + 1e-9).mean() for t in tried]
    return tried[int(np.argmin(loss))]


def _softmax(scores: Floats) -> Floats:
    powers: Floats = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
