"""Words and n-grams of many languages, taught together by a sentence encoder of one.

::

    kind = "taught"
    name = "taught"
    teacher = { path = "bge_small_en/model.onnx" }
    pairs = [{ path = "en-de.tsv.gz", first = "en", second = "de" }]
    dictionaries = [{ path = "en-de.dictionary.tsv", lang = "de" }]

The mean of a sentence's word vectors is to point where the teacher's vector of the sentence points,
and where the mean of its translation points: `pmeans.training.students` has the loss. The teacher
knows one language, the pivot. Nothing of it is needed afterwards. Text of the pivot alone is taught
as well, since it has words and turns of phrase that the pairs lack.

N-grams are those of folded words and of their consonants (`pmeans.kernels.folding`), in one table
for all languages, so that a name or a loan word of one language is known in another, and words that
no pair has are composed. The space has the frequent words with their n-grams added in.

A word of the pivot starts as the teacher's vector of the word alone, another one as the mean of
those of its translations in dictionaries, and all others at 0. A start has the length a / (a + p),
with p the share of the word in the text, so that rare words count for more in a mean (Arora et al.
2017). In the end all vectors are turned to the axes along which sentences vary most.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from pmeans.config import Count, Range, Rate, Seed, Share, check
from pmeans.encoder.postprocess import unit_rows
from pmeans.errors import ConfigError, InputError
from pmeans.kernels import LONGEST_NGRAM
from pmeans.kernels.index import LONGEST_PHRASE
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.training import students
from pmeans.training.bag_means import held_out_report
from pmeans.training.bags import BagReader, Types
from pmeans.training.composed_words import ComposedWords, folded_buckets, merge_spellings
from pmeans.training.corpus import PairFile, TextFile, text_lines
from pmeans.training.phrases import useful_phrases
from pmeans.training.start_vectors import (
    COMMON,
    LISTED,
    Affine,
    DictionaryFile,
    Lexica,
    add_pairs,
    check_material,
    largest_axes,
    listed_entries,
    read_lexica,
    written,
)
from pmeans.training.students import Lessons, Schedule
from pmeans.training.teacher import Teacher
from pmeans.training.trainer import Trainer, within
from pmeans.training.word2vec import check_language
from pmeans.types import Array, Floats, Ints, Progress

Weight = Annotated[float, Range(0, 100)]
"""How much a part of the loss counts."""


@dataclass(frozen=True)
class Taught(Trainer):
    """Teach words and n-grams of several languages what a sentence encoder of one knows.

    Attributes:
        name: Of the new space.
        teacher: See `Teacher`.
        pairs: Sentences and their translations, a table for each file; see `PairFile`.
        dictionaries: What the words of other languages start from.
        texts: Text of the pivot without translations, a sentence per line.
        pivot: The teacher's language, and the first one of every file of pairs.
        words: The most frequent words of each language have a vector of their own.
        phrases: So many entries of two or three words of each language have one as well; see
            `pmeans.training.phrases`. They cost an epoch more.
        buckets: Rows that the n-grams of all languages share.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        dim: Columns: the directions in which the teacher's vectors vary most.
        epochs: Passes over all pairs.
        batch: Pairs per step.
        rate: About how far a number moves in a step. It falls to 0 until the end.
        contrast: How much it counts that a sentence is nearer to its own vector of the teacher
            than to those of other sentences, beside that it is near.
        across: How much it counts that it is nearer to its translation than to other sentences.
        relations: How much it counts that two sentences of a language are as near to each other as
            the teacher's vectors of them.
        temperature: Cosines are divided by it before they are compared. With half of it the
            nearest wrong answers count for more than all others, and with twice it all alike.
        dropout: Share of words that a step leaves out.
        own_dropout: Share of words that a step composes from n-grams alone.
        seed: Of everything random.
        licence: The terms of teacher and text, if they should be kept with the space.
    """

    name: str
    teacher: Teacher
    pairs: tuple[PairFile, ...]
    dictionaries: tuple[DictionaryFile, ...] = ()
    texts: tuple[TextFile, ...] = ()
    pivot: str = "en"
    words: Count = 60_000
    phrases: Annotated[int, Range(0)] = 0
    buckets: Count = 100_000
    minn: Count = 3
    maxn: int = 6
    dim: Count = 256
    epochs: Count = 12
    batch: Annotated[int, Range(2)] = 4096
    rate: Rate = 0.02
    contrast: Weight = 0.1
    across: Weight = 1.0
    relations: Weight = 1.0
    temperature: Annotated[float, Range(0.01, 1)] = 0.1
    dropout: Share = 0.1
    own_dropout: Share = 0.25
    seed: Seed = 0
    licence: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check(self)
        if not self.minn <= self.maxn <= LONGEST_NGRAM:
            raise ConfigError(
                f"n-grams cannot have minn = {self.minn} to maxn = {self.maxn} characters."
            )
        for text in self.texts:
            if text.wrapped:
                raise ConfigError(f"{text.path}: a taught text has a sentence per line.")
        what = f"taught {self.name!r}"
        check_material(what, self.pairs, self.dictionaries, self.pivot)

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Ask the teacher, and fit words and n-grams.

        The state is kept after every epoch, and what the teacher said as in
        `pmeans.training.teacher`.

        Returns:
            The words of the pivot and of every second language, by frequency, float32, and the
            n-grams. `source` tells how near held-out sentences are to the teacher's vectors of
            them, and how many find their translation.
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
            if not sum([reader.add(line) for line in text_lines(text.path, None)]):
                raise InputError(f"{text.path}: no words.")
        n, sentences = len(reader.sentences), dict(reader.sentences)
        for pair in (pair for pairs in held_out for pair in pairs):
            sentences.setdefault(pair.first, len(sentences))
        spoken, heard = self.teacher.vectors(list(sentences), self.pivot, within(progress, 0, 4))
        axes = largest_axes(spoken[:n][heard[:n]], self.dim, self.teacher.name, self.pivot)
        targets = unit_rows(axes(spoken)).astype(np.float16)
        targets[~heard] = 0  # nothing is left of them when words have been fitted
        how = Schedule(**{each.name: getattr(self, each.name) for each in fields(Schedule)})

        def fitted(
            vocabulary: Types, how: Schedule, progress: Progress, path: Path | None
        ) -> ComposedWords:
            first = self._first(vocabulary, lexica, axes, within(progress, 0, 4))
            lessons = self._lessons(vocabulary, reader, targets[:n], heard)
            steps = within(progress, 1, 2)
            own, rows = students.fit(first, self.buckets, lessons, how, steps, path)
            return ComposedWords(own, rows, lessons)

        vocabulary = Types.read(reader, listed, LISTED, self.words)
        if self.phrases:
            by_words = fitted(vocabulary, replace(how, epochs=1), within(progress, 1, 4), None)
            phrases = self._phrases(by_words, reader, entries, vocabulary.starts)
            vocabulary = Types.read(reader, listed, LISTED, self.words, phrases)
        words = fitted(vocabulary, how, within(progress, 1, 2), checkpoint)
        turn = words.axes()
        space, targets = self._space(vocabulary, words.turned(turn)), targets @ turn
        reports = []
        for file, tested in zip(self.pairs, held_out, strict=True):
            known = [pair for pair in tested if heard[sentences[pair.first]]]
            goals = targets[[sentences[pair.first] for pair in known]]
            reports.append(held_out_report(space, file, known, goals))
        progress(1.0, f"held out: {'; '.join(reports)}")
        source = f"taught by {self.teacher.name} on {len(words.lessons.pairs):,} pairs; held out: "
        return replace(space, source=source + "; ".join(reports))

    def _first(self, vocabulary: Types, lexica: Lexica, axes: Affine, progress: Progress) -> Floats:
        """Return the vectors that words start from, (n_own, dim)."""
        own = {word: [written(word)] for word in vocabulary.words[self.pivot]}
        lexica = {**lexica, self.pivot: own}
        sources = [
            lexica.get(lang, {}).get(word, ())
            for lang, words in vocabulary.words.items()
            for word in words
        ]
        entries = dict.fromkeys(entry for each in sources for entry in each)
        rows = {entry: row for row, entry in enumerate(entries)}
        spoken, heard = self.teacher.vectors(list(rows), self.pivot, progress)
        alone = np.zeros((len(rows), self.dim), dtype=np.float32)
        if heard.any():
            # Words lie elsewhere than sentences, about a mean of their own.
            mean = spoken[heard].mean(axis=0, dtype=np.float64)
            alone[heard] = unit_rows(axes._replace(mean=mean)(spoken[heard]))
        first = np.zeros((len(sources), self.dim), dtype=np.float32)
        counts = np.fromiter(map(len, sources), dtype=np.int64, count=len(sources))
        owners = np.repeat(np.arange(len(sources)), counts)
        np.add.at(first, owners, alone[[rows[entry] for each in sources for entry in each]])
        shares = (COMMON / (COMMON + vocabulary.shares)).astype(np.float32)
        return unit_rows(first) * shares[:, None]

    def _lessons(
        self, vocabulary: Types, reader: BagReader, targets: Array, heard: Array
    ) -> Lessons:
        # A phrase has no n-grams: text is searched for it whole.
        spelled = ["" if " " in word else word for word in vocabulary.spelled]
        ngrams, borders = folded_buckets(spelled, self.buckets, self.minn, self.maxn)
        pairs, langs = vocabulary.pairs(reader, heard)
        lessons = Lessons(
            vocabulary.ids, vocabulary.offsets, pairs, langs, targets, vocabulary.own,
            ngrams, borders,
        )  # fmt: skip
        if len(lessons.usable()) < 2:
            raise InputError(f"taught {self.name!r}: no two pairs have words on both sides.")
        return lessons

    def _phrases(
        self,
        words: ComposedWords,
        reader: BagReader,
        entries: Mapping[str, Collection[str]],
        starts: Mapping[str, int],
    ) -> dict[str, list[str]]:
        """Return the phrases of each language that words alone say least of."""
        targets = words.lessons.targets
        phrases = {}
        for lang, side in reader.sides.items():
            listed = [entry for entry in entries.get(lang, ()) if " " in entry]
            numbers, goals = np.arange(len(side.texts)), np.array(side.targets)

            def left(some: Ints, start: int = starts[lang], goals: Ints = goals) -> Floats:
                return words.left_over(start + some, targets[goals[some]])

            phrases[lang] = useful_phrases(side, lang, listed, LISTED, self.phrases, numbers, left)
        return phrases

    def _space(self, vocabulary: Types, words: ComposedWords) -> WordSpace:
        paths = [file.path for file in self.pairs]
        paths += [file.path for file in self.dictionaries]
        paths += [file.path for file in self.texts]
        material = ", ".join([self.teacher.name, *(Path(path).name for path in paths)])
        licence = self.licence or f"terms of its material: {material}"
        subwords = Subwords(words.rows, self.minn, self.maxn, folded=True)
        vectors, end = words.with_ngrams(), 0
        for listed in vocabulary.words.values():
            some = slice(end, end + len(listed))
            merge_spellings(listed, vocabulary.shares[some], vectors[some])
            end = some.stop
        return WordSpace.from_words(
            self.name, vocabulary.words, vectors, licence=licence, subwords=subwords
        )
