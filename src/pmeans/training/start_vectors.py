"""What word vectors are taught with: pairs, dictionaries, and what they start from."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import ConfigError, InputError
from pmeans.training.bag_means import averaging
from pmeans.training.bags import BagReader, Bags, Vocabulary
from pmeans.training.corpus import Pair, PairFile, words
from pmeans.training.lexicon import read_dictionary
from pmeans.training.trainer import FilePath, FromFiles
from pmeans.types import Array, Floats, Ints

Lexica = Mapping[str, Mapping[str, Sequence[str]]]
"""By language and word: the word's translations, each of one word or several."""

COMMON = 1e-3
"""The a of a / (a + p): a word of this share of the text counts half."""
LISTED = 3
"""A word in a dictionary ranks as if the text had it so many times more."""
COMPARED = 4000
"""Held-out pairs of a file, at most, among which translations are sought."""
FITTED = 100_000
"""Sentences, at most, whose vectors tell the directions of largest variance."""
_APART = re.compile(r" (?=n't\b|['-]\w)|(?<=\w') ")
_LOOKED_AT = 1000
_ROWS = 16384  # turned to float64 at a time: 40 MB at 300 columns


@dataclass(frozen=True)
class DictionaryFile(FromFiles):
    """A dictionary.

    Attributes:
        path: Two columns: a word of the pivot, or several words, and a word of the language.
        lang: The language.
    """

    path: FilePath
    lang: str


def read_lexica(files: Sequence[DictionaryFile], longest: int = 1) -> Lexica:
    """Read dictionaries; entries of more words of the language than so many are passed over.

    Text is not searched for them, so they would never be found.
    """
    lexica: dict[str, dict[str, list[str]]] = {}
    for file in files:
        lexicon = lexica.setdefault(file.lang, {})
        pairs = read_dictionary(file.path)
        for first, second in zip(pairs.first, pairs.second, strict=True):
            spelled = words(second, file.lang)
            if 1 <= len(spelled) <= longest:
                lexicon.setdefault(" ".join(spelled), []).append(first)
    return lexica


def listed_entries(lexica: Lexica, pivot: str) -> dict[str, dict[str, None]]:
    """Return the entries of each language; the pivot's are the translations, as text has them."""
    listed = {lang: dict.fromkeys(lexicon) for lang, lexicon in lexica.items()}
    entries = (entry for lexicon in lexica.values() for each in lexicon.values() for entry in each)
    split = (" ".join(words(entry, pivot)) for entry in dict.fromkeys(entries))
    return listed | {pivot: dict.fromkeys(split)}


def written(entry: str) -> str:
    """Return an entry as people write it: clitics and elisions are not apart, as tokens are."""
    return _APART.sub("", entry)


def swapped(pairs: Sequence[Pair], pivot: str, known: Collection[str]) -> bool:
    """Return whether the second sentences have more of the pivot's words than the first."""
    some = pairs[:_LOOKED_AT]
    first, second = (
        sum(word in known for text in texts for word in words(text, pivot))
        for texts in ((pair.first for pair in some), (pair.second for pair in some))
    )
    return second > first


def check_material(
    what: str, pairs: Sequence[PairFile], dictionaries: Sequence[DictionaryFile], pivot: str
) -> None:
    """Refuse files that a teacher of the pivot cannot teach with; `what` is taught."""
    if not pairs:
        raise ConfigError(f"{what}: pairs names no file.")
    if any(file.first != pivot for file in pairs):
        raise ConfigError(
            f"{what}: the teacher's language is {pivot!r}, which must be "
            "the first one of every file of pairs."
        )
    langs = {file.second for file in pairs}
    for lexicon in dictionaries:
        if lexicon.lang not in langs:
            raise ConfigError(
                f"{lexicon.path} is a dictionary of {lexicon.lang!r}, of which there are no "
                f"pairs; there are pairs of {', '.join(sorted(langs))}."
            )


