"""Sentences as ids of words: what the trainers of sentence encoders fit vectors to.

Running text is cut into sentences that keep their order; one without words stands between two
texts. Of pairs, each sentence is there once, with the numbers of the two that are translations.

They are a file of their own: a machine with an accelerator fits vectors to it, without the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Self

import numpy as np

from pmeans.errors import FormatError, InputError
from pmeans.identity import identity
from pmeans.tensors import map_tensors, write_tensors
from pmeans.training.bags import Side
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile, text_lines
from pmeans.training.word2vec import check_language
from pmeans.types import Array, Ids, Ints, Progress

_FORMAT = "pmeans-sentences"
_LISTED = "words."
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)]*\s+")


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as ids, which number the words of all languages through.

    Attributes:
        words: Of each language, the most frequent first.
        counts: How often each word occurs, (n_words,).
        ids: Words of all sentences, (n_tokens,).
        lengths: Number of words of each sentence, (n,).
        pairs: Sentences that mean the same, (n_pairs, 2); the second language varies.
    """

    words: dict[str, list[str]]
    counts: Ints
    ids: Ids
    lengths: Ids
    pairs: Ids

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def offsets(self) -> Ints:
        """Sentence i has ``ids[offsets[i]:offsets[i + 1]]``, (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])

    def digest(self) -> str:
        """Return a hash over all that a training depends on."""
        return identity(self.counts, self.ids, self.lengths, self.pairs)

    def save(self, path: str | Path) -> None:
        """Write them as one file."""
        listed = {_LISTED + lang: _bytes(words) for lang, words in self.words.items()}
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        write_tensors(path, arrays | listed, {"format": _FORMAT})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        arrays, metadata = map_tensors(path)
        if metadata.get("format") != _FORMAT or {*_ARRAYS} - arrays.keys():
            raise FormatError(f"{path}: no sentences to train on.")
        listed = {
            name.removeprefix(_LISTED): array.tobytes().decode().split("\n")[:-1]
            for name, array in arrays.items()
            if name.startswith(_LISTED)
        }
        kept = {name: arrays[name] for name in _ARRAYS}
        return cls(words=listed, **kept)


_ARRAYS = ("counts", "ids", "lengths", "pairs")


def _bytes(words: Sequence[str]) -> Array:
    return np.frombuffer("".join(f"{word}\n" for word in words).encode(), dtype=np.uint8)


def running(
    texts: Sequence[LanguageText], words: int, min_count: int, progress: Progress
) -> Sentences:
    """Read running text of one language.

    Args:
        texts: The files.
        words: At most so many words have an id, the most frequent ones; others are left out.
        min_count: Rarer words have none.
        progress: Told which file is read.
    """
    if not texts:
        raise InputError("texts names no file; add a [[texts]] with path and lang.")
    langs = {file.lang for file in texts}
    if len(langs) > 1:
        named = ", ".join(sorted(langs))
        raise InputError(f"texts must be of one language, and there are {named}.")
    (lang,) = langs
    check_language(lang)
    sentences: list[str] = []
    for file in texts:
        progress(0.0, f"reading {Path(file.path).name}")
        before = len(sentences)
        sentences += chain.from_iterable([*each, ""] for each in paragraphs(file))
        if not any(each.strip() for each in sentences[before:]):
            raise InputError(f"{file.path}: no words.")
    return numbered({lang: sentences}, np.empty((0, 2), np.int32), words, min_count)


def paragraphs(text: LanguageText) -> Iterator[list[str]]:
    """Yield the sentences of one line after the other; where lines are wrapped, of a paragraph."""
    lines = text_lines(text.path, text.limit)
    if text.wrapped:  # an empty line ends a paragraph
        grouped = groupby(lines, key=lambda line: bool(line.strip()))
        lines = (" ".join(group) for filled, group in grouped if filled)
    for line in lines:
        yield _SENTENCE_END.split(line.strip())


def paired(
    files: Sequence[PairFile], words: int, min_count: int, seed: int, progress: Progress
) -> Sentences:
    """Read the pairs to train on; `words` of each language have an id at most.

    Pairs of which a side has no words with an id are left out.
    """
    if not files:
        raise InputError("pairs names no file; add a [[pairs]] with path, first and second.")
    seen: dict[str, dict[str, int]] = {}
    found: list[tuple[str, int, str, int]] = []
    for file in files:
        for lang in (file.first, file.second):
            check_language(lang)
        progress(0.0, f"reading {Path(file.path).name}")
        here = seen.setdefault(file.first, {})
        there = seen.setdefault(file.second, {})
        for pair in file.read(seed)["train"]:
            first = here.setdefault(pair.first, len(here))
            found.append(
                (file.first, first, file.second, there.setdefault(pair.second, len(there)))
            )
    starts, n = {}, 0
    for lang, each in seen.items():
        starts[lang], n = n, n + len(each)
    pairs = np.array([(starts[a] + i, starts[b] + j) for a, i, b, j in found], dtype=np.int32)
    whole = numbered({lang: list(each) for lang, each in seen.items()}, pairs, words, min_count)
    if len(whole.pairs) < 2:
        names = ", ".join(Path(file.path).name for file in files)
        raise InputError(f"{names}: fewer than 2 pairs have words on both sides.")
    return whole


def numbered(
    texts: Mapping[str, Sequence[str]], pairs: Ids, words: int, min_count: int
) -> Sentences:
    """Give the most frequent words of each language ids, and leave out the others."""
    listed: dict[str, list[str]] = {}
    counts, ids, lengths = [], [], []
    start = 0
    for lang, each in texts.items():
        tokens = Side(list(each)).tokens(lang)
        occurs = np.bincount(tokens.ids, minlength=len(tokens.unknown_words))
        order = np.argsort(-occurs, kind="stable")[:words]  # of equal ones, the first to appear
        order = order[occurs[order] >= min_count]
        if len(order) < 2:
            raise InputError(
                f"too little text: fewer than 2 words of {lang} occur {min_count} times, in "
                f"{len(tokens.ids):,} words of text. Give more text, or a smaller min_count."
            )
        new = np.full(len(occurs), -1, dtype=np.int32)
        new[order] = np.arange(start, start + len(order), dtype=np.int32)
        kept = new[tokens.ids]
        owner = np.repeat(np.arange(len(tokens)), np.diff(tokens.offsets))[kept >= 0]
        listed[lang] = [tokens.unknown_words[i] for i in order.tolist()]
        counts.append(occurs[order])
        ids.append(kept[kept >= 0])
        lengths.append(np.bincount(owner, minlength=len(tokens)).astype(np.int32))
        start += len(order)
    n_words = np.concatenate(lengths)
    pairs = pairs[(n_words[pairs] > 0).all(axis=1)]
    return Sentences(
        listed, np.concatenate(counts).astype(np.int64), np.concatenate(ids), n_words, pairs
    )
