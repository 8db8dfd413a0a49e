"""fastText (Bojanowski et al. 2017): skip-gram with subwords on running text.

A word is the mean of its own row and those of its n-grams; `pmeans.training.word2vec` has the rest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path

from pmeans.errors import InputError
from pmeans.training import word2vec
from pmeans.training.corpus import TextFile
from pmeans.types import Progress


@dataclass(frozen=True)
class FastText(word2vec.SkipGram):
    """Train a space of one language on running text, with subwords and the inherited settings.

    Attributes:
        lang: Language of the text.
        texts: The files.
        limit: At most this many lines of each file, the first ones.
    """

    shuffle = False
    lang: str
    texts: tuple[TextFile, ...]
    limit: int | None = None
    _: KW_ONLY
    window: int = 5
    min_count: int = 5
    buckets: int = 200_000
    subsample: float = 1e-4

    def _collect(self, collector: word2vec.Collector, progress: Progress) -> tuple[str, str]:
        word2vec.check_language(self.lang)
        if not self.texts:
            raise InputError("texts names no file; add a [[texts]] with a path.")
        if not self.buckets:
            raise InputError("buckets must be at least 1, not 0.")
        for file in self.texts:
            progress(0.0, f"reading {Path(file.path).name}")
            for sentence in file.sentences(self.lang, word2vec.LONGEST, self.limit):
                collector.add([(self.lang, sentence)])
        files = ", ".join(Path(file.path).name for file in self.texts)
        return f"fastText on {files}", files
