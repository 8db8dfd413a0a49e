"""Correct a finished space: words of some pairs come together, words of others move apart.

Distributional vectors put *cheap* beside *expensive*. Attract-Repel (Mrkšić et al. 2017) has lists
of synonyms, translations and antonyms, of one language or across languages.

A batch of pairs (l, r) costs, summed over both words of each pair::

    attract   max(0, attract_margin + cos(l, t) - cos(l, r))   t: the word of the batch closest to l
    repel     max(0, repel_margin   - cos(l, t) + cos(l, r))   t: the one farthest from l
    both      regularisation * |x - original x|²               for each word x of the batch

so that a repel batch is an attract batch under the negated cosine, and one step serves both. The
words of the pair itself are never t; nor is a second mention of one of them, which the authors'
program lets pass. The vectors count by their direction alone: the authors' program, like this one,
scales them to length 1 wherever they are read, lets the gradient pass through that, and scales the
result once more at the end. AdaGrad begins at 0.1 in every coordinate, with accounts of its own
for either kind of pair, as there.
The authors' program also mixes its negatives and clips gradients at 2; this one does neither.

All of a batch is one (words, words) matrix of cosines, and the gradient is one more product: the
slopes at the few cosines that cost something are a matrix of the same shape.

A pair file has a word in each of its first two columns, split by tabs or, where there are none, by
blanks; further columns and a line of headings do no harm, so that the pairs of a similarity test
can be named too. A pair has no direction, and each is kept once. A pair that is asked both to
attract and to repel repels: lists of synonyms are long and loose, lists of antonyms are short and
made by hand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from pmeans.config import Count, Range, Seed, check
from pmeans.errors import ConfigError, FormatError, InputError
from pmeans.identity import identity
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.tables import read_lines
from pmeans.training.trainer import Checkpoint, FilePath, FromFiles, SpaceRef, Trainer
from pmeans.types import Floats, Ints, Progress

NO_PAIRS: Ints = np.empty((0, 2), dtype=np.int64)
_FIRST_ACCOUNT = 0.1


@dataclass(frozen=True)
class WordPairFile(FromFiles):
    """A file of word pairs.

    Attributes:
        path: Text, possibly compressed.
        languages: The language of both columns, or that of each.
    """

    path: FilePath
    languages: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.languages) not in (1, 2):
            raise ConfigError(
                f"{self.path}: languages {list(self.languages)}; name one for both columns, or two."
            )

    def read(self) -> list[tuple[str, str]]:
        """Return the pairs of words, in the order of the file."""
        pairs = []
        for number, line in enumerate(read_lines(self.path), 1):
            # Line ends of the Macintosh of old are in use: the German SimLex-999 has them.
            for row in filter(str.strip, line.split("\r")):
                columns = row.split("\t") if "\t" in row else row.split()
                if len(columns) < 2:
                    raise FormatError(f"{self.path}, line {number:,}: {row!r} is not two words.")
                pairs.append((columns[0].strip(), columns[1].strip()))
        if not pairs:
            raise InputError(f"{self.path}: no pairs of words.")
        return pairs


@dataclass(frozen=True)
class Constraints:
    """What a space is asked for, each pair once."""

    attract: Ints  # rows of the words that should be close, (n, 2)
    repel: Ints  # rows of the words that should be far apart, (n, 2)
    left_out: int = 0  # pairs of either kind that are tested on

    def __str__(self) -> str:
        counts = f"{len(self.attract):,} attract and {len(self.repel):,} repel pairs"
        return f"{counts}, {self.left_out:,} left out" if self.left_out else counts


def gather(
    space: WordSpace,
    attract: Sequence[WordPairFile],
    repel: Sequence[WordPairFile],
    without: Sequence[WordPairFile] = (),
) -> Constraints:
    """Read pair files, and keep what says something about two different words of the space.

    Words are looked up with the space's treatment of case; a pair with an unknown word goes.
    """

    def rows(files: Sequence[WordPairFile]) -> Ints:
        parts = [NO_PAIRS]
        for file in files:
            # One language stands for both columns.
            sides = zip(zip(*file.read(), strict=True), 2 * file.languages, strict=False)
            both = np.stack([space.find(words, lang) for words, lang in sides], axis=1)
            parts.append(both[(both >= 0).all(axis=1)])
        return np.concatenate(parts)

    return clean(len(space), rows(attract), rows(repel), rows(without))


def clean(n_words: int, attract: Ints, repel: Ints, without: Ints) -> Constraints:
    """Drop identical words, repetitions, contradictions and the pairs to do without.

    Pairs are (n, 2) rows of a space with `n_words`. ``repel`` wins over ``attract``.
    """

    def keys(pairs: Ints) -> Ints:
        """Return one number for each distinct pair of different words, sorted."""
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        return np.unique((low * n_words + high)[low != high])

    near, far, tested = keys(attract), keys(repel), keys(without)
    near = np.setdiff1d(near, far, assume_unique=True)
    rest = [np.setdiff1d(keys, tested, assume_unique=True) for keys in (near, far)]
    left_out = len(near) + len(far) - len(rest[0]) - len(rest[1])
    near, far = (np.stack(np.divmod(keys, n_words), axis=1) for keys in rest)
    return Constraints(near, far, left_out)


@dataclass(frozen=True, kw_only=True)
class Specialiser(Trainer):
    """A space and how strongly pairs pull at it, and for how long; the defaults are the paper's.

    Attributes:
        attract_margin: By how much a partner must be closer than the closest other word.
        repel_margin: By how much an antonym must be farther than the farthest other word.
        regularisation: Weight of the squared distance to the original vectors.
        rate: AdaGrad's learning rate.
        batch: Pairs a step. A larger one has harder negatives.
        epochs: Passes over all pairs.
        seed: Decides the order of the pairs, and nothing else.
        space: The space to start from: an installed name, or a path.
    """

    attract_margin: float = 0.6
    repel_margin: float = 0.0
    regularisation: Annotated[float, Range(0)] = 1e-9
    rate: Annotated[float, Range(0)] = 0.05
    batch: int = 50
    epochs: Count = 5
    seed: Seed = 0
    name: str
    space: SpaceRef

    def __post_init__(self) -> None:
        if self.batch < 2:
            raise ConfigError(
                f"batch = {self.batch}: a pair's negatives are words of the other pairs of its "
                "batch; take at least 2."
            )
        check(self)

    @abstractmethod
    def _constraints(self, space: WordSpace) -> Constraints: ...

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> WordSpace:
        """Return the specialised space; the same bytes for the same seed and material."""
        space = find_space(self.space)
        constraints = self._constraints(space)
        progress(0.0, f"{constraints} between words of {space.name}")
        return self.specialise(space, constraints, progress, checkpoint)

    def specialise(
        self, space: WordSpace, constraints: Constraints, progress: Progress, path: Path | None
    ) -> WordSpace:
        """Return a space of the same words whose vectors, all of length 1, heed the constraints.

        Words without a constraint keep their direction. Subwords are dropped: they would compose
        words of the space as it was before.
        """
        if max(len(constraints.attract), len(constraints.repel)) < 2:
            raise InputError(
                f"{constraints} between words of {space.name!r} are too few to learn from. "
                "Are the languages right, and are the words spelled as in the space?"
            )
        vectors = space.rows(slice(None)).copy()
        if not np.isfinite(vectors).all():
            raise InputError(f"the vectors of space {space.name!r} hold NaN or infinity.")
        vectors /= _lengths(vectors)
        both = np.concatenate([constraints.attract, constraints.repel])
        touched, number = np.unique(both, return_inverse=True)
        pairs = np.split(number.reshape(-1, 2), [len(constraints.attract)])
        state = Checkpoint(path, (self, identity(vectors, touched, *pairs)))
        first = np.full((len(touched), space.dim), _FIRST_ACCOUNT, dtype=np.float32)
        arrays, at = state.load() or (
            {"vectors": vectors[touched], "attract": first, "repel": first.copy()}, {"epochs": 0}
        )  # fmt: skip
        accounts = [arrays["attract"], arrays["repel"]]
        learning = _Learning(vectors[touched], arrays["vectors"], accounts, self)
        for epoch in range(at["epochs"], self.epochs):
            cost = learning.epoch(pairs, np.random.default_rng([self.seed, epoch]))
            state.save(arrays, {"epochs": epoch + 1})  # changed in place
            progress((epoch + 1) / self.epochs, f"epoch {epoch + 1}, cost {cost:.4f} a word")
        vectors[touched] = learning.vectors
        source = f"{space.name} ({space.source}), specialised by {constraints}"
        return replace(
            space, name=self.name, matrix=vectors / _lengths(vectors), scale=None, subwords=None,
            source=source, path="",
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class AttractRepel(Specialiser):
    """Specialise a space by pair files; those with two languages tie languages together.

    Attributes:
        attract: Synonyms, translations.
        repel: Antonyms; they win over ``attract``.
        without: Pairs to leave out of both, such as those of a similarity test.
    """

    attract: tuple[WordPairFile, ...]
    repel: tuple[WordPairFile, ...] = ()
    without: tuple[WordPairFile, ...] = ()

    def _constraints(self, space: WordSpace) -> Constraints:
        return gather(space, self.attract, self.repel, self.without)


@dataclass
class _Learning:
    """Vectors on their way: (n_words, dim) each, and the accounts of AdaGrad by kind of pair."""

    original: Floats
    vectors: Floats
    accounts: list[Floats]
    how: Specialiser

    def epoch(self, pairs: list[Ints], rng: np.random.Generator) -> float:
        """Pass over all pairs, batches of both kinds mixed; return the mean cost of a word."""
        batches: list[tuple[int, Ints]] = []
        for kind, some in enumerate(pairs):
            if len(some):
                n = max(1, round(len(some) / self.how.batch))
                batches += ((kind, each) for each in np.array_split(rng.permutation(some), n))
        total = sum(self.step(*batches[i]) for i in rng.permutation(len(batches)).tolist())
        return total / (2 * sum(map(len, pairs)))

    def step(self, kind: int, batch: Ints) -> float:
        """Descend once; kind 0 attracts, 1 repels. Returns the summed cost of the pairs."""
        sign, margin = ((1, self.how.attract_margin), (-1, self.how.repel_margin))[kind]
        words, places = np.unique(batch, return_inverse=True)
        places = places.reshape(-1, 2)
        word, partner = places.ravel(), places[:, ::-1].ravel()
        rows = self.vectors[words]
        lengths = _lengths(rows)
        unit = rows / lengths
        closeness = sign * _product(unit, unit.T)

        others = closeness[word]
        every = np.arange(len(word))
        others[every, word] = others[every, partner] = -np.inf
        negative = others.argmax(axis=1)
        cost = margin + others[every, negative] - closeness[word, partner]
        active = cost > 0  # never of a pair that is alone in its batch: its negatives are at -inf
        word, partner, negative = word[active], partner[active], negative[active]

        n = len(words)
        slopes = np.bincount(word * n + negative, minlength=n * n).astype(np.float32)
        slopes -= np.bincount(word * n + partner, minlength=n * n).astype(np.float32)
        slopes = sign * slopes.reshape(n, n)
        gradient = _product(slopes + slopes.T, unit)
        gradient += 2 * self.how.regularisation * (unit - self.original[words])
        gradient -= np.einsum("ij,ij->i", gradient, unit)[:, None] * unit
        gradient /= lengths

        account = self.accounts[kind][words] + gradient**2
        self.accounts[kind][words] = account
        self.vectors[words] = rows - self.how.rate * gradient / np.sqrt(account)
        return float(cost[active].sum())


def _product(left: Floats, right: Floats) -> Floats:
    """Return ``left @ right``, eight rows at a time.

    So little is not worth sharing out to OpenBLAS, which would else have its threads wait for
    one another thousands of times a second: on a busy machine that took 30 times as long. And
    the bytes of a space do not depend on the number of threads.
    """
    blocks = np.zeros((-(-len(left) // 8), 8, left.shape[1]), dtype=left.dtype)
    blocks.reshape(-1, left.shape[1])[: len(left)] = left
    return np.matmul(blocks, right).reshape(-1, right.shape[1])[: len(left)]


def _lengths(rows: Floats) -> Floats:
    """Return what to divide rows by, (n, 1); a zero row stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, lengths, np.float32(1))
