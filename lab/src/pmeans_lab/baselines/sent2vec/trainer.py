"""Train Sent2Vec (Pagliardini, Gupta and Jaggi, 2018), or read what the authors' program trained.

Each word w of a sentence is predicted from the mean c of the sentence's other words and bigrams,
those with w left out, against negatives drawn by the square root of their frequency::

    loss = - log s(c . v_w) - sum over negatives u of log s(- c . v_u),    s(x) = 1 / (1 + e^-x)

v are vectors of targets, which the encoder does not keep. Words of a share f of the text are
targets with a chance of sqrt(t / f) + t / f. In each epoch, `dropout` bigrams of a sentence, drawn
at random, are left out. The most frequent bigrams have a vector of their own, the others none: the
authors hash all of them into two million rows instead, which makes a file of gigabytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from pmeans.choices import Precision
from pmeans.config import Count, Range, Rate, Seed
from pmeans.errors import InputError
from pmeans.models.baselines import plain_mean
from pmeans.training.bivcd import LanguageText
from pmeans.training.trainer import BaselineTrainer, FilePath
from pmeans.types import Array, Floats, Ids, Ints, Progress, Tokenizer
from pmeans_lab.baselines.row_descent import Descent, Tensor, TextTrainer, coded, cut, sums
from pmeans_lab.baselines.sent2vec.encoder import Sent2Vec, kept
from pmeans_lab.baselines.sent2vec.reader import read_sent2vec_binary
from pmeans_lab.baselines.sentence_ids import Sentences


@dataclass(frozen=True)
class TrainSent2Vec(TextTrainer[Sent2Vec], BaselineTrainer):
    """Train words and bigrams of one language on running text.

    Attributes:
        texts: The files.
        name: Of the encoder.
        dim: Length of a vector.
        words: So many words have a vector at most, the most frequent ones.
        bigrams: So many bigrams, likewise.
        min_count: Rarer words, and rarer bigrams, have none.
        negatives: Words drawn beside each target.
        dropout: Bigrams of a sentence that are left out.
        subsample: t.
        epochs: Passes over the text.
        batch: Sentences per step.
        rate: How far a row moves in its first step; vectors start about 1 long.
        precision: How the vectors are stored.
        minutes: After the first epoch, none is begun that is likely to end later; None has no
            limit.
        tokenizer: As in a recipe.
        seed: Of everything random.
    """

    texts: tuple[LanguageText, ...]
    name: str
    dim: Count = 700
    words: Annotated[int, Range(2)] = 40_000
    bigrams: Annotated[int, Range(0)] = 40_000
    min_count: Count = 5
    negatives: Count = 10
    dropout: Annotated[int, Range(0)] = 4
    subsample: Annotated[float, Range(above=0, high=1)] = 1e-5
    epochs: Count = 20
    batch: Count = 512
    rate: Rate = 1.0
    precision: Precision = "int8"
    minutes: Rate | None = None
    tokenizer: Tokenizer = "words"
    seed: Seed = 0

    method: ClassVar[str] = "Sent2Vec"
    fitted_by: ClassVar[tuple[str, ...]] = (
        "dim", "bigrams", "min_count", "negatives", "dropout", "subsample", "epochs", "batch",
        "rate", "precision", "seed",
    )  # fmt: skip

    def descent(self, sentences: Sentences) -> Descent:
        """Return vectors of words and bigrams about 1 long, and the steps over sentences."""
        if not (sentences.lengths > 1).any():
            raise InputError(f"{self.file_names}: no sentence has two known words.")
        return _Descent(self, sentences)

    def joined(self, sentences: Sentences, fitted: Mapping[str, Array]) -> Sent2Vec:
        """Return the encoder of fitted vectors."""
        bigrams = {
            name.removeprefix("bigram."): each
            for name, each in fitted.items()
            if name.startswith("bigram.")
        }
        mean = plain_mean(self.space(sentences, fitted), self.name, self.tokenizer)
        return Sent2Vec(self.name, mean, bigrams)


class _Descent(Descent):
    how: TrainSent2Vec

    def __init__(self, how: TrainSent2Vec, sentences: Sentences) -> None:
        self.keys, before = frequent_bigrams(sentences, how.bigrams, how.min_count)
        self.n_words = len(sentences.counts)
        # Long enough to differ: else the first targets, and then all rows, take one direction.
        first = how.first_rows(self.n_words + len(self.keys)) / np.float32(np.sqrt(how.dim))
        targets = np.zeros((self.n_words, how.dim), dtype=np.float32)
        super().__init__(how, {"context": first, "target": targets}, sentences)
        self.several = np.flatnonzero(sentences.lengths > 1)
        self.bigrams = self.put(before).long()
        share = sentences.counts / sentences.counts.sum()
        chance = np.sqrt(how.subsample / share) + how.subsample / share
        self.chances = self.put(chance.astype(np.float32))
        self.drawing = self.put(np.cumsum(np.sqrt(share)) / np.sqrt(share).sum())

    def batches(self, rng: np.random.Generator) -> list[Ints]:
        return cut(rng.permutation(self.several), self.how.batch)

    def step(self, batch: Ints, generator: Tensor) -> Tensor:
        torch = self.torch
        drawn = {"generator": generator, "device": self.device}
        places, owner, _ = self.words_of(self.put(batch))
        ids, n = self.ids[places], len(places)
        dropout = self.how.dropout
        bigrams = dropped(torch, self.bigrams[places], owner, torch.rand(n, **drawn), dropout)
        chosen = torch.nonzero(torch.rand(n, **drawn) < self.chances[ids])[:, 0]
        shape = len(chosen), self.how.negatives
        where = torch.rand(*shape, dtype=torch.float64, **drawn)
        negatives = torch.searchsorted(self.drawing, where).clamp(max=self.n_words - 1)
        wanted = torch.cat([ids[chosen][:, None], negatives], dim=1)
        has = bigrams >= 0

        def found(rows: dict[str, Tensor], at: dict[str, Tensor]) -> Tensor:
            each = rows["context"][at["context"]]
            pairs = torch.zeros_like(each[:n])
            pairs[has] = each[n:]
            context, size = contexts(torch, each[:n], pairs, has, owner, chosen)
            return loss(torch, context, rows["target"][at["target"]], wanted, size > 0)

        context_ids = torch.cat([ids, self.n_words + bigrams[has]])
        return self.move({"context": context_ids, "target": wanted}, found)

    def stored(self, tables: Mapping[str, Floats]) -> dict[str, Array]:
        """Return the vectors of words and, beginning with ``bigram.``, all of bigrams."""
        words, bigrams = np.split(tables["context"], [self.n_words])
        precision = self.how.precision
        found = coded(words, precision) | coded(bigrams, precision, "bigram.")
        return found | {"bigram.keys": self.keys}


def frequent_bigrams(sentences: Sentences, n: int, min_count: int) -> tuple[Ints, Ids]:
    """Return the keys of the n most frequent bigrams, and each word's with the word before it.

    The second is (n_tokens,): rows of bigrams, -1 where there is none.
    """
    n_words = len(sentences.counts)
    inside = np.ones(len(sentences.ids), dtype=np.bool_)
    inside[sentences.offsets[:-1][sentences.lengths > 0]] = False
    second = np.flatnonzero(inside)
    first, last = sentences.ids[second - 1], sentences.ids[second]
    keys, counts = np.unique(first.astype(np.int64) * n_words + last, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:n]
    keys = np.sort(keys[order[counts[order] >= min_count]])
    before = np.full(len(sentences.ids), -1, dtype=np.int32)
    before[second] = kept(keys, first, last, n_words)
    return keys, before


def dropped(torch: Any, bigrams: Tensor, owner: Tensor, draws: Tensor, n: int) -> Tensor:
    """Return bigrams with n of each sentence, those of the smallest draws, replaced by -1.

    Args:
        torch: The package.
        bigrams: The bigram that each word ends, or -1, (n_tokens,).
        owner: Sentence of each, ascending, (n_tokens,).
        draws: Random numbers from 0 to 1, (n_tokens,).
        n: How many.
    """
    if not n:
        return bigrams
    # Those that are none come last within their sentence.
    keys = torch.where(bigrams >= 0, draws, 2.0)
    order = torch.argsort(keys, stable=True)
    order = order[torch.argsort(owner[order], stable=True)]
    starts = torch.searchsorted(owner, owner)
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - starts
    return torch.where(rank < n, -1, bigrams)


def contexts(
    torch: Any, words: Tensor, bigrams: Tensor, has: Tensor, owner: Tensor, chosen: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the mean of what surrounds each target, (n, dim), and of how many it is one, (n,).

    Args:
        torch: The package.
        words: Vectors of words, (n_tokens, dim), one sentence after the other.
        bigrams: Of the bigram that each word ends; zero if there is none, (n_tokens, dim).
        has: Whether there is one, (n_tokens,) bool.
        owner: Sentence of each, ascending from 0, (n_tokens,).
        chosen: Places of the targets, (n,).
    """
    n = int(owner[-1]) + 1
    both = sums(torch, words + bigrams, owner, n)
    sizes = sums(torch, (1 + has.to(words.dtype))[:, None], owner, n)[:, 0]
    # The bigram that the next word ends has this word; the first word of a sentence ends none.
    following = torch.cat([bigrams[1:], torch.zeros_like(bigrams[:1])])
    has_following = torch.cat([has[1:], torch.zeros_like(has[:1])])
    at = owner[chosen]
    total = both[at] - words[chosen] - bigrams[chosen] - following[chosen]
    size = sizes[at] - 1 - has[chosen].to(sizes) - has_following[chosen].to(sizes)
    return total / size.clamp(min=1)[:, None], size


