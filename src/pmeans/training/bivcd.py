"""BIVCD (Vulić & Moens 2015): two sides of a pair become one sentence, and word2vec does the rest.

The words of a sentence and of its translation are thrown together and shuffled, anew in every
epoch, so that words meet their translations as they meet their neighbours. Words are keyed by
language: *die* is two words in English and German. Any number of files, and so of languages, is
trained together; English of en-de and of en-fr is the same English, and holds the others together.
With buckets, all languages share the rows of n-grams, and unknown words of each get a vector.

Running text of the same languages gives vectors to words that no pair has: a line of it is a
sentence with one side only. Sentences are shuffled or not all alike, so this one is, too, and its
words meet out of order. It is cut into pieces of at most 20 words first, about as many as a pair
has, which keeps far words apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from pmeans.config import Count, check
from pmeans.errors import InputError
from pmeans.training import word2vec
from pmeans.training.corpus import PairFile, TextFile, words
from pmeans.types import Progress

_PIECE = 20


@dataclass(frozen=True, kw_only=True)
class LanguageText(TextFile):
    """A file of running text, and what is taken of it.

    Attributes:
        lang: Language of the text, which some pairs have.
        limit: At most this many lines, the first ones.
    """

    lang: str
    limit: Count | None = None

    def __post_init__(self) -> None:
        check(self)

    def pieces(self) -> Iterator[list[str]]:
        """Yield the text in pieces of at most 20 words, those of one line about equally long."""
        for sentence in self.sentences(self.lang, _PIECE, self.limit):
            size = ceil(len(sentence) / ceil(len(sentence) / _PIECE))
            for low in range(0, len(sentence), size):
                yield sentence[low : low + size]


@dataclass(frozen=True)
class Bivcd(word2vec.SkipGram):
    """Train a space of two or more languages on pairs of sentences, with the inherited settings.

    Attributes:
        pairs: The files of pairs.
        texts: Files of running text that is trained on as well.
    """

    shuffle = True
    pairs: tuple[PairFile, ...]
    texts: tuple[LanguageText, ...] = ()

    def _collect(self, collector: word2vec.Collector, progress: Progress) -> tuple[str, str]:
        if not self.pairs:
            raise InputError("pairs names no file; add a [[pairs]] with path, first and second.")
        paired = dict.fromkeys(lang for file in self.pairs for lang in (file.first, file.second))
        for lang in paired:
            word2vec.check_language(lang)
        for text in self.texts:
            if text.lang not in paired:
                raise InputError(
                    f"{text.path} is text in {text.lang!r}, of which there are no pairs: its words "
                    f"would lie beside those of {', '.join(sorted(paired))}, and not among them. "
                    "Give pairs with that language, or leave the text out."
                )
        used: set[str] = set()
        for file in self.pairs:
            progress(0.0, f"reading {Path(file.path).name}")
            for pair in file.read(self.seed)["train"]:
                used.add(pair.source)
                first, second = words(pair.first, file.first), words(pair.second, file.second)
                collector.add([(file.first, first), (file.second, second)])
        for text in self.texts:
            progress(0.0, f"reading {Path(text.path).name}")
            for piece in text.pieces():
                collector.add([(text.lang, piece)])
        files = ", ".join(Path(file.path).name for file in self.pairs)
        named = ", ".join(sorted(used - {""}))
        texts = "".join(f", {Path(text.path).name}" for text in self.texts)
        shown = f"{files} ({named})" if named else files
        return f"BIVCD on {shown}{texts}", f"{named or files}{texts}"
