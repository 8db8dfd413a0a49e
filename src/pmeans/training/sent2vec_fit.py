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

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.baselines.base import plain_mean
from pmeans.baselines.sent2vec import Sent2Vec, kept
from pmeans.errors import InputError
from pmeans.spaces.readers.sent2vec_binary import read_sent2vec_binary
from pmeans.spaces.space import WordSpace
from pmeans.tensors import Precision
from pmeans.training.bivcd import LanguageText
from pmeans.training.row_descent import (
    Descent,
    Tensor,
    Words,
    check_numbers,
    coded,
    cut,
    state_of,
    sums,
)
from pmeans.training.sentence_ids import Sentences, running
from pmeans.training.trainer import BaselineTrainer, FilePath, within
from pmeans.types import Array, Ids, Ints, Progress, Tokenizer


@dataclass(frozen=True)
class TrainSent2Vec(BaselineTrainer):
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
    dim: int = 700
    words: int = 40_000
    bigrams: int = 40_000
    min_count: int = 5
    negatives: int = 10
    dropout: int = 4
    subsample: float = 1e-5
    epochs: int = 20
    batch: int = 512
    rate: float = 1.0
    precision: Precision = "int8"
    minutes: float | None = None
    tokenizer: Tokenizer = "words"
    seed: int = 0

    def __post_init__(self) -> None:
        least = dict.fromkeys(("dim", "min_count", "negatives", "epochs", "batch"), 1)
        check_numbers(self, least | {"words": 2, "bigrams": 0, "dropout": 0})
        if not 0 < self.subsample <= 1:
            raise InputError(f"subsample must lie between 0 and 1, not {self.subsample}.")

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Sent2Vec:
        """Read the text and fit the vectors, from the beginning or from a checkpoint."""
        sentences = self.samples(within(progress, 0, 20))
        fitted = self.fit(sentences, progress=progress, checkpoint=checkpoint)
        return self.joined(sentences, fitted)

    def samples(self, progress: Progress) -> Sentences:
        """Read the text."""
        return running(self.texts, self.words, self.min_count, progress)

    def fit(
        self, sentences: Sentences, *, progress: Progress, checkpoint: Path | None = None
    ) -> dict[str, Array]:
        """Fit the vectors; `joined` makes the encoder of what this returns."""
        several = np.flatnonzero(sentences.lengths > 1)
        if not len(several):
            names = ", ".join(Path(file.path).name for file in self.texts)
            raise InputError(f"{names}: no sentence has two known words.")
        n_words = len(sentences.counts)
        keys, before = self._bigrams(sentences)
        rng = np.random.default_rng(self.seed)
        first = rng.standard_normal((n_words + len(keys), self.dim), dtype=np.float32)
        targets = np.zeros((n_words, self.dim), dtype=np.float32)
        # Long enough to differ: else the first targets, and then all rows, take one direction.
        first /= np.float32(np.sqrt(self.dim))
        descent = Descent({"context": first, "target": targets}, self.rate)
        torch = descent.torch
        words = Words(descent, sentences)
        pairs = descent.put(before).long()
        share = sentences.counts / sentences.counts.sum()
        chance = np.sqrt(self.subsample / share) + self.subsample / share
        chances = descent.put(chance.astype(np.float32))
        drawing = descent.put(np.cumsum(np.sqrt(share)) / np.sqrt(share).sum())

        def step(batch: Ints, generator: Tensor) -> Tensor:
            def random(*shape: int) -> Tensor:
                return torch.rand(*shape, generator=generator, device=descent.device)

            places, owner, _ = words.of(descent.put(batch))
            ids, bigrams = words.ids[places], pairs[places]
            bigrams = dropped(torch, bigrams, owner, random(len(ids)), self.dropout)
            chosen = torch.nonzero(random(len(ids)) < chances[ids])[:, 0]
            drawn = torch.rand(
                len(chosen), self.negatives,
                generator=generator, device=descent.device, dtype=torch.float64,
            )  # fmt: skip
            negatives = torch.searchsorted(drawing, drawn).clamp(max=n_words - 1)
            wanted = torch.cat([ids[chosen][:, None], negatives], dim=1)
            there = torch.nonzero(bigrams >= 0)[:, 0]

            def found(rows: dict[str, Tensor], at: dict[str, Tensor]) -> Tensor:
                each = rows["context"][at["context"]]
                pair = torch.zeros_like(each[: len(ids)])
                pair[there] = each[len(ids) :]
                context, size = contexts(torch, each[: len(ids)], pair, bigrams >= 0, owner, chosen)
                return loss(torch, context, rows["target"][at["target"]], wanted, size > 0)

            context_ids = torch.cat([ids, n_words + bigrams[there]])
            return descent.step({"context": context_ids, "target": wanted}, found)

        state = state_of(checkpoint, self, _SETTINGS, sentences.digest())
        tables = descent.run(
            step, lambda rng: cut(rng.permutation(several), self.batch),
            epochs=self.epochs, minutes=self.minutes, seed=self.seed,
            progress=progress, checkpoint=state,
        )  # fmt: skip
        context = tables["context"]
        found = coded(context[:n_words], self.precision)
        return found | coded(context[n_words:], self.precision, "bigram.") | {"bigram.keys": keys}

    def joined(self, sentences: Sentences, fitted: dict[str, Array]) -> Sent2Vec:
        """Return the encoder of fitted vectors."""
        files = ", ".join(Path(file.path).name for file in self.texts)
        space = WordSpace.from_words(
            self.name, sentences.words, fitted["vectors"], scale=fitted.get("scale"),
            source=f"Sent2Vec on {files}", licence=f"terms of its material: {files}",
        )  # fmt: skip
        bigrams = {
            name.removeprefix("bigram."): each
            for name, each in fitted.items()
            if name.startswith("bigram.")
        }
        return Sent2Vec(self.name, plain_mean(space, self.name, self.tokenizer), bigrams)

    def _bigrams(self, sentences: Sentences) -> tuple[Ints, Ids]:
        """Return the keys of the most frequent bigrams, and each word's with the word before it.

        The second is (n_tokens,): rows of bigrams, -1 where there is none.
        """
        n_words = len(sentences.counts)
        inside = np.ones(len(sentences.ids), dtype=np.bool_)
        inside[sentences.offsets[:-1][sentences.lengths > 0]] = False
        second = np.flatnonzero(inside)
        first, last = sentences.ids[second - 1], sentences.ids[second]
        keys, counts = np.unique(first.astype(np.int64) * n_words + last, return_counts=True)
        order = np.argsort(-counts, kind="stable")[: self.bigrams]
        keys = np.sort(keys[order[counts[order] >= self.min_count]])
        before = np.full(len(sentences.ids), -1, dtype=np.int32)
        before[second] = kept(keys, first, last, n_words)
        return keys, before


_SETTINGS = (
    "dim", "bigrams", "min_count", "negatives", "dropout", "subsample", "epochs", "batch", "rate",
    "precision", "seed",
)  # fmt: skip


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