def loss(torch: Any, context: Tensor, vectors: Tensor, wanted: Tensor, there: Tensor) -> Tensor:
    """Return the mean loss of a batch of targets.

    Args:
        torch: The package.
        context: Means of what surrounds them, (n, dim).
        vectors: Of each target, and of its negatives, (n, 1 + negatives, dim).
        wanted: Their words, (n, 1 + negatives): a negative that is the target itself is skipped.
        there: Whether there is anything that surrounds it, (n,) bool.
    """
    scores = (vectors * context[:, None]).sum(2)
    signed = torch.cat([scores[:, :1], -scores[:, 1:]], dim=1)
    counts = there[:, None] & torch.cat(
        [torch.ones_like(wanted[:, :1], dtype=torch.bool), wanted[:, 1:] != wanted[:, :1]], dim=1
    )
    logs = torch.nn.functional.logsigmoid(signed).masked_fill(~counts, 0)
    return -logs.sum() / there.sum().clamp(min=1)


@dataclass(frozen=True)
class ReadSent2Vec(BaselineTrainer):
    """Make a model of the authors' program an encoder.

    Attributes:
        file: Its ``.bin`` file.
        lang: Language of its words.
        name: Of the encoder.
        tokenizer: As in a recipe. Which words it has depends on how the authors split text.
    """

    file: FilePath
    lang: str
    name: str
    tokenizer: Tokenizer = "words"

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Sent2Vec:
        """Read the file; there is nothing to train."""
        progress(0.0, f"reading {Path(self.file).name}")
        space, numbers, buckets = read_sent2vec_binary(self.file, self.name, self.lang)
        found = {"vectors": buckets, "numbers": numbers}
        if not len(buckets):
            found = {"vectors": buckets, "keys": np.empty(0, dtype=np.int64)}
        return Sent2Vec(self.name, plain_mean(space, self.name, self.tokenizer), found)
