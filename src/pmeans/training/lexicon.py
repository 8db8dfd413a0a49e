"""Word pairs that maps between languages are learned from, and the plainest of these maps.

They come from dictionaries (two columns: a word of the pivot, a word of the other language), and
from pairs of sentences by way of the aligner. Whatever their origin, they end as `WordPairs`.

Dictionary projection: a foreign word is the weighted mean of its translations' vectors. It needs no
space of the other language, and gives it the pivot's geometry, as far as the word pairs go; what
has none has no vector. Aligned text has the inflected forms that dictionaries lack, and tells usual
translations from odd ones. Nothing is random, and no state is kept but the aligner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from pmeans import kernels
from pmeans.errors import FormatError, InputError, LanguageError
from pmeans.files import sha256
from pmeans.kernels import index
from pmeans.kernels.index import LONGEST_PHRASE
from pmeans.languages.tokenizers import splitting
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans.training import aligner
from pmeans.training.corpus import Pair, PairFile
from pmeans.training.trainer import Checkpoint, FilePath, SpaceRef, Trainer, within
from pmeans.types import Array, Floats, Ints, Progress

ITERATIONS = 5
RAREST = 2
"""A pair that the aligner links less often is noise more often than not."""


class WordPairs(NamedTuple):
    """Translations: ``second[i]`` for ``first[i]``, and how much each counts, (n_pairs,)."""

    first: list[str]
    second: list[str]
    weights: Array

    @classmethod
    def joined(cls, listed: Sequence[WordPairs]) -> WordPairs:
        """Return the pairs of several lists, one list after the other."""
        firsts, seconds, weights = zip(*listed, strict=True)
        return cls([*chain(*firsts)], [*chain(*seconds)], np.concatenate(weights))


class AlignerState:
    """The translation probabilities of every direction so far, kept after each step of EM."""

    def __init__(
        self, path: Path | None, trainer: object, texts: Sequence[PairFile | None]
    ) -> None:
        digests = [sha256(text.path) for text in texts if text is not None]
        self._checkpoint = Checkpoint(path, (trainer, digests))
        self._arrays, self._finished = self._checkpoint.load() or ({}, {})

    def links(
        self, lang: str, direction: str, sides: Sequence[aligner.Sentences], progress: Progress
    ) -> Ints:
        """Align one direction, from where it stood; return the best source of each target."""
        name = f"{lang}.{direction}"
        alignment = aligner.WordAlignment(*sides)
        if name in self._arrays:
            alignment.probabilities = self._arrays[name]

        def keep(finished: int, probabilities: Array) -> None:
            self._arrays[name], self._finished[name] = probabilities, finished
            self._checkpoint.save(self._arrays, self._finished)
            message = f"aligning {lang} {direction}, {finished} of {ITERATIONS}"
            progress(finished / ITERATIONS, message)

        alignment.run(ITERATIONS, keep, self._finished.get(name, 0))
        return alignment.best()


def read_dictionary(path: str | Path) -> WordPairs:
    """Read a dictionary of two columns, separated by a tab or by white space."""
    first, second = [], []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) != 2:
            raise FormatError(f"{path}, line {number:,}: {len(columns)} columns, expected 2.")
        first.append(columns[0])
        second.append(columns[1])
    if not first:
        raise InputError(f"{path}: the dictionary is empty.")
    return WordPairs(first, second, np.ones(len(first)))


def aligned_words(
    file: PairFile,
    langs: tuple[str, str],
    state: AlignerState,
    progress: Progress,
    pairs: Sequence[Pair] | None = None,
) -> WordPairs:
    """Align pairs of sentences, and count the words linked in both directions.

    The file must be of these languages. The state is what an interrupted alignment goes on from.
    The pairs are some of the file's; those to train on if None.
    """
    if (file.first, file.second) != langs:
        raise InputError(
            f"{file.path}: a text of {file.first!r} and {file.second!r}, but {langs[0]!r} and "
            f"{langs[1]!r} are to be aligned."
        )
    texts = file.read()["train"] if pairs is None else pairs
    one, first_words = _side([pair.first for pair in texts], langs[0])
    two, second_words = _side([pair.second for pair in texts], langs[1])
    # One after the other: the links of both at once would take twice the memory.
    forward = state.links(langs[1], "forward", (one, two), within(progress, 0, 2))
    backward = state.links(langs[1], "backward", (two, one), within(progress, 1, 2))
    first, second, counts = aligner.mutual(one, two, forward, backward)
    often = np.flatnonzero(counts >= RAREST)
    if not len(often):
        raise InputError(
            f"{file.path}: no two words were linked {RAREST} times in {len(texts):,} pairs of "
            "sentences; more text is needed."
        )
    return WordPairs(
        [first_words[i] for i in first[often].tolist()],
        [second_words[i] for i in second[often].tolist()],
        counts[often].astype(np.float64),
    )


def _side(texts: list[str], lang: str) -> tuple[aligner.Sentences, list[str]]:
    """Number the words of one side from 1 on; 0 is NULL."""
    # In a table without words all are unknown, and numbered as they appear.
    nothing = index.word_table([])
    lowered = [text.lower() for text in texts]
    (batch,) = kernels.lookup(lowered, [(nothing, "lower", 0)], splitting("words", lang))
    return aligner.Sentences(batch.ids + np.int32(1), batch.offsets), ["", *batch.unknown_words]


def open_language(name: str, lang: str) -> WordSpace:
    """Open a space, and refuse one that does not have the language by name."""
    space = find_space(name)
    if lang not in space.tables:
        raise LanguageError(
            f"the space {space.name!r} has no language {lang!r}; "
            f"it has {', '.join(map(repr, space.tables))}."
        )
    return space


def vectors_of(space: WordSpace, lang: str) -> Array:
    """Return all vectors of a language, (n_words, dim)."""
    table = space.tables[lang]
    return space.rows(slice(table.start, table.start + len(table)))


@dataclass(frozen=True)
class Dictionary(Trainer):
    """A language put into the space of another by its translations.

    Attributes:
        space: Name or file of the pivot's space.
        lang: The language to add.
        files: Dictionaries of two columns: a word of the pivot, a word of the language.
        text: Pairs of sentences to be aligned, the pivot first.
        pivot: The language of the space that translations are in.
        weights: Of a word's translations. ``"uniform"``: all the same. ``"frequency"``: the
            inverse of their rank in the space, whose words must be sorted by frequency.
            ``"alignment"``: how often the text has them, as a share of the word's links, plus an
            equal share for each in the dictionaries; the two evidences count the same.
    """

    name: str
    space: SpaceRef
    lang: str
    files: tuple[FilePath, ...] = ()
    text: PairFile | None = None
    pivot: str = "en"
    weights: Literal["uniform", "frequency", "alignment"] = "uniform"

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Average the translations of every word of the language."""
        if not self.files and self.text is None:
            raise InputError(f"nothing to learn {self.lang!r} from: name 'files' or a 'text'.")
        if self.weights == "alignment" and self.text is None:
            raise InputError("weights 'alignment' need a 'text' to be aligned.")
        space = open_language(self.space, self.pivot)
        if self.lang in space.tables:
            raise InputError(f"the space {space.name!r} has {self.lang!r} already.")
        aligned = None
        if self.text is not None:
            state = AlignerState(checkpoint, self, [self.text])
            aligned = aligned_words(self.text, (self.pivot, self.lang), state, progress)
        dictionaries = [read_dictionary(file) for file in self.files]
        pairs = translations(dictionaries, aligned, shared=self.weights == "alignment")
        words, means = project(space, self.pivot, pairs, by_rank=self.weights == "frequency")
        progress(1.0, f"{len(words):,} words of {self.lang} projected")
        listed = {self.pivot: list(space.words(self.pivot)), self.lang: words}
        vectors = np.concatenate([vectors_of(space, self.pivot), means])
        source = f"{space.name} projected to {self.lang} by dictionary"
        return WordSpace.from_words(
            self.name, listed, vectors, case=space.case, source=source, licence=space.licence
        )


