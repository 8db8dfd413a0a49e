"""Sentence pairs as a map is trained on them: two matrices, and which rows are for what."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmeans import kernels
from pmeans.encoder.postprocess import unit_rows
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import Pair, PairFile
from pmeans.types import Array, Floats

_ROWS = 2048  # of a matrix of cosines


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
    found = 100 * retrieved(second, first).mean()
    return (
        f"cosine {file.first} {near:.3f}, {file.second} {far:.3f}, "
        f"{file.second} finds {file.first} among {len(pairs):,}: {found:.1f} %"
    )


def retrieved(first: Floats, second: Floats) -> Array:
    """Return which rows of the first have their own row of the second nearest by cosine, (n,)."""
    unit_second = unit_rows(second)
    nearest = [
        np.argmax(unit_rows(first[low : low + _ROWS]) @ unit_second.T, axis=1)
        for low in range(0, len(first), _ROWS)
    ]
    return np.concatenate(nearest) == np.arange(len(first))
