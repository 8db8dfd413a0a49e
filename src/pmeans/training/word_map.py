"""What surrounds a map of words between languages: spaces and word pairs in, one space out.

Language by language, word pairs are read or aligned, those whose words both spaces have are kept,
and a subclass learns its map from them. Pairs are made when they are asked for: settings that
cannot be meant are refused before minutes go into an alignment. No state is kept but the aligner's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.lexicon import (
    AlignerState,
    MappedLanguage,
    WordPairs,
    open_language,
    vectors_of,
)
from pmeans.training.trainer import SpaceRef, Trainer, within
from pmeans.types import Array, Floats, Ints, Progress


class RowPairs(NamedTuple):
    """Rows of the pivot and of another language that translate each other, (n_pairs,) each."""

    pivot: Ints
    other: Ints
    weights: Array


@dataclass(frozen=True)
class WordMap(Trainer):
    """Languages mapped to a pivot by word pairs.

    Attributes:
        name: Of the space to be made.
        space: Name or file of the pivot's space.
        others: The languages to map, each with its space and word pairs.
        lang: The pivot.
    """

    method: ClassVar[str]
    name: str
    space: SpaceRef
    others: tuple[MappedLanguage, ...]
    lang: str = field(default="en", kw_only=True)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Fit the map of each language, and put all languages into one space.

        Unknown words are no longer composed from subwords.
        """
        langs = [self.lang, *(other.lang for other in self.others)]
        if len(langs) == 1:
            raise InputError("there is no language to map; 'others' must name at least one.")
        if len(set(langs)) < len(langs):
            raise InputError(f"each language may occur once, and these are {', '.join(langs)}.")
        names = [self.space, *(other.space for other in self.others)]
        spaces = [open_language(name, lang) for name, lang in zip(names, langs, strict=True)]
        vectors = [vectors_of(space, lang) for space, lang in zip(spaces, langs, strict=True)]
        pairs = self._pairs(spaces, progress, checkpoint)
        mapped = self._mapped(vectors[0], vectors[1:], pairs)
        progress(1.0, "mapped")
        cases = {space.case for space in spaces}
        licences = dict.fromkeys(space.licence for space in spaces if space.licence)
        return WordSpace.from_words(
            self.name,
            {lang: list(space.words(lang)) for space, lang in zip(spaces, langs, strict=True)},
            np.concatenate(mapped),
            # Spaces that treat case differently agree on trying both.
            case=cases.pop() if len(cases) == 1 else "cased-then-lower",
            source=f"{spaces[0].name} and {', '.join(s.name for s in spaces[1:])} by {self.method}",
            licence="; ".join(licences),
        )

    @abstractmethod
    def _mapped(self, goal: Floats, others: list[Floats], pairs: Iterator[RowPairs]) -> list[Array]:
        """Return new vectors for the pivot and for every other language, all of one width.

        Args:
            goal: The pivot's vectors, (n_words, dim).
            others: Those of the other languages, each of its own width.
            pairs: What the map of each of them is learned from.
        """

    def _pairs(
        self, spaces: list[WordSpace], progress: Progress, checkpoint: Path | None
    ) -> Iterator[RowPairs]:
        n = len(self.others)
        state = AlignerState(checkpoint, self, [other.text for other in self.others])
        for i, (other, space) in enumerate(zip(self.others, spaces[1:], strict=True)):
            pairs = other.pairs(self.lang, state, within(progress, i, n))
            found = _known(pairs, (spaces[0], self.lang), (space, other.lang))
            progress((i + 1) / n, f"mapping {other.lang} by {len(found.weights):,} word pairs")
            yield found


def _known(
    pairs: WordPairs, pivot: tuple[WordSpace, str], other: tuple[WordSpace, str]
) -> RowPairs:
    """Return the pairs whose two words have vectors."""
    (space, lang), (there, foreign) = pivot, other
    one, two = space.find(pairs.first, lang), there.find(pairs.second, foreign)
    both = (one >= 0) & (two >= 0)
    if not both.any():
        raise InputError(
            f"none of the {len(both):,} word pairs has both words in {space.name!r} "
            f"({lang}) and {there.name!r} ({foreign}). "
            "Are the columns the other way round?"
        )
    # Counted from the first word of the language.
    one, two = one - space.tables[lang].start, two - there.tables[foreign].start
    return RowPairs(one[both], two[both], pairs.weights[both])