def translations(
    dictionaries: Sequence[WordPairs], aligned: WordPairs | None, *, shared: bool
) -> WordPairs:
    """Gather what dictionaries, and an aligned text if there is one, know of a language's words.

    If shared, a word's pairs are weighed by their share in the dictionaries and in the text;
    otherwise every pair counts once.
    """
    listed = [_counted_once(dictionaries)]
    if aligned is not None:
        listed.append(aligned)
    if not shared:
        return _counted_once(listed)
    return WordPairs.joined([_shares(pairs) for pairs in listed])


def project(
    space: WordSpace, pivot: str, pairs: WordPairs, *, by_rank: bool = False
) -> tuple[list[str], Floats]:
    """Average the pivot's vectors over the translations of every word.

    Args:
        space: A space with the pivot.
        pivot: Language of the first words of the pairs.
        pairs: Those with an unknown first word are passed over, and those with several second
            words in one, unless the space has phrases.
        by_rank: Divide the weights by the first word's rank in the space.

    Returns:
        The second words as the space looks them up, and their vectors, (n_words, dim).
    """
    rows = space.find(pairs.first, pivot)
    # A row for several words would never be found where text is looked up word by word.
    longest = LONGEST_PHRASE if space.tables[pivot].phrases is not None else 1
    usable = [word.count(" ") < longest and "_" not in word for word in pairs.second]
    places = np.flatnonzero((rows >= 0) & np.array(usable, dtype=np.bool_))
    if not len(places):
        raise InputError(
            f"none of the {len(rows):,} translations is a word of {space.name!r} "
            f"({pivot}). Are the columns the other way round?"
        )
    spelled = [pairs.second[i] for i in places.tolist()]
    words, owners = _numbered([w.lower() for w in spelled] if space.case == "lower" else spelled)
    rows, weights = rows[places] - space.tables[pivot].start, pairs.weights[places]
    if by_rank:
        weights = weights / (rows + 1)
    return words, _means(vectors_of(space, pivot), owners, rows, weights)


