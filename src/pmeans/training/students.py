"""Vectors of words and n-grams that are fitted together, so that translations meet.

The vector of a word is its own, if it has one, plus the sum of the vectors of its n-grams over the
root of their number. A sentence's is the mean of its words'. With e and f the directions of a
sentence and of its translation, and t the teacher's of the sentence, the loss of a pair is

    2 - cos(e, t) - cos(f, t) + contrast * (N(e, t) + N(f, t)) + across * (N(e, f) + N(f, e))
                              + relations * (R(e, t) + R(f, t)),

where N(a, b) = - log softmax(cos(a, b') / T over the b' of a group) at the own b, and R(a, t) is
the cross-entropy between softmax(cos(a, a') / T) and softmax(cos(t, t') / T) over the other
sentences of the group, with T the temperature. So students learn from the teacher and from each
other, and are as near to other students as the teacher's vectors are. Pairs of the same sentence
are not wrong answers and are left out of a softmax. A sentence without a translation is paired with
itself: its two sides lack different words (Gao, Yao and Chen 2021). Own vectors are dropped from
some words of a step, so that n-grams learn to stand alone, and some words from sentences, so that
they do not rely on each other.

A group has sentences that the teacher finds alike, since telling these apart teaches more: a pool
of several batches is halved again and again, by which of two drawn sentences is nearer.

Steps are Adam's, of the rows that a batch has, with one second moment for a row. All random numbers
are NumPy's: another device rounds otherwise and draws the same. torch sums in a fixed order, so the
same machine gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.files import optional
from pmeans.identity import identity
from pmeans.training.trainer import Checkpoint, within
from pmeans.types import Array, Floats, Ids, Ints, Progress

Tensor = Any
"""torch's; it is not imported before it is used."""

BALANCE = 0.5
"""A language with n pairs is drawn from in proportion to n to this power."""
LONGEST = 120
"""Words of a sentence; pairs with a longer one are left out."""
SHORT = 0.1
"""A mean of this length has 0.7 of its direction: words that start at 0 have no direction yet, and
without this their first gradient would be so large that Adam never moves them again."""
COMPARED = 1024
"""Sentences of a group, which are compared with each other."""
POOL = 8
"""Batches whose sentences are grouped together."""
_NEVER = -1e4  # a score whose exponential is 0
_MOVED = 1024  # rows that stay in the cache while they are moved
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_REPORTED = 20  # steps between two reports


@dataclass(frozen=True)
class Lessons:
    """All sentences by the numbers of their words, and which translate each other.

    Attributes:
        ids: Words of all sentences, (n_tokens,) int32.
        offsets: Borders of sentences, (n_sentences + 1,).
        pairs: A sentence of the pivot and a translation, (n_pairs, 2); that of the pivot is also
            the row of its target.
        langs: The language of each translation, by its number, (n_pairs,).
        targets: The teacher's vectors of the pivot's sentences, (n_pivot, dim), of length 1.
        own: The row of a word's own vector, or -1, (n_words,).
        ngrams: Buckets of the n-grams of all words, (n_ngrams,) int32.
        borders: Where those of a word begin, (n_words + 1,).
    """

    ids: Ids
    offsets: Ints
    pairs: Ints
    langs: Ints
    targets: Array
    own: Ints
    ngrams: Ids
    borders: Ints

    def usable(self) -> Ints:
        """Return the pairs of which both sides have words, and not too many, (n,)."""
        lengths = np.diff(self.offsets)[self.pairs]
        return np.flatnonzero(((lengths > 0) & (lengths <= LONGEST)).all(axis=1))


@dataclass(frozen=True)
class Schedule:
    """How students learn; `pmeans.training.taught.Taught` says what the settings are."""

    epochs: int
    batch: int
    rate: float
    contrast: float
    across: float
    relations: float
    temperature: float
    dropout: float
    own_dropout: float
    seed: int


