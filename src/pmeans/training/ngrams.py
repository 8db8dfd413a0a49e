"""N-grams of words: which rows of a table are theirs, and the rows that fit given vectors best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmeans.kernels.folding import SKELETON_MINN, folded, skeleton
from pmeans.spaces.readers.fasttext_binary import ngram_buckets
from pmeans.types import Array, Floats, Ids, Ints, Progress

ITERATIONS = 30
"""Of conjugate gradients; the last ones move the n-grams by less than a thousandth."""
_TINY = np.float32(1e-30)
_CHUNK = 50_000  # words whose n-grams are hashed at a time


def folded_buckets(words: Sequence[str], buckets: int, minn: int, maxn: int) -> tuple[Ids, Ints]:
    """Return the rows of n-grams of all words, and where each word's begin: as words compose.

    N-grams of a word come before those of its skeleton.
    """
    rows, counts = [], []
    for low in range(0, len(words), _CHUNK):
        some = words[low : low + _CHUNK]
        plain = [folded(word).encode("utf-8", "surrogatepass") for word in some]
        bones = [skeleton(word).encode() for word in some]
        # An empty word still has its ends for an n-gram: it is not asked.
        boned = [i for i, each in enumerate(bones) if each]
        first, edges = ngram_buckets(plain, buckets, minn, maxn)
        second, borders = ngram_buckets(
            [bones[i] for i in boned] or [b""], buckets, max(minn, SKELETON_MINN), maxn
        )
        of_bones = np.zeros(len(some), dtype=np.int64)
        of_bones[boned] = np.diff(borders)[: len(boned)]
        numbers = np.arange(len(some))
        owners = np.concatenate([np.repeat(numbers, n) for n in (np.diff(edges), of_bones)])
        both = np.concatenate([first, second[: of_bones.sum()]])
        rows.append(both[np.argsort(owners, kind="stable")].astype(np.int32))
        counts.append(np.diff(edges) + of_bones)
    return np.concatenate(rows), np.concatenate([[0], np.cumsum(np.concatenate(counts))])


def ngram_averages(
    words: Sequence[str], buckets: int, minn: int, maxn: int, *, as_folded: bool = False
) -> Any:
    """Return the sparse matrix that composes words from n-grams, (n_words, buckets).

    Folded ones are summed and divided by the root of their number.
    """
    from scipy.sparse import csr_array

    rows: Array
    if as_folded:
        rows, borders = folded_buckets(words, buckets, minn, maxn)
    else:
        rows, borders = ngram_buckets([word.encode() for word in words], buckets, minn, maxn)
    counts = np.diff(borders)
    shares = 1 / np.maximum(counts, 1) ** (0.5 if as_folded else 1)
    weights = np.repeat(shares, counts).astype(np.float32)
    return csr_array((weights, rows, borders), shape=(len(words), buckets))


def fitted_ngrams(averages: Any, vectors: Floats, penalty: float, progress: Progress) -> Floats:
    """Return the n-grams of least error, (buckets, dim), by conjugate gradients per column.

    Zhao et al. (2018) have the idea of n-grams for the words of a finished space.

    Args:
        averages: Composes words from n-grams, as of `ngram_averages`.
        vectors: Of the words, (n_words, dim).
        penalty: Weight of the squared lengths of n-grams' vectors beside the squared errors.
        progress: How far it is.
    """
    found = np.zeros((averages.shape[1], vectors.shape[1]), dtype=np.float32)
    residual = averages.T @ vectors
    direction, square = residual.copy(), _squares(residual)
    for i in range(ITERATIONS):
        progress(i / ITERATIONS, f"fitting n-grams, {i} of {ITERATIONS}")
        turned = averages.T @ (averages @ direction) + np.float32(penalty) * direction
        # A column that is solved already has nothing left to divide.
        size = square / np.maximum(np.einsum("ij,ij->j", direction, turned), _TINY)
        found += size * direction
        residual -= size * turned
        before, square = square, _squares(residual)
        direction = residual + square / np.maximum(before, _TINY) * direction
    return found


def _squares(rows: Floats) -> Floats:
    return np.einsum("ij,ij->j", rows, rows)
