"""Pairs of translations among rows of two languages, by the margin criterion.

The cosine of two sentences that translate each other depends on what they are about, and some
sentences are near to everything. So a pair is scored by how much nearer its two sentences are to
each other than to their k nearest neighbours in the other language, on average (Artetxe and Schwenk
2019, the ratio)::

    margin(x, y) = 2 cos(x, y) / (mean of cos(x, its k neighbours) + mean of cos(y, its k))

Every sentence proposes the neighbour of its largest margin, in both directions. Of all proposals
the best are taken first, each sentence at most once. A threshold is chosen for the text at hand:
held-out translations that the model carries are mixed into it, half of them on one side only, and
the margin is taken at which their F1 is best. ``lab/results/mining`` measures all this.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.search.stored import StoredRows
from pmeans.types import Array, Floats, Ints

NEIGHBOURS = 4
"""Of a sentence in the other language, by which its closeness is measured."""
_FEW = 50  # held-out pairs, with fewer of which no threshold is chosen


class NoThresholdError(InputError):
    """None can be chosen; callers add what to do."""


class Proposals(NamedTuple):
    """Pairs of rows with their margins and cosines: four arrays (n,)."""

    first: Ints
    second: Ints
    scores: Floats
    cosines: Floats

    def of(self, which: Array) -> Proposals:
        """Return some of them, by a mask or by numbers."""
        first, second, scores, cosines = self
        return Proposals(first[which], second[which], scores[which], cosines[which])


def translated_rows(
    encoder: SentenceEncoder,
    codes: Sequence[str],
    stores: Sequence[StoredRows],
    is_known: Callable[[str], bool],
    threshold: float | None = None,
) -> tuple[Proposals, float]:
    """Pair the rows of two languages, best first, and return the least margin as well.

    Args:
        encoder: What made the rows.
        codes: The languages.
        stores: Rows of either, to which those of held-out translations are added.
        is_known: Tells normalised texts that the rows were made of: they cannot be held out.
        threshold: The least margin; None chooses it.

    Raises:
        NoThresholdError: The translations that the model carries are not enough to choose one.
    """
    sizes, pivot, held = [len(store) for store in stores], _pivot(encoder), None
    if threshold is None and pivot is None:
        raise NoThresholdError(
            f"the model {encoder.name!r} carries no translations to choose a threshold by"
        )
    if threshold is None and pivot not in codes:
        threshold = max(_usual_threshold(encoder, code) for code in codes)
    if threshold is None:
        held = HeldOut.of(encoder, codes, is_known)
        for store, texts, code in zip(stores, held.texts, codes, strict=True):
            store.append(encoder.encode(texts, lang=code))
    proposed = proposals(*stores)
    own = (proposed.first < sizes[0]) & (proposed.second < sizes[1])
    if held is not None:
        threshold = held.threshold(proposed.of(~own), *sizes)
    least = float(threshold or 0)
    return one_to_one(proposed.of(own & (proposed.scores >= np.float32(least)))), least


def proposals(first: StoredRows, second: StoredRows) -> Proposals:
    """Return for each row of both sides the row of the other side with the largest margin."""
    k = min(NEIGHBOURS, len(first), len(second))
    sides = [second.nearest(first.array, k), first.nearest(second.array, k)]
    # Across the origin there is no closeness. So the mean of a row with any neighbour at a positive
    # cosine is positive.
    means = [np.maximum(cosines, 0).mean(axis=1) for _, cosines in sides]
    columns = []
    for side, (numbers, cosines) in enumerate(sides):
        able = (numbers >= 0) & (cosines > 0)
        sums = means[side][:, None] + means[1 - side][np.maximum(numbers, 0)]
        margins = np.where(able, 2 * cosines / np.where(able, sums, 1), 0).astype(np.float32)
        rows, best = np.arange(len(numbers)), margins.argmax(axis=1)
        pair = (rows, numbers[rows, best])[:: 1 if side == 0 else -1]
        some = margins[rows, best] > 0
        columns.append([x[some] for x in (*pair, margins[rows, best], cosines[rows, best])])
    return Proposals(*map(np.concatenate, zip(*columns, strict=True)))


def one_to_one(proposed: Proposals) -> Proposals:
    """Take the best proposals first, and each row once."""
    order = np.lexsort((proposed.second, proposed.first, -proposed.scores))
    taken: tuple[set[int], set[int]] = set(), set()
    picked = []
    for number, *pair in zip(
        order.tolist(), proposed.first[order].tolist(), proposed.second[order].tolist(), strict=True
    ):
        if not any(row in rows for row, rows in zip(pair, taken, strict=True)):
            picked.append(number)
            for row, rows in zip(pair, taken, strict=True):
                rows.add(row)
    return proposed.of(np.array(picked, dtype=np.int64))


@dataclass(frozen=True)
class HeldOut:
    """Translations that a model carries, half of them on both sides and the rest on one.

    Attributes:
        texts: Of either side.
        numbers: Of the pair that each is from.
    """

    texts: tuple[list[str], list[str]]
    numbers: tuple[list[int], list[int]]

    @classmethod
    def of(
        cls, encoder: SentenceEncoder, codes: Sequence[str], is_known: Callable[[str], bool]
    ) -> HeldOut:
        """Return those of two languages of which no text is known."""
        pairs = _carried(encoder, codes)
        fresh = [pair for pair in pairs if not any(is_known(normalised(text)) for text in pair)]
        if len(fresh) < _FEW:
            raise NoThresholdError(
                f"the model {encoder.name!r} carries {len(fresh)} translations between "
                f"{codes[0]!r} and {codes[1]!r} that are not in the text, too few to choose a "
                "threshold by"
            )
        texts: tuple[list[str], list[str]] = [], []
        numbers: tuple[list[int], list[int]] = [], []
        for number, pair in enumerate(fresh):
            for side in (0, 1):
                if number % 4 != 3 - side:
                    texts[side].append(pair[side])
                    numbers[side].append(number)
        return cls(texts, numbers)

    def threshold(self, proposed: Proposals, n_first: int, n_second: int) -> float:
        """Return the margin at which the F1 of the held-out pairs is best.

        Args:
            proposed: Proposals with a held-out text on one side at least.
            n_first: Texts before them on the first side.
            n_second: The same on the second.
        """
        each = one_to_one(proposed)
        numbers = [
            np.array([-1 - side, *listed])[np.maximum(rows - n + 1, 0)]
            for side, (listed, rows, n) in enumerate(
                zip(self.numbers, each[:2], (n_first, n_second), strict=True)
            )
        ]
        right = np.cumsum(numbers[0] == numbers[1])
        if not len(right) or not right[-1]:
            raise NoThresholdError(
                "no threshold can be chosen, as none of the held-out translations was found again"
            )
        n_pairs = len({*self.numbers[0]} & {*self.numbers[1]})
        f1 = 2 * right / (np.arange(1, len(right) + 1) + n_pairs)
        return float(each.scores[f1.argmax()])


def normalised(text: str) -> str:
    """Return a text as it is compared with others: the same case, forms of characters, spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _pivot(encoder: SentenceEncoder) -> str | None:
    """Return the language that all carried translations are of; None if there are none."""
    known = encoder.translations if isinstance(encoder, PowerMeanEncoder) else None
    return known.pivot if known else None


def _carried(encoder: SentenceEncoder, codes: Sequence[str]) -> list[tuple[str, str]]:
    """Return translations from the first language to the second, one of which is the pivot."""
    known = encoder.translations if isinstance(encoder, PowerMeanEncoder) else None
    if known is None:
        return []
    if known.pivot == codes[0]:
        return [*known.pairs.get(codes[1], ())]
    return [(second, first) for first, second in known.pairs.get(codes[0], ())]


def _usual_threshold(encoder: SentenceEncoder, code: str) -> float:
    """Return the threshold between the pivot and a language, with no other text around."""
    codes = (_pivot(encoder) or "", code)
    stores = (StoredRows(encoder.dim), StoredRows(encoder.dim))
    return translated_rows(encoder, codes, stores, lambda text: False)[1]
