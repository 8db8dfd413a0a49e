"""Means of the words of sentences: fitted to targets, taken, and compared with translations.

With m the mean of a sentence's words and t its target, of length 1, the loss of the fit is

    1 - cos(m, t) - contrast * log softmax(cos(m, u) / 0.05 over the batch's targets u) at t:

the mean shall point to its target, and rather there than to another. The gradient is a few lines,
so NumPy and a sparse product do it; `tests/unit/training/test_bag_means.py` holds it against
finite differences.

A step divides a word's gradient by the length of all its gradients so far (Adagrad, with one
number per word). It comes out as Adam does, in less time, and remembers one number of a word where
Adam remembers two vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmeans import kernels
from pmeans.encoder.postprocess import unit_rows
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.space import WordSpace
from pmeans.training.bags import Bags
from pmeans.training.corpus import Pair, PairFile
from pmeans.types import Array, Floats, Progress

TEMPERATURE = 0.05
_TINY = 1e-8
_REPORTED = 50  # batches between two reports
_ROWS = 2048  # of a matrix of cosines


def pass_over(
    vectors: Floats,
    squares: Floats,
    bags: Bags,
    targets: Array,
    rng: np.random.Generator,
    progress: Progress,
    *,
    batch: int = 512,
    rate: float = 0.1,
    contrast: float = 0.1,
    dropout: float = 0.1,
) -> None:
    """Take a step for every batch of sentences, in random order.

    Args:
        vectors: Of words, (n_words, dim), changed in place.
        squares: As in `step`.
        bags: Sentences.
        targets: Where they shall point, (n_targets, dim), of length 1.
        rng: Says the order, and which words are left out.
        progress: Is told the loss.
        batch: Sentences per step.
        rate: As in `step`. A higher rate forgets the starts of rare words.
        contrast: As in `gradients`.
        dropout: Share of words that a step leaves out, so that words do not rely on each other.
    """
    order = rng.permutation(len(bags))
    for low in range(0, len(order), batch):
        some = order[low : low + batch]
        ids, owner = bags.words_of(some)
        stays = rng.random(len(ids)) >= dropout
        rows, averages = averaging(ids[stays], owner[stays], len(some))
        means = averages @ vectors[rows]
        goals = targets[bags.targets[some]].astype(np.float32)
        loss, d_means = gradients(means, goals, contrast)
        step(vectors, squares, rows, averages.T @ d_means, rate)
        if low % (_REPORTED * batch) == 0:
            progress(low / len(order), f"loss {loss:.3f}")


def averaging(ids: Array, owner: Array, n: int) -> tuple[Array, Any]:
    """Return the distinct words, and the sparse matrix (n, n_distinct) that averages them.

    Args:
        ids: Words of sentences, (n_tokens,).
        owner: Sentence of each, in order, (n_tokens,).
        n: Number of sentences; the mean of one without words is 0.
    """
    from scipy.sparse import csr_array

    rows, places = np.unique(ids, return_inverse=True)
    lengths = np.bincount(owner, minlength=n)
    shares = (1 / lengths[owner]).astype(np.float32)
    borders = np.concatenate([[0], np.cumsum(lengths)])
    return rows, csr_array((shares, places, borders), shape=(n, len(rows)))


def gradients(means: Floats, targets: Floats, contrast: float) -> tuple[float, Floats]:
    """Return the mean loss of a batch, and its gradient in the means, (n, dim).

    Args:
        means: Of each sentence's words, (n, dim).
        targets: Where they shall point, (n, dim), of length 1.
        contrast: How much the comparison with the batch's other targets counts.
    """
    length: Floats = np.maximum(np.sqrt(_rowwise(means, means)), np.float32(_TINY))
    unit: Floats = means / length
    chance = unit @ targets.T / TEMPERATURE  # (n, n): how likely each target is the own one
    chance -= chance.max(axis=1, keepdims=True)
    own = chance.diagonal().copy()
    np.exp(chance, out=chance)
    total = chance.sum(axis=1, keepdims=True)
    chance /= total
    cosines = _rowwise(unit, targets)[:, 0]
    loss = 1 - cosines - contrast * (own - np.log(total[:, 0]))
    pull = contrast / TEMPERATURE
    d_unit = chance @ targets * pull - (1 + pull) * targets
    d_means = (d_unit - _rowwise(d_unit, unit) * unit) / (length * len(means))
    return float(loss.mean()), d_means


def step(vectors: Floats, squares: Floats, rows: Array, gradient: Floats, rate: float) -> None:
    """Move distinct rows down their gradient.

    Args:
        vectors: (n_words, dim), changed in place.
        squares: Sums of the squared lengths of all gradients so far, (n_words,), changed in place.
        rows: (n_rows,).
        gradient: (n_rows, dim).
        rate: How far a row moves in its first step.
    """
    squares[rows] += _rowwise(gradient, gradient)[:, 0]
    vectors[rows] -= rate / (np.sqrt(squares[rows, None]) + _TINY) * gradient


def _rowwise(a: Floats, b: Floats) -> Floats:
    return np.einsum("ij,ij->i", a, b)[:, None]


def sentence_means(space: WordSpace, lang: str, sentences: Sequence[str]) -> tuple[Floats, Array]:
    """Return the mean of each sentence's known words, (n, dim), and whether it has any, (n,)."""
    table = (space.table(lang), space.case, -1)
    (batch,) = kernels.lookup(sentences, [table], splitting("words", lang))
    means = kernels.power_means(space.matrix, batch, [1.0], scale=space.scale)
    return means, batch.known > 0


def held_out_report(space: WordSpace, file: PairFile, pairs: Sequence[Pair], goals: Array) -> str:
    """Tell the mean cosine of each side to the teacher's vectors, and how many sides meet.

    Args:
        space: The finished one.
        file: Where the pairs come from.
        pairs: Pairs that were not trained on.
        goals: The teacher's vectors of the first sentences, (n_pairs, dim) of length 1.
    """
    if not pairs:
        return f"{file.first}-{file.second} nothing"
    first = sentence_means(space, file.first, [pair.first for pair in pairs])[0]
    second = sentence_means(space, file.second, [pair.second for pair in pairs])[0]
    near, far = (np.einsum("ij,ij->i", unit_rows(side), goals).mean() for side in (first, second))
    share = 100 * retrieved(second, first).mean()
    return (
        f"cosine {file.first} {near:.3f}, {file.second} {far:.3f}, "
        f"{file.second} finds {file.first} among {len(pairs):,}: {share:.1f} %"
    )


def retrieved(first: Floats, second: Floats) -> Array:
    """Return which rows of the first have their own row of the second nearest by cosine, (n,)."""
    unit_second = unit_rows(second)
    nearest = [
        np.argmax(unit_rows(first[low : low + _ROWS]) @ unit_second.T, axis=1)
        for low in range(0, len(first), _ROWS)
    ]
    return np.concatenate(nearest) == np.arange(len(first))
