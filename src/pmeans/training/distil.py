"""Distillation: word vectors of many languages, taught by a sentence encoder of one.

::

    kind = "distil"
    name = "taught"
    teacher = { path = "bge_small_en/model.onnx" }
    pairs = [{ path = "en-de.tsv.gz", first = "en", second = "de" }]
    dictionaries = [{ path = "en-de.dictionary.tsv", lang = "de" }]

The mean of a sentence's word vectors is to point where the teacher's vector of the sentence points.
The teacher knows one language, the pivot. A sentence of another is to point where the teacher's
vector of its translation does, so all languages end in one space. Nothing of the teacher is needed
afterwards.

A word of the pivot starts as the teacher's vector of the word alone, another one as the mean of
those of its translations in dictionaries, and a word without any as the mean of the teacher's
vectors of the sentences that it is in. A start has the length a / (a + p), with p the share of
the word in the text, so that rare words count for more in a mean (Arora et al. 2017). Words of a
dictionary that no pair has keep their start, and have a vector all the same.

Phrases of two or three words are chosen as `pmeans.training.phrases` says, after one pass over the
text word by word. They start as words do, and text is searched for them as in any word space.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from pmeans.errors import ConfigError, InputError, check_seed
from pmeans.kernels.index import LONGEST_PHRASE
from pmeans.output import unit_rows
from pmeans.spaces.space import WordSpace
from pmeans.training.bag_means import pass_over
from pmeans.training.bags import BagReader, Bags, Side, Vocabulary
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile
from pmeans.training.lessons import (
    DictionaryFile,
    Lexica,
    add_pairs,
    check_material,
    first_vectors,
    largest_axes,
    listed_entries,
    read_lexica,
    text_sentences,
    written,
)
from pmeans.training.phrases import left_over, useful_phrases
from pmeans.training.repair import Affine
from pmeans.training.sentence_pairs import held_out_report
from pmeans.training.teacher import Teacher
from pmeans.training.trainer import Checkpoint, Trainer, within
from pmeans.training.word2vec import check_language
from pmeans.types import Array, Floats, Ints, Progress

COMMON = 1e-3
"""The a of a / (a + p): a word of this share of the text counts half."""
LISTED = 3
"""A word in a dictionary ranks as if the text had it so many times more."""


@dataclass(frozen=True)
class Distil(Trainer):
    """Teach a space of several languages what a sentence encoder of one knows.

    Attributes:
        name: Of the new space.
        teacher: See `Teacher`.
        pairs: Sentences and their translations, a table for each file; see `PairFile`.
        texts: Running text of the pivot, which is learned from as well.
        dictionaries: What the words of other languages start from.
        pivot: The teacher's language, and the first one of every file of pairs.
        words: The most frequent words of each language have a vector.
        phrases: So many entries of two or three words of each language have one as well; see
            `pmeans.training.phrases`.
        dim: Columns: the directions in which the teacher's vectors vary most.
        epochs: Passes over all sentences.
        batch: Sentences per step.
        rate: How far a word moves in its first step, where its start is at most 1 long; later
            steps are shorter. A higher rate forgets the starts of rare words.
        contrast: How much it counts that a sentence is nearer to its own vector of the teacher
            than to those of the others in the batch, beside that it is near.
        dropout: Share of words that a step leaves out, so that words do not rely on each other.
        seed: Of everything random.
        licence: The terms of teacher and text, if they should be kept with the space.
    """

    name: str
    teacher: Teacher
    pairs: tuple[PairFile, ...]
    texts: tuple[LanguageText, ...] = ()
    dictionaries: tuple[DictionaryFile, ...] = ()
    pivot: str = "en"
    words: int = 60_000
    phrases: int = 0
    dim: int = 256
    epochs: int = 10
    batch: int = 512
    rate: float = 0.1
    contrast: float = 0.1
    dropout: float = 0.1
    seed: int = 0
    licence: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_seed(self.seed)
        what = f"distil {self.name!r}"
        check_material(what, self.pairs, self.dictionaries, self.pivot)
        for text in self.texts:
            if text.lang != self.pivot:
                raise ConfigError(
                    f"{text.path} is text in {text.lang!r}, and the teacher's language is "
                    f"{self.pivot!r}. Of other languages only pairs can be learned from."
                )
        for key in ("words", "dim", "epochs"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key} must be at least 1, not {getattr(self, key)}.")
        if self.phrases < 0:
            raise ConfigError(f"phrases must be at least 0, not {self.phrases}.")
        if self.batch < 2:
            raise ConfigError(f"batch must be at least 2, not {self.batch}.")
        if not 0 < self.rate <= 1:
            raise ConfigError(f"rate must lie between 0 and 1, not {self.rate}.")
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"dropout must lie between 0 and 1, not {self.dropout}.")
        if not 0 <= self.contrast <= 100:
            raise ConfigError(f"contrast must lie between 0 and 100, not {self.contrast}.")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"the seed must be a whole number from 0 on, not {self.seed}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Ask the teacher, and fit the words.

        The state is kept after every epoch, and what the teacher said as in
        `pmeans.training.teacher`. The same bytes need the same number of BLAS threads.

        Returns:
            The words of the pivot and of every second language, by frequency, float32. `source`
            tells how near held-out sentences are to the teacher's vectors of them, and how many
            find their translation.
        """
        for lang in (self.pivot, *(file.second for file in self.pairs)):
            check_language(lang)
        lexica = read_lexica(self.dictionaries, LONGEST_PHRASE if self.phrases else 1)
        entries = listed_entries(lexica, self.pivot)
        listed = {lang: {e: None for e in each if " " not in e} for lang, each in entries.items()}
        reader = BagReader(self.pivot)
        held_out = []
        for file in self.pairs:
            progress(0.0, f"reading {Path(file.path).name}")
            held_out.append(add_pairs(file, reader, listed[self.pivot], self.seed))
        for text in self.texts:
            progress(0.0, f"reading {Path(text.path).name}")
            if not sum(map(reader.add, text_sentences(text))):
                raise InputError(f"{text.path}: no words.")
        words = reader.words(listed, LISTED, self.words)
        vocabulary, bags = reader.bags(words)
        n, sentences = len(reader.sentences), dict(reader.sentences)
        for pair in chain.from_iterable(held_out):
            sentences.setdefault(pair.first, len(sentences))
        spoken, heard = self.teacher.vectors(list(sentences), self.pivot, within(progress, 0, 4))
        axes = largest_axes(spoken[:n][heard[:n]], self.dim, self.teacher.name, self.pivot)
        targets = unit_rows(axes(spoken)).astype(np.float16)
        parts = within(progress, 1, 4)
        if self.phrases:
            targets[~heard] = 0  # nothing is left of them when words have been fitted
            learned = bags.of(heard)
            fitted = self._first(vocabulary, lexica, axes, learned, targets, parts)
            rng = np.random.default_rng([self.seed, self.epochs])
            self._epoch(fitted, np.zeros(len(fitted), np.float32), learned, targets, rng, parts)
            left = partial(left_over, fitted, bags, targets)
            words = self._with_phrases(words, reader.sides, entries, left)
            vocabulary, bags = reader.bags(words)
        bags = bags.of(heard)
        first = self._first(vocabulary, lexica, axes, bags, targets, parts)
        vectors = self._fit(first, bags, targets, within(progress, 1, 2), checkpoint)
        space = self._space(vocabulary, vectors)
        told = []
        for file, pairs in zip(self.pairs, held_out, strict=True):
            tested = [pair for pair in pairs if heard[sentences[pair.first]]]
            goals = targets[[sentences[pair.first] for pair in tested]]
            told.append(held_out_report(space, file, tested, goals))
        progress(1.0, f"held out: {'; '.join(told)}")
        source = f"taught by {self.teacher.name} on {len(bags):,} sentences; held out: "
        return replace(space, source=source + "; ".join(told))

    def _with_phrases(
        self,
        words: Mapping[str, list[str]],
        sides: Mapping[str, Side],
        entries: Mapping[str, Collection[str]],
        left: Callable[[Ints], Floats],
    ) -> dict[str, list[str]]:
        """Return the words and the phrases of each language."""
        found = {}
        start = 0
        for lang, side in sides.items():
            listed = [entry for entry in entries.get(lang, ()) if " " in entry]
            numbers = np.arange(start, start + len(side.texts))
            found[lang] = words[lang] + useful_phrases(
                side, lang, listed, LISTED, self.phrases, numbers, left
            )
            start += len(numbers)
        return found

    def _first(
        self,
        vocabulary: Vocabulary,
        lexica: Lexica,
        axes: Affine,
        bags: Bags,
        targets: Array,
        progress: Progress,
    ) -> Floats:
        """Return the vectors that words start from, (n_words, dim)."""
        own = {word: [written(word)] for word in vocabulary.words[self.pivot]}
        lexica = {**lexica, self.pivot: own}
        entries = [entry for each in lexica.values() for found in each.values() for entry in found]
        rows = {entry: row for row, entry in enumerate(dict.fromkeys(entries))}
        spoken, heard = self.teacher.vectors(list(rows), self.pivot, progress)
        alone = np.zeros((len(rows), self.dim), dtype=np.float32)
        if heard.any():
            # Words lie elsewhere than sentences, about a mean of their own.
            mean = spoken[heard].mean(axis=0, dtype=np.float64)
            alone[heard] = unit_rows(axes._replace(mean=mean)(spoken[heard]))
        first = first_vectors(vocabulary, lexica, rows, alone, bags, targets)
        first *= (COMMON / (COMMON + vocabulary.shares)).astype(np.float32)[:, None]
        return first

    def _space(self, vocabulary: Vocabulary, vectors: Floats) -> WordSpace:
        # Without a start is a word that no pair has, of whose translations the teacher knows none.
        started: Array = np.any(vectors, axis=1)
        flags = iter(started.tolist())
        kept = {lang: [w for w in each if next(flags)] for lang, each in vocabulary.words.items()}
        paths = [file.path for file in self.pairs] + [file.path for file in self.texts]
        paths += [file.path for file in self.dictionaries]
        material = ", ".join([self.teacher.name, *(Path(path).name for path in paths)])
        licence = self.licence or f"terms of its material: {material}"
        return WordSpace.from_words(self.name, kept, vectors[started], licence=licence)

    def _fit(
        self, vectors: Floats, bags: Bags, targets: Array, progress: Progress, path: Path | None
    ) -> Floats:
        """Return the vectors after all epochs, (n_words, dim); they are changed in place."""
        settings = (self.epochs, self.batch, self.rate, self.contrast, self.dropout, self.seed)
        material = [_digest(each) for each in (vectors, *vars(bags).values(), targets)]
        checkpoint = Checkpoint(path, (settings, material))
        squares, epoch = np.zeros(len(vectors), dtype=np.float32), 0
        if kept := checkpoint.load():
            arrays, state = kept
            vectors, squares, epoch = arrays["vectors"], arrays["squares"], state["epoch"]
        while epoch < self.epochs:
            # A generator of its own for each epoch: what was interrupted goes on alike.
            rng = np.random.default_rng([self.seed, epoch])
            part = within(progress, epoch, self.epochs)
            self._epoch(vectors, squares, bags, targets, rng, part)
            epoch += 1
            checkpoint.save({"vectors": vectors, "squares": squares}, {"epoch": epoch})
        return vectors

    def _epoch(
        self,
        vectors: Floats,
        squares: Floats,
        bags: Bags,
        targets: Array,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        pass_over(
            vectors, squares, bags, targets, rng, batch=self.batch, rate=self.rate,
            contrast=self.contrast, dropout=self.dropout, progress=progress,
        )  # fmt: skip


def _digest(array: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()