def fit(
    own: Floats,
    n_buckets: int,
    lessons: Lessons,
    how: Schedule,
    progress: Progress,
    checkpoint: Path | None = None,
) -> tuple[Floats, Floats]:
    """Return the own vectors of words, (n_own, dim), and those of n-grams, (n_buckets, dim).

    Args:
        own: What words start from, (n_own, dim). N-grams start from 0.
        n_buckets: Rows that n-grams share.
        lessons: What is learned from.
        how: The settings.
        progress: Is told the loss.
        checkpoint: Where the state is kept after every epoch.
    """
    torch = optional("torch", "train", "to teach words and n-grams")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tables = {"own": own, "ngrams": np.zeros((n_buckets, own.shape[1]), dtype=np.float32)}
    state = {name: _Rows(torch, device, table) for name, table in tables.items()}
    store = Checkpoint(checkpoint, (how, device, identity(own, *vars(lessons).values())))
    epoch = 0
    if saved := store.load():
        arrays, values = saved
        epoch = values["epoch"]
        for name, rows in state.items():
            rows.load(arrays, name)
    students = _Students(torch, device, lessons, how, state)
    while epoch < how.epochs:
        students.learn(epoch, within(progress, epoch, how.epochs))
        epoch += 1
        store.save(
            {key: a for name, rows in state.items() for key, a in rows.arrays(name).items()},
            {"epoch": epoch},
        )
    return state["own"].values.cpu().numpy(), state["ngrams"].values.cpu().numpy()


