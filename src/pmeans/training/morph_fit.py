"""Morph-fitting (Vulić et al. 2017): forms of one word together, a word and its negation apart.

The pairs come from rules over the space's own words (`pmeans.training.morphology`), so that nothing
but the space is needed; the objective is that of Attract-Repel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pmeans.errors import ConfigError
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.constraints import Constraints, clean
from pmeans.training.rules import MORPHOLOGY
from pmeans.training.specialise import Objective
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Ints, Progress


@dataclass(frozen=True, kw_only=True)
class MorphFit(Objective, Trainer):
    """Specialise a space by the morphology of its languages.

    Attributes:
        name: What the new space is called.
        space: The space to start from: an installed name, or a path.
        languages: Whose rules to apply: ``"en"``, ``"de"``, ``"fr"``.
    """

    name: str
    space: SpaceRef
    languages: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for lang in self.languages:
            if lang not in MORPHOLOGY:
                raise ConfigError(f"no morphology of {lang!r}; there is {', '.join(MORPHOLOGY)}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Return the specialised space; the same bytes for the same seed and material."""
        space = find_space(self.space)
        constraints = morphological(space, self.languages)
        progress(0.0, f"{constraints} from the words of {space.name}")
        return self.specialise(
            space, constraints, name=self.name, progress=progress, checkpoint=checkpoint
        )


def morphological(space: WordSpace, languages: tuple[str, ...]) -> Constraints:
    """Return what the rules of some languages find among the words of a space."""
    near, far = [_NO_PAIRS], [_NO_PAIRS]
    for lang in languages:
        words = list(space.words(lang))
        for found, pairs in (
            (near, MORPHOLOGY[lang].attract(words)),
            (far, MORPHOLOGY[lang].repel(words)),
        ):
            flat = space.find([word for pair in pairs for word in pair], lang)
            found.append(flat.reshape(-1, 2))
    return clean(len(space), np.concatenate(near), np.concatenate(far), _NO_PAIRS)


_NO_PAIRS: Ints = np.empty((0, 2), dtype=np.int64)
