"""CVM-add (Hermann and Blunsom, 2014): sums of words that lie near the sums of translations.

A sentence is the sum of its words' vectors. With a and b that mean the same, and n any other
sentence of b's language::

    E(a, b, n) = max(0, m + |a - b|^2 - |a - n|^2)
    J          = sum over pairs, over k sentences n, of E(a, b, n) + E(b, a, n')
                 + lambda / 2 |theta|^2

m is the margin; n' is a sentence of a's language. The n of a pair are others of its batch, which is
drawn at random. Any number of files, and so of languages, is trained together: English of en-de and
of en-fr is the same English. The term of lambda is shared out among the occurrences of a word, so
that an epoch has it once.

The result is a word space. Its encoder is the sum over it, `pmeans_lab.baselines.cvm_add.encoder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from pmeans.choices import Precision
from pmeans.config import Count, Range, Rate, Seed
from pmeans.errors import InputError
from pmeans.models.baselines import plain_mean
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans.training.trainer import BaselineTrainer, SpaceRef, Trainer
from pmeans.types import Array, Ints, Progress, Tokenizer
from pmeans_lab.baselines.cvm_add.encoder import SumEncoder
from pmeans_lab.baselines.row_descent import Descent, SentenceTrainer, Tensor, cut, sums
from pmeans_lab.baselines.sentence_ids import Sentences, paired


@dataclass(frozen=True)
class CvmAdd(SentenceTrainer[WordSpace], Trainer):
    """Train a space of several languages on pairs of sentences.

    Attributes:
        name: Of the space.
        pairs: The files of pairs.
        dim: Length of a vector; 1000 is the power-mean paper's, 128 the authors'.
        words: So many words of each language have a vector at most, the most frequent ones.
        min_count: Rarer words have none.
        noise: Other sentences that each side of a pair is compared with.
        margin: m; None is `dim`, as the authors have it.
        penalty: lambda.
        epochs: Passes over the pairs.
        batch: Pairs per step.
        rate: How far a word moves in its first step; vectors start about sqrt(dim / 10) long.
        precision: How the vectors are stored.
        minutes: After the first epoch, none is begun that is likely to end later; None has no
            limit.
        seed: Of everything random.
        licence: The terms of the material, if they should be kept with the space.
    """

    name: str
    pairs: tuple[PairFile, ...]
    dim: Count = 1000
    words: Annotated[int, Range(2)] = 20_000
    min_count: Count = 2
    noise: Count = 10
    margin: Rate | None = None
    penalty: Annotated[float, Range(0)] = 1.0
    epochs: Count = 20
    batch: Annotated[int, Range(2)] = 512
    rate: Rate = 3.0
    precision: Precision = "float16"
    minutes: Rate | None = None
    seed: Seed = 0
    licence: str = field(default="", kw_only=True)

    method: ClassVar[str] = "CVM-add"
    fitted_by: ClassVar[tuple[str, ...]] = (
        "dim", "noise", "margin", "penalty", "epochs", "batch", "rate", "precision", "seed",
    )  # fmt: skip

    @property
    def files(self) -> tuple[PairFile, ...]:
        """The files of pairs."""
        return self.pairs

    def samples(self, progress: Progress) -> Sentences:
        """Read the pairs."""
        return paired(self.pairs, self.words, self.min_count, self.seed, progress)

    def descent(self, sentences: Sentences) -> Descent:
        """Return vectors about sqrt(dim / 10) long, and the steps over pairs."""
        directions = _directions(sentences)
        if max(map(len, directions)) < 2:
            raise InputError(
                f"{self.file_names}: no two pairs of the same two languages to tell apart."
            )
        return _Descent(self, sentences, directions)

    def joined(self, sentences: Sentences, fitted: Mapping[str, Array]) -> WordSpace:
        """Return the space of fitted vectors."""
        return self.space(sentences, fitted, self.licence)


class _Descent(Descent):
    how: CvmAdd

    def __init__(self, how: CvmAdd, sentences: Sentences, directions: list[Ints]) -> None:
        """Take the numbers of the pairs of each two languages."""
        first = how.first_rows(len(sentences.counts)) * np.float32(np.sqrt(0.1))
        super().__init__(how, {"words": first}, sentences)
        self.margin = how.dim if how.margin is None else how.margin
        self.pairs = self.put(sentences.pairs).long()
        self.shares = self.put((how.penalty / 2 / _occurrences(sentences)).astype(np.float32))
        self.directions = directions

    def batches(self, rng: np.random.Generator) -> list[Ints]:
        """Draw batches of pairs of the same two languages; a single pair has no others."""
        drawn = [
            part
            for which in self.directions
            for part in cut(rng.permutation(which), self.how.batch)
            if len(part) > 1
        ]
        return [drawn[i] for i in rng.permutation(len(drawn))]

    def step(self, batch: Ints, generator: Tensor) -> Tensor:
        torch, n = self.torch, len(batch)
        places, owner, _ = self.words_of(self.pairs[self.put(batch)].T.reshape(-1))
        ids = self.ids[places]
        # A sentence and the one after it, the one after that, ...: the batch has no order.
        size = (min(self.how.noise, n - 1),)
        shifts = torch.randint(1, n, size, generator=generator, device=self.device)
        others = (torch.arange(n, device=self.device)[:, None] + shifts) % n

        def found(rows: dict[str, Tensor], at: dict[str, Tensor]) -> Tensor:
            vectors = rows["words"][at["words"]]
            both = sums(torch, vectors, owner, 2 * n)
            kept = (self.shares[ids] * (vectors * vectors).sum(1)).sum()
            return (loss(torch, both[:n], both[n:], others, self.margin) + kept) / n

        return self.move({"words": ids}, found)


def _occurrences(sentences: Sentences) -> Ints:
    """Return how often an epoch meets each word, at least 1, (n_words,)."""
    visits = np.bincount(sentences.pairs.reshape(-1), minlength=len(sentences))
    tokens = np.repeat(visits, sentences.lengths)
    found = np.bincount(sentences.ids, weights=tokens, minlength=len(sentences.counts))
    return np.maximum(found, 1).astype(np.int64)


def _directions(sentences: Sentences) -> list[Ints]:
    """Return the numbers of the pairs of each two languages."""
    borders = np.cumsum([len(words) for words in sentences.words.values()])
    begins = sentences.offsets[sentences.pairs]  # of no empty sentence
    langs = np.searchsorted(borders, sentences.ids[begins], side="right")
    codes = langs[:, 0] * len(borders) + langs[:, 1]
    return [np.flatnonzero(codes == code) for code in np.unique(codes)]


def loss(torch: Any, first: Tensor, second: Tensor, others: Tensor, margin: float) -> Tensor:
    """Return the sum of E over pairs, in both directions.

    Args:
        torch: The package.
        first: Sums of sentences, (n, dim).
        second: Sums of their translations, (n, dim).
        others: For each pair, the places of k other pairs, (n, k).
        margin: m.
    """
    near = ((first - second) ** 2).sum(1)
    distances = squared_distances(first, second)
    there = margin + near[:, None] - distances.gather(1, others)
    back = margin + near[:, None] - distances.T.gather(1, others)
    return torch.relu(there).sum() + torch.relu(back).sum()


def squared_distances(first: Tensor, second: Tensor) -> Tensor:
    """Return |a - b|^2 of all rows, (n_first, n_second)."""
    squares = (first * first).sum(1)[:, None] + (second * second).sum(1)
    return squares - 2 * first @ second.T


@dataclass(frozen=True)
class AsSum(BaselineTrainer):
    """Make the sum over a word space an encoder.

    Attributes:
        space: The word vectors.
        name: Of the encoder.
        tokenizer: As in a recipe.
    """

    space: SpaceRef
    name: str
    tokenizer: Tokenizer = "words"

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> SumEncoder:
        """Open the space; there is nothing to train."""
        return SumEncoder(self.name, plain_mean(find_space(self.space), self.name, self.tokenizer))