def _counted_once(listed: Sequence[WordPairs]) -> WordPairs:
    """Return every pair of words once, with weight 1."""
    pairs = dict.fromkeys(pair for each in listed for pair in zip(*each[:2], strict=True))
    return WordPairs([a for a, _ in pairs], [b for _, b in pairs], np.ones(len(pairs)))


def _shares(pairs: WordPairs) -> WordPairs:
    """Let the weights of each second word's pairs add up to 1."""
    _, owners = _numbered(pairs.second)
    return pairs._replace(weights=pairs.weights / np.bincount(owners, pairs.weights)[owners])


def _numbered(words: list[str]) -> tuple[list[str], Ints]:
    """Return the distinct words in order of appearance, and the number of each word, (n,)."""
    numbers: dict[str, int] = {}
    owners = [numbers.setdefault(word, len(numbers)) for word in words]
    return list(numbers), np.array(owners, dtype=np.int64)


def _means(vectors: Floats, owners: Ints, rows: Ints, weights: Array) -> Floats:
    """Return the weighted mean of each owner's rows, (n_owners, dim)."""
    order = np.argsort(owners, kind="stable")
    owners, rows, weights = owners[order], rows[order], weights[order]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    means = np.empty((len(starts), vectors.shape[1]), dtype=np.float32)
    totals = np.add.reduceat(weights, starts)
    # Column by column, as a table of all pairs would be many times larger than the space.
    for column in range(vectors.shape[1]):
        weighted = vectors[rows, column] * weights
        means[:, column] = np.add.reduceat(weighted, starts) / totals
    return means