def add_pairs(file: PairFile, reader: BagReader, known: Collection[str], seed: int) -> list[Pair]:
    """Read the pairs of a file to train on; return some of those that are held out.

    Args:
        file: The pivot comes first.
        reader: Takes the pairs.
        known: Words of the pivot, by which sides that are swapped are noticed.
        seed: Draws within the file's limit.
    """
    parts = file.read(seed)
    train, dev = parts["train"], parts["dev"]
    if known and swapped(train, reader.pivot, known):
        raise InputError(
            f"{file.path}: the second sentences have more words of {reader.pivot!r} than the "
            "first ones. The teacher's language must be the first column."
        )
    if not sum([reader.add(pair.first, file.second, pair.second) for pair in train]):
        raise InputError(f"{file.path}: no pair has words on both sides.")
    return dev[:: -(-len(dev) // COMPARED) or 1]


class Affine(NamedTuple):
    """The map ``x -> (x - mean) @ matrix + offset``."""

    mean: Array  # (dim,) float64
    matrix: Array  # (dim, n_columns) float64
    offset: Array | float = 0.0  # (n_columns,) float64, or a number for all columns

    def __call__(self, rows: Array) -> Floats:
        """Map rows, (n, dim) to (n, n_columns) float32."""
        mapped = np.empty((len(rows), self.matrix.shape[1]), dtype=np.float32)
        for low in range(0, len(rows), _ROWS):
            block = slice(low, low + _ROWS)
            mapped[block] = (rows[block] - self.mean) @ self.matrix + self.offset
        return mapped


def pca(rows: Array, k: int) -> Affine:
    """Fit the map onto the ``k`` directions of largest variance, the largest first."""
    mean, _, directions = principal_axes(rows)
    return Affine(mean, directions[:, :k])


def moments(rows: Array) -> tuple[Array, Array]:
    """Return mean (dim,) and covariance (dim, dim) in float64, in little memory."""
    mean = rows.mean(axis=0, dtype=np.float64)
    covariance = np.zeros((len(mean), len(mean)))
    for low in range(0, len(rows), _ROWS):
        block = rows[low : low + _ROWS] - mean
        covariance += block.T @ block
    return mean, covariance / len(rows)


def principal_axes(rows: Array) -> tuple[Array, Array, Array]:
    """Return mean (dim,), variances (dim,) and directions (dim, dim), columns, largest first."""
    mean, covariance = moments(rows)
    variances, directions = np.linalg.eigh(covariance)
    variances, directions = variances[::-1], directions[:, ::-1]
    # An eigenvector's sign is arbitrary: its largest number is made positive.
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(len(variances))]
    return mean, variances, directions * np.where(largest < 0, -1, 1)


def largest_axes(spoken: Array, dim: int, teacher: str, pivot: str) -> Affine:
    """Return the map of a teacher's vectors, (n, width), to their largest directions."""
    n, width = spoken.shape
    if dim > width:
        raise InputError(
            f"the teacher {teacher} has vectors of {width} columns, and dim = {dim} are asked for."
        )
    if n <= dim:
        raise InputError(
            f"the teacher {teacher} has vectors of {n:,} of the sentences "
            f"({pivot}), and dim = {dim} need more. Are the pairs in its language?"
        )
    return pca(spoken[:: -(-n // FITTED)], dim)


def first_vectors(
    vocabulary: Vocabulary,
    lexica: Lexica,
    rows: Mapping[str, int],
    vectors: Floats,
    bags: Bags,
    targets: Array,
) -> Floats:
    """Return what every word starts from, (n_words, dim) of length 1, or 0 of a word without any.

    Args:
        vocabulary: The words.
        lexica: A word starts from the mean of its translations; one of the pivot is its own.
        rows: Of the translations among the vectors.
        vectors: (n_translations, dim); a row of zeros counts as none.
        bags: Sentences; a word without translations starts from the mean of their targets.
        targets: (n_targets, dim).
    """
    known = np.any(vectors, axis=1)
    spelled = ((lang, word) for lang, listed in vocabulary.words.items() for word in listed)
    sources = [
        (i, rows[entry])
        for i, (lang, word) in enumerate(spelled)
        for entry in lexica.get(lang, {}).get(word, ())
        if known[rows[entry]]
    ]
    owners, translations = np.array(sources, dtype=np.int64).reshape(-1, 2).T
    n = len(vocabulary.shares)
    first = _means(translations, owners, n, vectors)
    sentence = np.repeat(np.arange(len(bags)), np.diff(bags.offsets))
    tokens = np.flatnonzero(~np.any(first, axis=1)[bags.ids])
    tokens = tokens[np.argsort(bags.ids[tokens], kind="stable")]
    heard = bags.targets[sentence[tokens]]
    return first + _means(heard, bags.ids[tokens], n, targets)


def _means(rows: Ints, owners: Array, n: int, vectors: Array) -> Floats:
    """Return the means of rows of vectors by owner, (n, dim) of length 1; 0 of who has none."""
    distinct, averages = averaging(rows, owners, n)
    return unit_rows(averages @ vectors[distinct].astype(np.float32))
