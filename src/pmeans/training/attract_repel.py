"""Attract-Repel (Mrkšić et al. 2017): synonyms and translations together, antonyms apart.

Distributional vectors put *cheap* beside *expensive*. Lists of word pairs, of one language or
across languages, correct a finished space: `pmeans.training.specialise` has the objective. For a
space of several languages, pair files with two languages tie them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.constraints import WordPairFile, gather
from pmeans.training.specialise import Objective
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Progress


@dataclass(frozen=True, kw_only=True)
class AttractRepel(Objective, Trainer):
    """Specialise a space by pair files.

    Attributes:
        name: What the new space is called.
        space: The space to start from: an installed name, or a path.
        attract: Synonyms, translations.
        repel: Antonyms; they win over ``attract``.
        without: Pairs to leave out of both, such as those of a similarity test.
    """

    name: str
    space: SpaceRef
    attract: tuple[WordPairFile, ...]
    repel: tuple[WordPairFile, ...] = ()
    without: tuple[WordPairFile, ...] = ()

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Return the specialised space; the same bytes for the same seed and material."""
        space = find_space(self.space)
        constraints = gather(space, self.attract, self.repel, self.without)
        progress(0.0, f"{constraints} from {space.name}")
        return self.specialise(
            space, constraints, name=self.name, progress=progress, checkpoint=checkpoint
        )
