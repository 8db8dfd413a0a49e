"""Random vectors: a control that knows words and no meanings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pmeans.config import Count, Seed, check
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Progress


@dataclass(frozen=True)
class RandomVectors(Trainer):
    """Give the words of a space random vectors.

    Numbers are normal, as large on average as those of the space. Phrases stay, n-grams do not.

    Attributes:
        space: Whose words these are.
        dim: Number of columns; that of the space if None.
        seed: Of the numbers.
    """

    name: str
    space: SpaceRef
    dim: Count | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        check(self)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Draw the vectors; the checkpoint is not used."""
        space = find_space(self.space)
        progress(0.0, f"{len(space):,} words of {space.name}")
        generator = np.random.default_rng(self.seed)
        shape = (len(space), self.dim or space.dim)
        vectors = generator.standard_normal(shape, dtype=np.float32)
        vectors *= np.sqrt(np.mean(np.square(space.rows(slice(None))), dtype=np.float64))
        progress(1.0, f"{shape[1]} random numbers each")
        plain = replace(space, matrix=vectors, scale=None, subwords=None, path="")
        return replace(plain, name=self.name, source=f"random vectors of the words of {space.name}")
