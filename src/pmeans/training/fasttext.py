"""fastText (Bojanowski et al. 2017): skip-gram with subwords on running text.

A word is the mean of its own row and those of its n-grams; `pmeans.training.word2vec` has the rest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path

from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training import word2vec
from pmeans.training.corpus import TextFile
from pmeans.types import Progress


@dataclass(frozen=True)
class FastText(word2vec.Settings):
    """Train a space of one language on running text, with subwords and the inherited settings.

    Attributes:
        name: What recipes will call the space.
        lang: Language of the text.
        texts: The files.
        limit: At most this many lines of each file, the first ones.
        licence: The terms of the text, if they should be kept with the space.
    """

    name: str
    lang: str
    texts: tuple[TextFile, ...]
    limit: int | None = None
    licence: str = ""
    _: KW_ONLY
    window: int = 5
    min_count: int = 5
    buckets: int = 200_000
    subsample: float = 1e-4

    def beside(self, folder: Path) -> FastText:
        """Return the same trainer with its relative paths taken from a folder."""
        return replace(self, texts=tuple(file.beside(folder) for file in self.texts))

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint."""
        self._check()
        collector = word2vec.Collector()
        for file in self.texts:
            progress(0.0, f"reading {Path(file.path).name}")
            for sentence in file.sentences(self.lang, word2vec.LONGEST, self.limit):
                collector.add([(self.lang, sentence)])
        corpus = collector.corpus(self.min_count, self.seed)
        vectors, subwords = word2vec.train(
            corpus, self, shuffle=False, progress=progress, checkpoint=checkpoint
        )
        files = ", ".join(Path(file.path).name for file in self.texts)
        return WordSpace.from_words(
            self.name,
            corpus.words,
            vectors,
            subwords=subwords,
            source=f"fastText on {files}",
            licence=self.licence or f"terms of its material: {files}",
        )

    def _check(self) -> None:
        word2vec.check_language(self.lang)
        if not self.texts:
            raise InputError("texts names no file; add a [[texts]] with a path.")
        if not self.buckets:
            raise InputError("buckets must be at least 1, not 0.")