def epoch_order(langs: Ints, rng: np.random.Generator) -> Ints:
    """Return as many pairs as there are, in random order; rarer languages come more than once.

    Args:
        langs: The language of each pair, by its number, (n,).
        rng: Draws.
    """
    numbers, counts = np.unique(langs, return_counts=True)
    wanted = counts**BALANCE
    quotas = np.rint(len(langs) * wanted / wanted.sum()).astype(np.int64)
    drawn = []
    for number, count, quota in zip(numbers, counts.tolist(), quotas.tolist(), strict=True):
        pairs = np.flatnonzero(langs == number)
        times = -(-quota // count)
        drawn.append(np.concatenate([rng.permutation(pairs) for _ in range(times)])[:quota])
    return rng.permutation(np.concatenate(drawn))


def alike(goals: Floats, size: int, rng: np.random.Generator) -> list[Ints]:
    """Return the numbers of sentences in groups that point to similar places.

    Args:
        goals: The teacher's vectors, (n, dim).
        size: Groups are halved until they would be smaller, so that all are about as large.
        rng: Draws the sentences that halve them.
    """
    groups = [np.arange(len(goals))]
    while len(goals) >= 2 * size * len(groups):
        halves = []
        for group in groups:
            first, second = goals[rng.choice(group, 2, replace=False)]
            nearer = np.argsort(goals[group] @ (second - first), kind="stable")
            halves += np.array_split(group[nearer], 2)
        groups = halves
    return groups


class _Rows:
    """A table of vectors, and Adam's moments of them."""

    def __init__(self, torch: Any, device: str, values: Floats) -> None:
        self.torch = torch
        self.values = torch.tensor(values, device=device)
        self.first = torch.zeros_like(self.values)
        self.second = torch.zeros((len(values), 1), device=device)

    def arrays(self, name: str) -> dict[str, Array]:
        parts = {"values": self.values, "first": self.first, "second": self.second}
        return {f"{name}.{key}": each.cpu().numpy() for key, each in parts.items()}

    def load(self, arrays: dict[str, Array], name: str) -> None:
        for key in ("values", "first", "second"):
            getattr(self, key).copy_(self.torch.from_numpy(arrays[f"{name}.{key}"]))

    def move(self, rows: Tensor, gradient: Tensor, rate: float, step: int) -> None:
        """Take one step of distinct rows, (n,), down their gradient, (n, dim)."""
        at_once = _MOVED if self.values.device.type == "cpu" else max(1, len(rows))
        for some, slope in zip(rows.split(at_once), gradient.split(at_once), strict=True):
            squares = slope.square().mean(dim=1, keepdim=True)
            second = self.second[some].mul_(_SECOND).add_(squares, alpha=1 - _SECOND)
            first = self.first[some].mul_(_FIRST).add_(slope, alpha=1 - _FIRST)
            self.second[some], self.first[some] = second, first
            size = (second / (1 - _SECOND**step)).sqrt_().add_(_TINY)
            self.values.index_add_(0, some, first.div_(size), alpha=-rate / (1 - _FIRST**step))


class _Students:
    """Tables on a device, and the lessons."""

    def __init__(
        self, torch: Any, device: str, lessons: Lessons, how: Schedule, state: dict[str, _Rows]
    ) -> None:
        self.torch, self.device, self.how, self.state = torch, device, how, state
        self.usable = lessons.usable()
        self.pairs, self.langs = lessons.pairs[self.usable], lessons.langs[self.usable]
        self.goals = lessons.targets
        self.steps = max(1, len(self.pairs) // how.batch)
        self.ids, self.offsets = self.put(lessons.ids), self.put(lessons.offsets)
        self.ngrams, self.borders = self.put(lessons.ngrams), self.put(lessons.borders)
        self.own, self.targets = self.put(lessons.own), self.put(lessons.targets)
        has_ngrams = np.diff(lessons.borders) > 0
        self.has_ngrams = self.put(has_ngrams)

    def put(self, array: Array) -> Tensor:
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def learn(self, epoch: int, progress: Progress) -> None:
        """Go through as many pairs as there are."""
        rng = np.random.default_rng([self.how.seed, epoch])
        order = epoch_order(self.langs, rng)
        for i, some in enumerate(self._batches(order, rng)):
            loss = self.step(self.pairs[some], epoch * self.steps + i, rng)
            if i % _REPORTED == 0:
                progress(i / self.steps, f"loss {float(loss):.3f}")

    def _batches(self, order: Ints, rng: np.random.Generator) -> Iterator[Ints]:
        """Yield batches, whose groups of sentences lie side by side."""
        batch = self.how.batch
        size = min(batch, COMPARED)
        for low in range(0, self.steps * batch, POOL * batch):
            pool = order[low : min(low + POOL * batch, self.steps * batch)]
            groups = alike(self.goals[self.pairs[pool, 0]].astype(np.float32), size, rng)
            mixed = pool[np.concatenate([groups[i] for i in rng.permutation(len(groups))])]
            yield from (mixed[i : i + batch] for i in range(0, len(mixed), batch))

    def step(self, pairs: Ints, number: int, rng: np.random.Generator) -> Tensor:
        """Take a step; return the loss."""
        torch, how = self.torch, self.how
        sentences = self.put(pairs.T.reshape(-1))
        words, owner, lengths, begins = self._ragged(self.ids, self.offsets, sentences)
        ordered, order = torch.sort(words, stable=True)
        distinct, counts = torch.unique_consecutive(ordered, return_counts=True)
        places = torch.empty_like(order)
        places[order] = torch.repeat_interleave(self._numbers(len(distinct)), counts)
        distinct = distinct.long()
        stays = self.put(rng.random(len(words)) >= how.dropout)
        shares = stays / lengths.clamp(min=1)[owner]
        keeps = self.put(rng.random(len(distinct)) >= how.own_dropout)
        keeps = (self.own[distinct] >= 0) & (keeps | ~self.has_ngrams[distinct])
        with torch.no_grad():
            buckets, bearer, n_grams, starts = self._ragged(self.ngrams, self.borders, distinct)
            scale = n_grams.clamp(min=1).rsqrt()[:, None]
            vectors = self._sum(buckets.long(), self.state["ngrams"].values, starts) * scale
            vectors[keeps] += self.state["own"].values[self.own[distinct[keeps]]]
            means = self._sum(places, vectors, begins, shares)
        means.requires_grad_(True)
        loss = self.loss(means, self.targets[sentences[: len(pairs)]].float(), sentences)
        loss.backward()
        with torch.no_grad():
            rate = how.rate * (1 - number / (how.epochs * self.steps))
            d_vectors = self._sum(
                owner[order], means.grad, torch.cumsum(counts, 0) - counts, shares[order]
            )
            rows = self.own[distinct[keeps]]
            self.state["own"].move(rows, d_vectors[keeps], rate, number + 1)
            ordered, order = torch.sort(buckets, stable=True)
            rows, counts = torch.unique_consecutive(ordered, return_counts=True)
            begins = torch.cumsum(counts, 0) - counts
            d_ngrams = self._sum(bearer[order], d_vectors * scale, begins)
            self.state["ngrams"].move(rows.long(), d_ngrams, rate, number + 1)
        return loss.detach()

    def loss(self, means: Tensor, targets: Tensor, sentences: Tensor) -> Tensor:
        """Return the loss of pairs whose first sides come first, (2 * n, dim)."""
        torch, how = self.torch, self.how
        surprise = partial(torch.nn.functional.cross_entropy, reduction="sum")
        n = len(targets)
        unit = means * (means.square().sum(dim=1, keepdim=True) + SHORT**2).rsqrt()
        first, second = unit[:n], unit[n:]
        loss = 2 - ((first + second) * targets).sum() / n
        for low in range(0, n, COMPARED):
            some = slice(low, low + COMPARED)
            one, other, goal = (side[some].bfloat16() for side in (first, second, targets))
            same = sentences[:n][some]
            twin = (same[:, None] == same[None, :]).fill_diagonal_(False)
            own = torch.arange(len(same), device=means.device)
            itself = twin.clone().fill_diagonal_(True)
            met = self._logits(one, other, twin)
            to_each_other = surprise(met, own) + surprise(met.T, own)
            loss = loss + how.across * to_each_other / n
            if how.contrast:
                near = (self._logits(side, goal, twin) for side in (one, other))
                to_goals = sum(surprise(each, own) for each in near)
                loss = loss + how.contrast * to_goals / n
            if how.relations:
                wanted = self._logits(goal, goal, itself).softmax(dim=1)
                said = (self._logits(side, side, itself) for side in (one, other))
                related = sum(surprise(each, wanted) for each in said)
                loss = loss + how.relations * related / n
        return loss

    def _logits(self, first: Tensor, second: Tensor, wrong: Tensor) -> Tensor:
        """Return cosines of all with all over the temperature; of wrong answers, next to none.

        Minus infinity would be NaN in products with a probability of 0.
        """
        cosines = (first @ second.T).float()
        return cosines.div(self.how.temperature).masked_fill(wrong, _NEVER)

    def _ragged(
        self, values: Tensor, offsets: Tensor, rows: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return values of some rows, whose each is, how many a row has, and where they begin."""
        torch = self.torch
        begins = offsets[rows]
        lengths = offsets[rows + 1] - begins
        starts = torch.cumsum(lengths, 0) - lengths
        owner = torch.repeat_interleave(self._numbers(len(rows)), lengths)
        return values[self._numbers(len(owner)) + (begins - starts)[owner]], owner, lengths, starts

    def _numbers(self, n: int) -> Tensor:
        return self.torch.arange(n, device=self.device)

    def _sum(
        self, rows: Tensor, table: Tensor, begins: Tensor, weights: Tensor | None = None
    ) -> Tensor:
        """Return sums of rows of a table, (n_bags, dim); a bag's rows go on to the next one's."""
        bag = self.torch.nn.functional.embedding_bag
        return bag(rows, table, begins, mode="sum", per_sample_weights=weights)
