"""Siamese-CBOW (Kenter, Borisov and de Rijke, 2016): words whose means find neighbouring sentences.

A sentence is the mean of its words' vectors. Among the sentence before, the one after, and some
drawn from all the text, a softmax over cosines shall find the two neighbours::

    p(j | i) = exp cos(s_i, s_j) / sum over k of exp cos(s_i, s_k)
    loss     = - sum over neighbours j of 1/n log p(j | i),    n = 1 or 2 of them

The result is a word space, and the encoder the plain mean over it: a recipe with powers = [1].
Text must be in its order; at the ends of a text, a sentence has one neighbour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np

from pmeans.choices import Precision
from pmeans.config import Count, Range, Rate, Seed
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.bivcd import LanguageText
from pmeans.training.trainer import Trainer
from pmeans.types import Array, Ints
from pmeans_lab.baselines.row_descent import Descent, Tensor, TextTrainer, cut, sums
from pmeans_lab.baselines.sentence_ids import Sentences


@dataclass(frozen=True)
class SiameseCbow(TextTrainer[WordSpace], Trainer):
    """Train a space of one language on running text; dim and negatives are the paper's.

    Attributes:
        name: Of the space.
        texts: The files, whose sentences follow each other.
        dim: Length of a vector.
        words: So many words have a vector at most, the most frequent ones.
        min_count: Rarer words have none.
        negatives: Sentences drawn beside the neighbours of each.
        epochs: Passes over the text.
        batch: Sentences per step.
        rate: How far a word moves in its first step; vectors start about 1 long.
        precision: How the vectors are stored.
        minutes: After the first epoch, none is begun that is likely to end later; None has no
            limit.
        seed: Of everything random.
        licence: The terms of the material, if they should be kept with the space.
    """

    name: str
    texts: tuple[LanguageText, ...]
    dim: Count = 300
    words: Annotated[int, Range(2)] = 50_000
    min_count: Count = 5
    negatives: Count = 2
    epochs: Count = 10
    batch: Count = 1024
    rate: Rate = 0.2
    precision: Precision = "float16"
    minutes: Rate | None = None
    seed: Seed = 0
    licence: str = field(default="", kw_only=True)

    method: ClassVar[str] = "Siamese-CBOW"
    fitted_by: ClassVar[tuple[str, ...]] = (
        "dim", "negatives", "epochs", "batch", "rate", "precision", "seed",
    )  # fmt: skip

    def descent(self, sentences: Sentences) -> Descent:
        """Return vectors about 1 long, and the steps over sentences that have neighbours."""
        around = np.stack(neighbours(sentences))
        if not around.size:
            raise InputError(
                f"{self.file_names}: no two sentences with known words follow each other."
            )
        return _Descent(self, sentences, around)

    def joined(self, sentences: Sentences, fitted: Mapping[str, Array]) -> WordSpace:
        """Return the space of fitted vectors."""
        return self.space(sentences, fitted, self.licence)


class _Descent(Descent):
    how: SiameseCbow

    def __init__(self, how: SiameseCbow, sentences: Sentences, around: Ints) -> None:
        """Take the sentences that have neighbours, and those before and after them, (3, n)."""
        first = how.first_rows(len(sentences.counts)) / np.float32(np.sqrt(how.dim))
        super().__init__(how, {"words": first}, sentences)
        self.around = self.put(around)
        self.filled = self.put(np.flatnonzero(sentences.lengths))

    def batches(self, rng: np.random.Generator) -> list[Ints]:
        return cut(rng.permutation(self.around.shape[1]), self.how.batch)

    def step(self, batch: Ints, generator: Tensor) -> Tensor:
        torch = self.torch
        shape = self.how.negatives, len(batch)
        drawn = torch.randint(len(self.filled), shape, generator=generator, device=self.device)
        numbers = torch.cat([self.around[:, self.put(batch)], self.filled[drawn]])
        there = numbers >= 0
        # What is not there is the sentence itself: any vector, which the loss does not see.
        numbers = torch.where(there, numbers, numbers[:1])
        places, owner, lengths = self.words_of(numbers.reshape(-1))

        def found(rows: dict[str, Tensor], at: dict[str, Tensor]) -> Tensor:
            total = sums(torch, rows["words"][at["words"]], owner, numbers.numel())
            means = total / lengths[:, None]
            return loss(torch, means.reshape(*numbers.shape, -1), there[1:])

        return self.move({"words": self.ids[places]}, found)


def neighbours(sentences: Sentences) -> tuple[Ints, Ints, Ints]:
    """Return the sentences that have neighbours, and those before and after them, (n,) each.

    Where there is one neighbour alone, the other is -1.
    """
    filled = np.concatenate([[False], sentences.lengths > 0, [False]])
    numbers = np.arange(len(sentences))
    before = np.where(filled[:-2], numbers - 1, -1)
    after = np.where(filled[2:], numbers + 1, -1)
    having = filled[1:-1] & ((before >= 0) | (after >= 0))
    return numbers[having], before[having], after[having]


def loss(torch: Any, means: Tensor, there: Tensor) -> Tensor:
    """Return the mean loss of a batch.

    Args:
        torch: The package.
        means: Of each sentence, of the one before it, of the one after it, and of others,
            (3 + negatives, n, dim).
        there: Whether all but the first are there, (2 + negatives, n) bool.
    """
    unit = means / means.norm(dim=2, keepdim=True).clamp(min=1e-12)
    cosines = (unit[:1] * unit[1:]).sum(2).masked_fill(~there, -torch.inf)
    logs = cosines.log_softmax(0)[:2].masked_fill(~there[:2], 0)
    return -(logs.sum(0) / there[:2].sum(0)).mean()
