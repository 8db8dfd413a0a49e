"""Siamese-CBOW (Kenter, Borisov and de Rijke, 2016): words whose means find neighbouring sentences.

A sentence is the mean of its words' vectors. Among the sentence before, the one after, and some
drawn from all the text, a softmax over cosines shall find the two neighbours::

    p(j | i) = exp cos(s_i, s_j) / sum over k of exp cos(s_i, s_k)
    loss     = - sum over neighbours j of 1/n log p(j | i),    n = 1 or 2 of them

The result is a word space, and the encoder the plain mean over it: a recipe with powers = [1].
Text must be in its order; at the ends of a text, a sentence has one neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.tensors import Precision
from pmeans.training.bivcd import LanguageText
from pmeans.training.row_descent import (
    Descent,
    Tensor,
    Words,
    check_numbers,
    coded,
    cut,
    state_of,
    sums,
)
from pmeans.training.sentence_ids import Sentences, running
from pmeans.training.trainer import Trainer, within
from pmeans.types import Array, Ints, Progress


@dataclass(frozen=True)
class SiameseCbow(Trainer):
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
    dim: int = 300
    words: int = 50_000
    min_count: int = 5
    negatives: int = 2
    epochs: int = 10
    batch: int = 1024
    rate: float = 0.2
    precision: Precision = "float16"
    minutes: float | None = None
    seed: int = 0
    licence: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        least = ("dim", "min_count", "negatives", "epochs", "batch")
        check_numbers(self, dict.fromkeys(least, 1) | {"words": 2})

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Read the text and fit the vectors, from the beginning or from a checkpoint."""
        sentences = self.samples(within(progress, 0, 20))
        fitted = self.fit(sentences, progress=progress, checkpoint=checkpoint)
        return self.joined(sentences, fitted)

    def samples(self, progress: Progress) -> Sentences:
        """Read the text."""
        return running(self.texts, self.words, self.min_count, progress)

    def fit(
        self, sentences: Sentences, *, progress: Progress, checkpoint: Path | None = None
    ) -> dict[str, Array]:
        """Fit the vectors; `joined` makes the space of what this returns."""
        anchors, before, after = neighbours(sentences)
        if not len(anchors):
            names = ", ".join(Path(file.path).name for file in self.texts)
            raise InputError(f"{names}: no two sentences with known words follow each other.")
        rng = np.random.default_rng(self.seed)
        first = rng.standard_normal((len(sentences.counts), self.dim), dtype=np.float32)
        descent = Descent({"words": first / np.float32(np.sqrt(self.dim))}, self.rate)
        torch = descent.torch
        words = Words(descent, sentences)
        filled = descent.put(np.flatnonzero(sentences.lengths))
        around = descent.put(np.stack([anchors, before, after]))

        def step(batch: Ints, generator: Tensor) -> Tensor:
            some = around[:, descent.put(batch)]
            n = len(batch)
            shape = (self.negatives, n)
            drawn = torch.randint(len(filled), shape, generator=generator, device=descent.device)
            numbers = torch.cat([some, filled[drawn]])
            there = numbers >= 0
            # What is not there is the sentence itself: any vector, which the loss does not see.
            numbers = torch.where(there, numbers, numbers[:1])
            places, owner, lengths = words.of(numbers.reshape(-1))

            def found(rows: dict[str, Tensor], at: dict[str, Tensor]) -> Tensor:
                total = sums(torch, rows["words"][at["words"]], owner, numbers.numel())
                means = total / lengths[:, None]
                return loss(torch, means.reshape(*numbers.shape, -1), there[1:])

            return descent.step({"words": words.ids[places]}, found)

        state = state_of(checkpoint, self, _SETTINGS, sentences.digest())
        tables = descent.run(
            step, lambda rng: cut(rng.permutation(len(anchors)), self.batch),
            epochs=self.epochs, minutes=self.minutes, seed=self.seed,
            progress=progress, checkpoint=state,
        )  # fmt: skip
        return coded(tables["words"], self.precision)

    def joined(self, sentences: Sentences, fitted: dict[str, Array]) -> WordSpace:
        """Return the space of fitted vectors."""
        files = ", ".join(Path(file.path).name for file in self.texts)
        return WordSpace.from_words(
            self.name, sentences.words, fitted["vectors"], scale=fitted.get("scale"),
            source=f"Siamese-CBOW on {files}",
            licence=self.licence or f"terms of its material: {files}",
        )  # fmt: skip


_SETTINGS = ("dim", "negatives", "epochs", "batch", "rate", "precision", "seed")


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
