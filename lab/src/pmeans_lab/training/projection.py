"""The paper's projection: word spaces into one, trained on sentences and applied to words.

Every language has one map, f(x) = tanh(xW + b), the pivot's shared by all files of pairs. A
sentence is the mean of its known words; `pmeans_lab.training.tanh_map` has the loss. Since a mean
of word vectors lives where word vectors do, the trained map then takes every word of its language
into the common space. A space that holds several languages already is re-mapped in the same way.

Sentence means are kept as float32: 350,000 pairs of 300 columns take 0.8 GB.
``lab/recipes/spaces/projection.toml`` is an example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from pmeans.errors import ConfigError, InputError, LanguageError, check_seed
from pmeans.identity import identity
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.bag_means import retrieved, sentence_means
from pmeans.training.corpus import PairFile, Portion
from pmeans.training.lexicon import vectors_of
from pmeans.training.trainer import Checkpoint, SpaceRef, Trainer
from pmeans.types import Array, Floats, Ints, Progress
from pmeans_lab.training.tanh_map import Dropout, TanhMap, apply, gradients
from pmeans_lab.training.word_map import joined_languages

BATCH = 128
PATIENCE = 5
LARGEST = 1e15
"""In magnitude, of a word vector's numbers: the square of a gradient stays within float32."""
FEWEST = 100
"""Pairs; of fewer not even two could be held out for each purpose."""
_ARRAYS = ("weights", "mean", "square")  # of a map, that its state consists of


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """The pairs of one file that have known words on both sides."""

    lang: str  # the second language
    first: Floats  # means of the pivot's sentences, (n, dim_first)
    second: Floats  # means of their translations, (n, dim_second)
    sources: Array  # where each pair comes from, (n,) strings
    parts: Mapping[Portion, Ints]  # the rows to train on, to stop on and to test on


def _load(file: PairFile, spaces: Mapping[str, WordSpace], seed: int) -> SentencePairs:
    """Read a file of pairs; the seed draws the pairs of a limit."""
    read = file.read(seed)
    pairs = [pair for part in read.values() for pair in part]
    here, there = spaces[file.first], spaces[file.second]
    first, knows_first = sentence_means(here, file.first, [pair.first for pair in pairs])
    second, knows_second = sentence_means(there, file.second, [pair.second for pair in pairs])
    known = knows_first & knows_second
    labels = np.repeat(list(read), [len(part) for part in read.values()])[known]
    parts = {part: np.flatnonzero(labels == part) for part in read}
    if known.sum() < FEWEST or not min(map(len, parts.values())):
        raise InputError(
            f"{file.path}: {known.sum()} of {len(pairs):,} pairs have known words on both sides; "
            f"at least {FEWEST} of one source are needed. {here.name!r} knows words of "
            f"{knows_first.sum():,} first sentences ({file.first}), {there.name!r} of "
            f"{knows_second.sum():,} second ones ({file.second})."
        )
    sources = np.array([pair.source for pair in pairs])[known]
    return SentencePairs(file.second, first[known], second[known], sources, parts)


