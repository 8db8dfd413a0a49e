"""fastText (Bojanowski et al. 2017): a word is the mean of its own row and those of its n-grams.

What is trained are rows of words and of hash buckets of character n-grams. The space keeps the
finished mean for each known word, and the buckets for the others: an unknown word is the mean of
its n-grams' rows, hashed as `pmeans.kernels.compose` hashes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import numpy as np

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.spaces.readers.fasttext_ngrams import compose_known, ngram_buckets
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.training import skipgram
from pmeans.training.corpus import read_lines, words
from pmeans.training.trainer import Progress
from pmeans.types import Ids, Ints


@dataclass(frozen=True)
class TextFile:
    """A file of running text.

    Attributes:
        path: Where it is. Of a line with tabs only the last column is text.
        wrapped: Whether lines end at the margin, amid a sentence; then line ends are ignored.
    """

    path: str
    wrapped: bool = False


@dataclass(frozen=True)
class FastText:
    """Train a space of one language, with subwords, on running text.

    Attributes:
        name: What recipes will call the space.
        lang: Language of the text.
        texts: The files.
        dim: Length of a vector.
        window: The furthest distance of two words that meet.
        negatives: Random words a centre word.
        epochs: Passes over the text.
        min_count: Rarer words have no row, and are left out.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        buckets: Rows that the n-grams share.
        subsample: Words of a larger share than this are used less often.
        rate: First learning rate.
        seed: Of everything that is drawn.
        threads: With one, the same seed gives the same bytes. More are faster, and do not: they
            share the vectors without locks (Hogwild).
        limit: At most this many lines of each file, the first ones.
        licence: The terms of the text, if they should be kept with the space.
    """

    name: str
    lang: str
    texts: tuple[TextFile, ...]
    dim: int = 300
    window: int = 5
    negatives: int = 10
    epochs: int = 5
    min_count: int = 5
    minn: int = 3
    maxn: int = 6
    buckets: int = 200_000
    subsample: float = 1e-4
    rate: float = 0.025
    seed: int = 1
    threads: int = 1
    limit: int | None = None
    licence: str = ""

    def beside(self, folder: Path) -> FastText:
        """Return the same trainer with its relative paths taken from a folder."""
        files = tuple(replace(file, path=str(folder / file.path)) for file in self.texts)
        return replace(self, texts=files)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train, from the beginning or from a checkpoint."""
        settings = self._checked()
        collector = skipgram.Collector()
        for file in self.texts:
            progress(0.0, f"reading {Path(file.path).name}")
            for sentence in self._sentences(file):
                collector.add([(self.lang, sentence)])
        corpus = collector.corpus(self.min_count, self.seed)
        listed = [word.encode("utf-8", "surrogatepass") for word in corpus.words[self.lang]]
        pieces, borders = self._pieces(listed)
        rows = skipgram.train(
            corpus,
            settings,
            progress=progress,
            checkpoint=checkpoint,
            pieces=(pieces, borders),
            n_rows=len(listed) + self.buckets,
        )
        vectors, ngrams = rows[: len(listed)].copy(), rows[len(listed) :].copy()
        compose_known(listed, vectors, ngrams, self.minn, self.maxn)
        files = ", ".join(Path(file.path).name for file in self.texts)
        return WordSpace.from_words(
            self.name,
            corpus.words,
            vectors,
            subwords=Subwords(ngrams, self.minn, self.maxn),
            source=f"fastText on {files}",
            licence=self.licence or f"terms of its material: {files}",
        )

    def _checked(self) -> skipgram.Settings:
        skipgram.check_language(self.lang)
        if not self.texts:
            raise InputError("texts names no file; add a [[texts]] with a path.")
        if not 1 <= self.minn <= self.maxn <= kernels.LONGEST_NGRAM:
            raise InputError(f"n-grams cannot have {self.minn} to {self.maxn} characters.")
        if self.buckets < 1:
            raise InputError(f"buckets must be at least 1, not {self.buckets}.")
        return skipgram.Settings(
            dim=self.dim,
            window=self.window,
            negatives=self.negatives,
            epochs=self.epochs,
            subsample=self.subsample,
            rate=self.rate,
            seed=self.seed,
            threads=self.threads,
            shuffle=False,
        )

    def _sentences(self, file: TextFile) -> Iterator[list[str]]:
        lines = (line.rpartition("\t")[2] for line in islice(read_lines(file.path), self.limit))
        split = (words(line, self.lang) for line in lines)
        sentences: Iterator[list[str]] = filter(None, split)
        if file.wrapped:
            running = chain.from_iterable(sentences)
            sentences = iter(lambda: list(islice(running, skipgram.LONGEST)), [])
        empty = True
        for sentence in sentences:
            empty = False
            yield sentence
        if empty:
            raise InputError(f"{file.path}: no words.")

    def _pieces(self, listed: list[bytes]) -> tuple[Ids, Ints]:
        """Return the rows of every word: its own, and behind all words those of its n-grams."""
        buckets, ends = ngram_buckets(listed, self.buckets, self.minn, self.maxn)
        pieces = np.insert(buckets + len(listed), ends[:-1], np.arange(len(listed)))
        return pieces.astype(np.int32), ends + np.arange(len(listed) + 1)
