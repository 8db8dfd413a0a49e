"""Words that a space lacks, with the vector of the word that they are a form of.

::

    kind = "forms"
    name = "taught-forms"
    space = "taught"

A Russian noun has a dozen forms, and a dictionary has one of them. The commonest words of a
language are listed by the package wordfreq. Of those that the space lacks, simplemma tells the
lemma, the form that dictionaries have, and its vector becomes that of the word. So n-grams that are
fitted afterwards (`subwords`) learn endings as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pmeans.errors import ConfigError, InputError
from pmeans.files import optional
from pmeans.spaces import edit
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.trainer import SpaceRef, Trainer
from pmeans.types import Progress


@dataclass(frozen=True)
class Forms(Trainer):
    """Give a space the common forms of its words.

    Attributes:
        name: Of the new space.
        space: The one that lacks them.
        words: Of each language, so many commonest words are looked at.
    """

    name: str
    space: SpaceRef
    words: int = 200_000

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ConfigError(f"words must be at least 1, not {self.words}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Find the lemmas; the checkpoint is not used, as it takes a minute at most."""
        space = find_space(self.space)
        lemmas = {}
        for i, lang in enumerate(space.tables):
            progress(i / len(space.tables), f"forms of {lang}")
            lemmas[lang] = self._lemmas(space, lang)
        n = sum(map(len, lemmas.values()))
        if not n:
            raise InputError(
                f"{space.name!r} lacks no common form of its words in {', '.join(lemmas)}."
            )
        progress(1.0, f"{n:,} forms added")
        vectors = [space.vectors(list(found.values()), lang)[0] for lang, found in lemmas.items()]
        words = {lang: list(found) for lang, found in lemmas.items()}
        return edit.add_words(space, words, np.concatenate(vectors), self.name)

    def _lemmas(self, space: WordSpace, lang: str) -> dict[str, str]:
        """Return common words that a space lacks, and their lemmas, which it has."""
        wordfreq = optional("wordfreq", "train", "finding forms")
        simplemma = optional("simplemma", "train", "finding forms")
        try:
            common = wordfreq.top_n_list(lang, self.words, ascii_only=False)
            simplemma.lemmatize(common[0], lang=lang)
        except (LookupError, ValueError) as error:
            raise InputError(
                f"there are no forms of {lang!r}: wordfreq and simplemma must know the language."
            ) from error
        listed = [word for word in common if word.isalpha()]
        lacking = [listed[i] for i in np.flatnonzero(space.find(listed, lang) < 0).tolist()]
        lemmas = [simplemma.lemmatize(word, lang=lang).lower() for word in lacking]
        known = space.find(lemmas, lang) >= 0
        return {word: lemma for word, lemma, has in zip(lacking, lemmas, known, strict=True) if has}
