"""BIVCD (Vulić & Moens 2015): two sides of a pair become one sentence, and word2vec does the rest.

The words of a sentence and of its translation are thrown together and shuffled, anew in every
epoch, so that words meet their translations as they meet their neighbours. Words are keyed by
language: *die* is two words in English and German. Any number of files, and so of languages, is
trained together; English of en-de and of en-fr is the same English, and holds the others together.
With buckets, all languages share the rows of n-grams, and unknown words of each get a vector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training import skipgram
from pmeans.training.corpus import PairFile, words
from pmeans.training.trainer import Progress


@dataclass(frozen=True)
class Bivcd(skipgram.Settings):
    """Train a space of two or more languages on pairs of sentences, with the inherited settings.

    Attributes:
        name: What recipes will call the space.
        pairs: The files.
        licence: The terms of the pairs, if they should be kept with the space.
    """

    name: str
    pairs: tuple[PairFile, ...]
    licence: str = ""

    def beside(self, folder: Path) -> Bivcd:
        """Return the same trainer with its relative paths taken from a folder."""
        return replace(self, pairs=tuple(file.beside(folder) for file in self.pairs))

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint."""
        self._check()
        collector = skipgram.Collector()
        used: set[str] = set()
        for file in self.pairs:
            progress(0.0, f"reading {Path(file.path).name}")
            for pair in file.read(self.seed)["train"]:
                used.add(pair.source)
                first, second = words(pair.first, file.first), words(pair.second, file.second)
                collector.add([(file.first, first), (file.second, second)])
        corpus = collector.corpus(self.min_count, self.seed)
        vectors, subwords = skipgram.train(
            corpus, self, shuffle=True, progress=progress, checkpoint=checkpoint
        )
        files = ", ".join(Path(file.path).name for file in self.pairs)
        named = ", ".join(sorted(used - {""}))
        return WordSpace.from_words(
            self.name,
            corpus.words,
            vectors,
            subwords=subwords,
            source=f"BIVCD on {files}" + (f" ({named})" if named else ""),
            licence=self.licence or f"terms of its material: {named or files}",
        )

    def _check(self) -> None:
        if not self.pairs:
            raise InputError("pairs names no file; add a [[pairs]] with path, first and second.")
        for file in self.pairs:
            skipgram.check_language(file.first)
            skipgram.check_language(file.second)
