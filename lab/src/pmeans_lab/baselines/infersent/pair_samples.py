"""Pairs of sentences with a class, as word ids: what InferSent is trained on.

Translation detection takes a sentence and its translation, or the same sentence and a translation
of another one. The other one is of the same source of the same file, as it is in the paper, which
has one source per language: otherwise a bible verse beside a line of a user interface would be
told apart by its style. A sentence may have several translations; a pair that shares a sentence
with another is never taken for an unrelated one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, get_args

import numpy as np

from pmeans.errors import FormatError, InputError
from pmeans.spaces.space import WordSpace
from pmeans.tensors import decoded, map_tensors, write_tensors
from pmeans.training.corpus import Pair, Portion
from pmeans.types import Array, Floats, Ids, Ints
from pmeans_lab.baselines.infersent.encoder import word_ids

DETECTED = ("translation", "unrelated")
"""The classes of translation detection, in the order of their numbers."""
PORTIONS: tuple[Portion, ...] = get_args(Portion)
_TRIES = 20
_ARRAYS = ("vectors", "ids", "offsets", "first", "second", "labels", "groups", "portions")


@dataclass(frozen=True, eq=False)
class Samples:
    """Pairs of sentences that have known words on both sides.

    Attributes:
        vectors: Of the words that occur, (n_words, dim), as the space stores them.
        scale: What an int8 row is multiplied by, (n_words,) float32.
        ids: Words of all sentences, (n_tokens,) int32.
        offsets: Sentence i has ``ids[offsets[i]:offsets[i + 1]]``, (n_sentences + 1,).
        first: The first sentence of each sample, (n,).
        second: The second, (n,).
        labels: Its class, (n,).
        groups: Which of `names` it belongs to, (n,).
        portions: Which of `PORTIONS` it belongs to, (n,).
        names: What each group of samples is, such as ``td en-de``.
        classes: The names of the classes.
    """

    vectors: Array
    scale: Floats | None
    ids: Ids
    offsets: Ints
    first: Ints
    second: Ints
    labels: Ints
    groups: Ints
    portions: Ints
    names: tuple[str, ...]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, portion: Portion) -> Ints:
        """Return the numbers of the samples of a part, (n,)."""
        return np.flatnonzero(self.portions == PORTIONS.index(portion))

    def lengths(self) -> Ints:
        """Return the number of words of each sentence, (n_sentences,)."""
        return np.diff(self.offsets)

    def words(self) -> Floats:
        """Return the vectors as numbers, (n_words, dim) float32."""
        return decoded(self.vectors, self.scale)

    def arrays(self) -> dict[str, Array]:
        """Return all arrays by name."""
        found = {name: getattr(self, name) for name in _ARRAYS}
        return found | ({} if self.scale is None else {"scale": self.scale})

    def save(self, path: str | Path) -> None:
        """Write them as one file, to train on where the text and the space are not."""
        told = {"names": list(self.names), "classes": list(self.classes)}
        write_tensors(path, self.arrays(), {"format": "pmeans-samples", "told": json.dumps(told)})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        arrays, metadata = map_tensors(path)
        if metadata.get("format") != "pmeans-samples" or {*_ARRAYS} - arrays.keys():
            raise FormatError(f"{path}: no samples of pairs of sentences.")
        told = json.loads(metadata["told"])
        kept = {name: arrays[name] for name in _ARRAYS}
        names, classes = tuple(told["names"]), tuple(told["classes"])
        return cls(**kept, scale=arrays.get("scale"), names=names, classes=classes)


@dataclass
class Gatherer:
    """Collects samples as text; `samples` looks all their words up at once."""

    classes: tuple[str, ...]
    names: list[str] = field(default_factory=list)
    _numbers: dict[str, dict[str, int]] = field(default_factory=dict)
    _rows: list[Ints] = field(default_factory=list)

    def add(
        self,
        name: str,
        portion: Portion,
        langs: tuple[str, str],
        pairs: Sequence[tuple[str, str]],
        labels: Sequence[str],
    ) -> None:
        """Add pairs of sentences and the names of their classes."""
        if name not in self.names:
            self.names.append(name)
        sides = []
        for side, lang in enumerate(langs):
            numbers = self._numbers.setdefault(lang, {})
            sides.append([numbers.setdefault(pair[side], len(numbers)) for pair in pairs])
        where = [list(self._numbers).index(lang) for lang in langs]
        at = self.names.index(name), PORTIONS.index(portion)
        classes = [self.classes.index(label) for label in labels]
        fixed = np.tile([*where, *at], (len(pairs), 1))
        self._rows.append(np.column_stack([*sides, classes, fixed]).astype(np.int64))

    def samples(self, space: WordSpace, n_threads: int | None = None) -> Samples:
        """Look the words up; samples with a side without known words are left out."""
        batches = [
            word_ids(list(numbers), space, lang, "words", n_threads)
            for lang, numbers in self._numbers.items()
        ]
        starts = np.cumsum([0, *map(len, batches)])
        lengths = np.concatenate([np.diff(batch.offsets) for batch in batches])
        columns = np.concatenate(self._rows).T
        first, second, labels, here, there, groups, portions = columns
        first, second = first + starts[here], second + starts[there]
        known = (lengths[first] > 0) & (lengths[second] > 0)
        for portion in PORTIONS:
            wanted = portions == PORTIONS.index(portion)
            if not (known & wanted).any():
                raise InputError(
                    f"of {wanted.sum():,} pairs of sentences for {portion}, none has words that "
                    f"{space.name!r} knows on both sides. Are the languages right?"
                )
        used, ids = np.unique(np.concatenate([b.ids for b in batches]), return_inverse=True)
        return Samples(
            vectors=np.ascontiguousarray(space.matrix[used]),
            scale=None if space.scale is None else space.scale[used],
            ids=ids.astype(np.int32),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            first=first[known],
            second=second[known],
            labels=labels[known],
            groups=groups[known],
            portions=portions[known],
            names=tuple(self.names),
            classes=self.classes,
        )


def detection(
    pairs: Sequence[Pair], rng: np.random.Generator
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the pairs, and as many with the translation of another pair, and their classes.

    A few pairs find none that is surely another, such as the only one of its source. They stay
    without an unrelated one.
    """
    by_source: dict[str, list[int]] = {}
    for i, pair in enumerate(pairs):
        by_source.setdefault(pair.source, []).append(i)
    others, waiting = np.arange(len(pairs)), np.arange(len(pairs))
    sources = {source: np.array(found) for source, found in by_source.items()}
    for _ in range(_TRIES):
        for i in waiting.tolist():
            others[i] = rng.choice(sources[pairs[i].source])
        clash = [_related(pairs[i], pairs[others[i]]) for i in waiting.tolist()]
        waiting = waiting[np.array(clash, dtype=np.bool_)]
        if not len(waiting):
            break
    unrelated = np.delete(np.arange(len(pairs)), waiting).tolist()
    if not unrelated:
        raise InputError(
            f"{len(pairs):,} pairs of sentences, and none has another one of its source that is "
            "not the same: nothing to tell translations from."
        )
    found = [(pair.first, pair.second) for pair in pairs]
    found += [(pairs[i].first, pairs[others[i]].second) for i in unrelated]
    return found, [DETECTED[0]] * len(pairs) + [DETECTED[1]] * len(unrelated)


def _related(one: Pair, other: Pair) -> bool:
    return one.first == other.first or one.second == other.second


def accuracies(samples: Samples, right: Array, numbers: Ints) -> dict[str, float]:
    """Return the share of right answers in each group, by its name.

    Args:
        samples: All of them.
        right: Whether each of some samples was classified rightly, (n,).
        numbers: Which samples these are, (n,).
    """
    groups = samples.groups[numbers]
    return {
        name: float(right[groups == i].mean())
        for i, name in enumerate(samples.names)
        if (groups == i).any()
    }