@dataclass(frozen=True)
class Projection(Trainer):
    """Project the languages of one or several spaces into a common one.

    Attributes:
        spaces: Names or paths; a language's words are those of the first space that has it.
        pairs: What to learn from, a table for each file; see `PairFile`.
        pivot: First language of every file.
        dim: Columns of the new space; those of the pivot's space if None.
        length: Scale each language's vectors first, to this mean length; None leaves them as they
            are, as in the paper. tanh asks for the length: it bends long vectors and leaves short
            ones to the bias, so spaces of different lengths meet badly. 5 is a good one.
        dropout: ``"output"`` (the paper's program) or ``"input"`` (its text), which learns less.
        epochs: At most so many; training ends when retrieval has not risen for 5.
        seed: Of everything random.
    """

    name: str
    spaces: tuple[SpaceRef, ...]
    pairs: tuple[PairFile, ...]
    pivot: str = "en"
    dim: int | None = None
    length: float | None = None
    dropout: Dropout = "output"
    epochs: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.spaces or not self.pairs:
            raise ConfigError(f"projection {self.name!r} needs a space and a file of pairs.")
        if any(file.first != self.pivot for file in self.pairs):
            raise ConfigError(
                f"projection {self.name!r}: {self.pivot!r} is the pivot, and must be the first "
                "language of every file."
            )
        check_seed(self.seed)
        for key, least in (("dim", 1), ("length", 1e-6), ("epochs", 1)):
            value = getattr(self, key)
            if value is not None and not least <= value <= LARGEST:
                raise ConfigError(f"projection {self.name!r}: {key} = {value} is not usable.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Train on sentences and map the words.

        The state is kept after every epoch. The same bytes need the same number of BLAS threads.

        Returns:
            The pivot's words and those of every second language, float32. Subwords are dropped:
            the mean of mapped n-grams is not the mapped mean. `source` tells the share of the
            pivot's test sentences whose translation is the nearest of all.
        """
        opened = [find_space(space) for space in self.spaces]
        langs = [self.pivot, *(file.second for file in self.pairs)]
        spaces = {lang: _space_of(lang, opened, self.length) for lang in dict.fromkeys(langs)}
        progress(0.0, "reading pairs")
        corpora = [_load(file, spaces, self.seed) for file in self.pairs]
        maps = self._fit(corpora, spaces, progress, checkpoint)
        tested = "; ".join(self._tested(corpus, maps) for corpus in corpora)
        progress(1.0, f"test retrieval {tested}")
        inputs = ", ".join(dict.fromkeys(space.name for space in spaces.values()))
        n_pairs = sum(len(corpus.parts["train"]) for corpus in corpora)
        source = f"tanh projection of {inputs} on {n_pairs:,} pairs; test retrieval {tested}"
        mapped = [apply(maps[lang], space.matrix) for lang, space in spaces.items()]
        return joined_languages(self.name, spaces, mapped, source)

    def _hits(self, pairs: SentencePairs, weights: Mapping[str, Floats], part: Portion) -> Array:
        """Return which of the pivot's sentences have their translation nearest, within a part."""
        rows = pairs.parts[part]
        first = apply(weights[self.pivot], pairs.first[rows])
        return retrieved(first, apply(weights[pairs.lang], pairs.second[rows]))

    def _tested(self, pairs: SentencePairs, weights: Mapping[str, Floats]) -> str:
        """Tell the retrieval on the test lines, also by source: short sentences are easy."""
        hits = self._hits(pairs, weights, "test")
        sources = pairs.sources[pairs.parts["test"]]
        named = [source for source in np.unique(sources) if source]
        by_source = ", ".join(f"{s} {100 * hits[sources == s].mean():.1f}" for s in named)
        total = f"{self.pivot}-{pairs.lang} {100 * hits.mean():.1f} %"
        return f"{total} ({by_source})" if by_source else total

    def _fit(
        self,
        corpora: Sequence[SentencePairs],
        spaces: Mapping[str, WordSpace],
        progress: Progress,
        path: Path | None,
    ) -> dict[str, Floats]:
        """Return each language's weights of the best epoch."""
        settings = replace(self, spaces=("",), pairs=(PairFile("", self.pivot, ""),))
        seen = [(c.lang, identity(c.first, c.second, *c.parts.values())) for c in corpora]
        checkpoint = Checkpoint(path, (settings, seen))
        rng = np.random.default_rng(self.seed)
        dim = self.dim or spaces[self.pivot].dim
        maps = {lang: TanhMap.glorot(space.dim, dim, rng) for lang, space in spaces.items()}
        best = {lang: each.weights.copy() for lang, each in maps.items()}
        epoch, top, top_epoch = 0, -1.0, 0
        if kept := checkpoint.load():
            arrays, state = kept
            epoch, top, top_epoch = state["epoch"], state["top"], state["top_epoch"]
            for lang, each in maps.items():
                best[lang], each.steps = arrays[f"best.{lang}"], state["steps"][lang]
                for what in _ARRAYS:
                    setattr(each, what, arrays[f"{what}.{lang}"])
        while epoch < self.epochs and epoch - top_epoch < PATIENCE:
            epoch += 1
            # A generator of its own for each epoch: what was interrupted goes on alike.
            loss = self._epoch(corpora, maps, np.random.default_rng([self.seed, epoch]))
            now = {lang: each.weights for lang, each in maps.items()}
            hits = [self._hits(corpus, now, "dev").mean() for corpus in corpora]
            score = float(np.mean(hits))
            if score > top:
                top, top_epoch = score, epoch
                best = {lang: each.copy() for lang, each in now.items()}
            arrays = {f"best.{lang}": each for lang, each in best.items()}
            for lang, each in maps.items():
                arrays |= {f"{what}.{lang}": getattr(each, what) for what in _ARRAYS}
            steps = {lang: each.steps for lang, each in maps.items()}
            state = {"epoch": epoch, "top": top, "top_epoch": top_epoch, "steps": steps}
            checkpoint.save(arrays, state)
            told = f"epoch {epoch}: loss {loss:.4f}, dev retrieval {100 * score:.1f} %"
            progress(epoch / self.epochs, told)
        return best

    def _epoch(
        self, corpora: Sequence[SentencePairs], maps: Mapping[str, TanhMap], rng: Generator
    ) -> float:
        """Take a step for every batch of every file, in random order; return the mean loss."""
        batches = []
        for corpus in corpora:
            rows = corpus.parts["train"]
            # Negatives are an order of their own; a row may meet itself, as in the paper.
            order, others = rng.permutation(rows), rng.permutation(rows)
            for low in range(0, len(rows), BATCH):
                batches.append((corpus, order[low : low + BATCH], others[low : low + BATCH]))
        total = 0.0
        for i in rng.permutation(len(batches)):
            corpus, rows, wrong = batches[i]
            first, second = maps[self.pivot], maps[corpus.lang]
            loss, d_first, d_second = gradients(
                first.weights, second.weights,
                corpus.first[rows], corpus.second[rows], corpus.second[wrong], self.dropout, rng,
            )  # fmt: skip
            first.step(d_first)
            second.step(d_second)
            total += loss
        return total / len(batches)


def _space_of(lang: str, spaces: Sequence[WordSpace], length: float | None) -> WordSpace:
    """Return one language of the first space that has it, float32, scaled to a mean length."""
    for space in spaces:
        if lang not in space.tables:
            continue
        rows = vectors_of(space, lang)
        if not max(rows.max(initial=0), -rows.min(initial=0)) <= LARGEST:  # also if it is NaN
            raise InputError(
                f"the space {space.name!r} has numbers beyond {LARGEST:.0e} ({lang}), of which no "
                "gradient can be taken. `pmeans.spaces.store.problems` looks for damage."
            )
        if length is not None:
            own = float(np.sqrt(np.einsum("ij,ij->i", rows, rows)).mean())
            rows = rows * np.float32(length / own if own else 1.0)
        alone = {lang: replace(space.tables[lang], start=0)}
        return replace(space, matrix=rows, tables=alone, scale=None, subwords=None)
    has = "; ".join(f"{space.name} has {', '.join(space.languages)}" for space in spaces)
    raise LanguageError(f"no space to project has the language {lang!r}: {has}.")
