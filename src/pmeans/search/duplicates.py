"""Texts that say the same: equal but for case and spaces, near by cosine, or translations.

Texts are looked at in their order. One whose cosine to an earlier text that stays is at least the
threshold is a duplicate of the nearest such; any other stays. So every text that is taken away has
one that stays in its place, and the answer does not depend on how the work is divided. Rows of what
stays lie in a temporary file (`pmeans.search.stored`).

Translations have lower cosines than repetitions in one language, and no threshold fits them all: of
what stays, `pmeans.search.margins` pairs them, one language with another, and the earlier
text stays. ``lab/results/duplicates`` measures all this.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmeans import models
from pmeans.encoder.postprocess import unit_rows
from pmeans.encoder.sentence_encoder import SentenceEncoder, chunks
from pmeans.errors import InputError
from pmeans.kernels import checked_strings
from pmeans.languages.resolution import Doubts, Languages
from pmeans.search.exact import cosines
from pmeans.search.margins import NoThresholdError, normalised, translated_rows
from pmeans.search.stored import BATCH, StoredRows
from pmeans.types import Array, Floats, Ints

THRESHOLD = 0.9
"""The least cosine of near duplicates."""
_ALONE = -1  # in place of the number of a row


class NearPair(NamedTuple):
    """Two rows that stay, the second of which is the nearest earlier row that stays."""

    row: int
    nearest: int
    cosine: float


@dataclass(frozen=True)
class Duplicates:
    """Which of n texts say the same.

    Attributes:
        representatives: For each text the number of the one that stays for its group, its own if it
            stays itself, (n,).
        nearest: The earlier text that each was found nearest to, -1 if there is none, (n,). Of a
            text that goes, the one that it repeats or translates.
        cosines: Of each with the nearest, (n,); 1 where the texts are the same, and NaN where there
            is none.
    """

    representatives: Ints
    nearest: Ints
    cosines: Floats

    @property
    def rows(self) -> Ints:
        """Numbers of the texts that stay."""
        return np.flatnonzero(self.representatives == np.arange(len(self.representatives)))

    @property
    def groups(self) -> dict[int, list[int]]:
        """The texts of each group that has several, by the number of the one that stays."""
        groups: dict[int, list[int]] = {}
        for row, first in enumerate(self.representatives.tolist()):
            if row != first:
                groups.setdefault(first, [first]).append(row)
        return groups

    def closest(self, n: int = 100) -> list[NearPair]:
        """Return the n nearest pairs of texts that both stay, nearest first.

        These are what a lower threshold would take away next.
        """
        rows = self.rows
        rows = rows[self.nearest[rows] >= 0]
        rows = rows[np.argsort(-self.cosines[rows], kind="stable")][:n]
        columns = (rows, self.nearest[rows], self.cosines[rows])
        return [NearPair(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def dedupe(
    texts: Iterable[str],
    *,
    model: str | Path | SentenceEncoder = "default",
    lang: str | Iterable[str] | None = None,
    threshold: float = THRESHOLD,
    across: bool = False,
    approximate: bool = False,
    n_threads: int | None = None,
) -> Duplicates:
    """Find texts that say the same as an earlier one.

    Args:
        texts: Any number of them: memory holds a few hundred bytes for each, rows lie on disk.
        model: What `pmeans.load` opens, or an encoder.
        lang: Language of all texts, or one for each; None finds it.
        threshold: The least cosine of duplicates. A text without a known word is one only of
            texts that are equal.
        across: Whether translations of a text are duplicates of it as well.
        approximate: Look for duplicates in a graph, which is faster with hundreds of thousands of
            texts and may miss some. It needs the extra ``[search]``.
        n_threads: Threads that encode, and search in a graph; all available ones if None.

    Returns:
        Which texts stay, and which go for which.
    """
    encoder = models.load(model) if isinstance(model, str | Path) else model
    finder = DuplicateFinder(encoder, threshold, across, approximate, n_threads)
    doubts = Doubts()
    for some, langs in chunks(texts, lang, BATCH):
        checked_strings(some)
        finder.add(some, encoder.languages_of(some, langs, n_threads, doubts))
    doubts.warn(stacklevel=2)
    return finder.result()


class DuplicateFinder:
    """Takes texts block by block; the arguments are those of `dedupe`."""

    def __init__(
        self,
        encoder: SentenceEncoder,
        threshold: float = THRESHOLD,
        across: bool = False,
        approximate: bool = False,
        n_threads: int | None = None,
    ) -> None:
        if not 0 < threshold <= 1:
            raise InputError(f"threshold= is a cosine above 0 and at most 1, not {threshold}.")
        self._encoder, self._threshold = encoder, np.float32(threshold)
        self._across, self._approximate, self._n_threads = across, approximate, n_threads
        self._store = StoredRows(encoder.dim, approximate, n_threads)
        self._numbers: list[Ints] = []  # of the rows in the store, block by block
        self._langs: dict[str, list[Ints]] = {}  # for each language places in the store
        self._places: dict[bytes, int] = {}  # of normalised texts
        self._nearest: list[Ints] = []
        self._cosines: list[Floats] = []
        self._stays: list[Array] = []
        self._n = 0

    def add(self, texts: Sequence[str | None], langs: Languages) -> None:
        """Look for duplicates among further texts; one that is None stays as it is.

        ``langs`` are as `SentenceEncoder.languages_of` returns them.
        """
        listed = [text or "" for text in texts]
        rows = self._encoder.encode(listed, lang=langs, n_threads=self._n_threads)
        codes = np.empty(len(texts), dtype=object)
        if self._across:
            for code, which in self._encoder.by_language(listed, langs):
                codes[which] = code
        for start in range(0, len(texts), BATCH):
            some = slice(start, start + BATCH)
            self._add(texts[some], rows.reshape(len(texts), -1)[some], codes[some])

    def _add(self, texts: Sequence[str | None], rows: Floats, codes: Array) -> None:
        numbers = np.concatenate([*self._numbers, np.empty(0, dtype=np.int64)])
        neighbours, closeness = self._store.nearest(rows, 1)
        nearest, best = neighbours[:, 0], closeness[:, 0]
        nearest = np.where(nearest >= 0, numbers[nearest] if len(numbers) else _ALONE, _ALONE)
        stays, live = np.ones(len(texts), dtype=bool), np.zeros(len(texts), dtype=bool)
        able = np.atleast_1d(rows.any(axis=1))
        # As in `exact`: the product says which may be the nearest, and float64 which it is.
        units = unit_rows(rows)  # as the store will have them, so that blocks change no bit
        rough, slack = units @ units.T, 4 * (rows.shape[1] + 8) * 2.0**-24
        for i, text in enumerate(texts):
            if text is None:
                nearest[i], best[i] = _ALONE, np.nan
                continue
            same = self._places.setdefault(_key(normalised(text)), self._n + i)
            if same < self._n + i:
                nearest[i], best[i], stays[i] = same, 1, False
                continue
            if not able[i]:
                nearest[i], best[i] = _ALONE, np.nan
                continue
            near = np.flatnonzero(live[:i] & (rough[i, :i] > best[i] - slack))
            if len(near):
                near = near[rough[i, near] > rough[i, near].max() - slack]
                exact = cosines(np.broadcast_to(units[i], (len(near), rows.shape[1])), units[near])
                if exact.max() > best[i]:  # the earlier one wins a tie
                    nearest[i], best[i] = self._n + near[exact.argmax()], exact.max()
            stays[i] = not best[i] >= self._threshold
            live[i] = stays[i]
        which = np.flatnonzero(live)
        if self._across:
            for code in dict.fromkeys(codes[which]):
                of = np.flatnonzero(codes[which] == code)
                self._langs.setdefault(code, []).append(len(self._store) + of)
        self._store.append(rows[which])
        self._numbers.append(self._n + which)
        self._nearest.append(nearest)
        self._cosines.append(np.where(nearest >= 0, best, np.nan).astype(np.float32))
        self._stays.append(stays)
        self._n += len(texts)

    def result(self) -> Duplicates:
        """Return what was found among all texts."""
        ints, floats = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        nearest = np.concatenate([ints, *self._nearest])
        closeness = np.concatenate([floats, *self._cosines])
        stays = np.concatenate([ints.astype(bool), *self._stays])
        if self._across:
            self._translated(nearest, closeness, stays)
        representatives = np.where(stays, np.arange(self._n), nearest)
        while not np.array_equal(further := representatives[representatives], representatives):
            representatives = further
        return Duplicates(representatives, nearest, closeness)

    def _translated(self, nearest: Ints, closeness: Floats, stays: Array) -> None:
        """Take away translations of what stays, in place."""
        numbers = np.concatenate([*self._numbers, np.empty(0, dtype=np.int64)])
        rows = self._store.array
        places = {code: np.concatenate(some) for code, some in self._langs.items()}
        for codes in itertools.combinations(places, 2):
            sides = [places[code][stays[numbers[places[code]]]] for code in codes]
            if not all(map(len, sides)):
                continue
            stores = []
            for some in sides:
                stores.append(StoredRows(self._encoder.dim, self._approximate, self._n_threads))
                for start in range(0, len(some), BATCH):
                    stores[-1].append(rows[some[start : start + BATCH]])
            try:
                pairs, _ = translated_rows(self._encoder, codes, stores, self._is_known)
            except NoThresholdError as error:
                raise InputError(f"{error}: leave out across=.") from None
            for one, other, _, cosine in zip(*(c.tolist() for c in pairs), strict=True):
                pair = int(numbers[sides[0][one]]), int(numbers[sides[1][other]])
                later = max(pair)
                nearest[later], closeness[later], stays[later] = min(pair), cosine, False

    def _is_known(self, text: str) -> bool:
        return _key(text) in self._places


def _key(text: str) -> bytes:
    """Return what stands for a normalised text: 16 bytes of its hash."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
