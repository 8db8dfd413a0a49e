"""Vectors of words that go down the gradient of a loss over sentences, by torch.

A loss is a plain function of the vectors that a batch has, which torch differentiates; the tests
hold each against finite differences. A step moves these rows alone. As in
`pmeans.training.bag_means`, a row moves by `rate` in its first step, and in later ones by its
gradient times rate / sqrt(sum of all its gradients' squared lengths): AdaGrad with one number per
row, which does not ask how large a batch is or how frequent a word.

It runs on CUDA where there is one, and else on the CPU, where the same seed gives the same bytes.

`Descent` is the steps, and `SentenceTrainer` what its trainers have in common: a loss makes a
subclass of either.
"""

from __future__ import annotations

import abc
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from pmeans.choices import Precision
from pmeans.config import check
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.models.baselines import Baseline
from pmeans.spaces.space import WordSpace
from pmeans.tensors import quantised
from pmeans.training.bivcd import LanguageText
from pmeans.training.corpus import PairFile
from pmeans.training.trainer import Checkpoint, FromFiles, within
from pmeans.types import Array, Floats, Ints, Progress
from pmeans_lab.baselines.sentence_ids import Sentences, running

Tensor = Any
"""torch's; it is not imported before it is used."""
Loss = Callable[[dict[str, Tensor], dict[str, Tensor]], Tensor]
"""From the rows of each table, (n_distinct, dim), and where each wanted one is among them."""
Made = TypeVar("Made", bound=WordSpace | Baseline, covariant=True)

_TINY = 1e-12
_REPORTED = 50


class TimeLimit:
    """The time that a training has: after its first epoch, none is begun that may end later."""

    def __init__(self, minutes: float | None) -> None:
        """Begin to count; None has no limit. What ends by it depends on the machine."""
        self._end = time.monotonic() + (math.inf if minutes is None else 60 * minutes)
        self._lap: float | None = None
        self._longest = 0.0

    def is_up(self) -> bool:
        """Whether an epoch as long as the longest would end too late; to be asked before each."""
        now = time.monotonic()
        if self._lap is not None:
            self._longest = max(self._longest, now - self._lap)
        self._lap = now
        return self._longest > 0 and now + self._longest > self._end


class Descent(abc.ABC):
    """Tables of vectors on a device, how far each row has come, and the sentences it learns from.

    Attributes:
        how: The settings.
        torch: The package.
        device: Where everything is.
        ids: Words of all sentences, (n_tokens,).
    """

    def __init__(
        self, how: SentenceTrainer[Any], tables: Mapping[str, Floats], sentences: Sentences
    ) -> None:
        """Take the settings, and tables, (n_rows, dim) each."""
        self.torch = optional("torch", "train", how.method)
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.how = how
        self.tables = {name: self.put(each) for name, each in tables.items()}
        self.squares = {name: self.put(np.zeros(len(t), np.float32)) for name, t in tables.items()}
        self.ids = self.put(sentences.ids).long()
        self._begins = self.put(sentences.offsets[:-1])
        self._lengths = self.put(sentences.lengths).long()

    @abc.abstractmethod
    def batches(self, rng: np.random.Generator) -> list[Ints]:
        """Draw the batches of an epoch."""

    @abc.abstractmethod
    def step(self, batch: Ints, generator: Tensor) -> Tensor:
        """Do one batch, by `move`, with random numbers on the device; return the loss."""

    def stored(self, tables: Mapping[str, Floats]) -> dict[str, Array]:
        """Return the tables of `run` as they are stored."""
        return coded(tables["words"], self.how.precision)

    def put(self, array: Array) -> Tensor:
        """Return a copy of an array on the device."""
        return self.torch.tensor(np.ascontiguousarray(array), device=self.device)

    def words_of(self, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return where the words of some sentences stand in `ids`, and each one's owner.

        Args:
            numbers: Of sentences, (n,).

        Returns:
            Places and owners, (n_tokens,) each, one sentence after the other; the owner is a place
            in `numbers`. And the number of words of each, (n,).
        """
        torch = self.torch
        lengths = self._lengths[numbers]
        owner = torch.repeat_interleave(torch.arange(len(numbers), device=self.device), lengths)
        shift = self._begins[numbers] - (lengths.cumsum(0) - lengths)
        return torch.arange(len(owner), device=self.device) + shift[owner], owner, lengths

    def move(self, wanted: Mapping[str, Tensor], loss: Loss) -> Tensor:
        """Move the wanted rows of each table down the gradient of a loss; return the loss."""
        torch = self.torch
        used, places, rows = {}, {}, {}
        for name, ids in wanted.items():
            used[name], places[name] = torch.unique(ids, return_inverse=True)
            rows[name] = self.tables[name][used[name]].requires_grad_()
        found = loss(rows, places)
        found.backward()
        with torch.no_grad():
            for name, ids in used.items():
                gradient = rows[name].grad
                squares = self.squares[name][ids] + (gradient * gradient).sum(1)
                self.squares[name][ids] = squares
                scale = self.how.rate / (squares.sqrt() + _TINY)
                self.tables[name][ids] = rows[name].detach() - scale[:, None] * gradient
        return found.detach()

    def run(self, progress: Progress, checkpoint: Checkpoint) -> dict[str, Floats]:
        """Make all epochs, from the beginning or from a checkpoint, and return the tables."""
        epoch, epochs = 0, self.how.epochs
        if kept := checkpoint.load():
            arrays, at = kept
            for name in self.tables:
                self.tables[name] = self.put(arrays[f"rows.{name}"])
                self.squares[name] = self.put(arrays[f"squares.{name}"])
            epoch = at["epoch"]
        generator = self.torch.Generator(self.device)
        time_limit = TimeLimit(self.how.minutes)
        while epoch < epochs:
            began = time.monotonic()
            if time_limit.is_up():
                progress(1.0, f"the time is up after {epoch} epochs")
                break
            # Generators of its own for each epoch: what was interrupted goes on alike.
            rng = np.random.default_rng([self.how.seed, epoch])
            generator.manual_seed(int(rng.integers(2**62)))
            drawn = self.batches(rng)
            for i, batch in enumerate(drawn):
                loss = self.step(batch, generator)
                if i % _REPORTED == 0 or i + 1 == len(drawn):
                    share = (epoch + (i + 1) / len(drawn)) / epochs
                    seconds = time.monotonic() - began
                    message = f"epoch {epoch + 1}, loss {float(loss):.4f}, {seconds:.0f} s"
                    progress(share, message)
            epoch += 1
            checkpoint.save(self._state(), {"epoch": epoch})
        return {name: self._back(each) for name, each in self.tables.items()}

    def _state(self) -> dict[str, Array]:
        arrays = {f"rows.{name}": self._back(each) for name, each in self.tables.items()}
        return arrays | {f"squares.{name}": self._back(s) for name, s in self.squares.items()}

    def _back(self, tensor: Tensor) -> Floats:
        rows: Floats = tensor.cpu().numpy()
        if not np.isfinite(rows).all():
            raise InputError("the vectors left the range of float32. Train with a smaller rate.")
        return rows


class SentenceTrainer(FromFiles, abc.ABC, Generic[Made]):
    """A trainer of vectors by a loss over sentences.

    Its three steps may be done on two machines: `fit` needs neither the text nor the space.

    Attributes:
        method: What the source of its space calls it.
        fitted_by: The settings that `fit` depends on, but for the sentences.
    """

    method: ClassVar[str]
    fitted_by: ClassVar[tuple[str, ...]]
    name: str
    dim: int
    epochs: int
    rate: float
    precision: Precision
    minutes: float | None
    seed: int

    def __post_init__(self) -> None:
        check(self)

    @property
    @abc.abstractmethod
    def files(self) -> Sequence[LanguageText | PairFile]:
        """The files of sentences."""

    @abc.abstractmethod
    def samples(self, progress: Progress) -> Sentences:
        """Read the files."""

    @abc.abstractmethod
    def descent(self, sentences: Sentences) -> Descent:
        """Return the first vectors and the steps; what cannot be learned from is an error."""

    @abc.abstractmethod
    def joined(self, sentences: Sentences, fitted: Mapping[str, Array]) -> Made:
        """Return the result of fitted vectors."""

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> Made:
        """Read the files and fit the vectors, from the beginning or from a checkpoint."""
        optional("torch", "train", self.method)  # before any time is spent
        sentences = self.samples(within(progress, 0, 20))
        fitted = self.fit(sentences, progress=progress, checkpoint=checkpoint)
        return self.joined(sentences, fitted)

    def fit(
        self, sentences: Sentences, *, progress: Progress, checkpoint: Path | None = None
    ) -> dict[str, Array]:
        """Fit the vectors; `joined` makes the result of what this returns."""
        descent = self.descent(sentences)
        settings = [(name, getattr(self, name)) for name in self.fitted_by]
        identity = type(self).__name__, settings, sentences.digest()
        return descent.stored(descent.run(progress, Checkpoint(checkpoint, identity)))

    def first_rows(self, n: int) -> Floats:
        """Draw vectors to begin with, (n, dim), standard normal."""
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal((n, self.dim), dtype=np.float32)

    def space(
        self, sentences: Sentences, fitted: Mapping[str, Array], licence: str = ""
    ) -> WordSpace:
        """Return the space of fitted vectors."""
        return WordSpace.from_words(
            self.name, sentences.words, fitted["vectors"], scale=fitted.get("scale"),
            source=f"{self.method} on {self.file_names}",
            licence=licence or f"terms of its material: {self.file_names}",
        )  # fmt: skip

    @property
    def file_names(self) -> str:
        """The names of the files, for people."""
        return ", ".join(Path(file.path).name for file in self.files)


class TextTrainer(SentenceTrainer[Made]):
    """One that learns from running text of one language."""

    texts: tuple[LanguageText, ...]
    words: int
    min_count: int

    @property
    def files(self) -> tuple[LanguageText, ...]:
        """The files of text."""
        return self.texts

    def samples(self, progress: Progress) -> Sentences:
        """Read the text."""
        return running(self.texts, self.words, self.min_count, progress)


def sums(torch: Any, rows: Tensor, owner: Tensor, n: int) -> Tensor:
    """Return the sums of rows, (n_tokens, dim), by their owner, (n, dim)."""
    return torch.zeros(n, rows.shape[1], dtype=rows.dtype, device=rows.device).index_add(
        0, owner, rows
    )


def cut(order: Ints, size: int) -> list[Ints]:
    """Cut an order into batches of a size; the last one may be smaller."""
    return [order[low : low + size] for low in range(0, len(order), size)]


def coded(vectors: Floats, precision: Precision, prefix: str = "") -> dict[str, Array]:
    """Return vectors as they are stored: ``vectors`` and, of int8, ``scale``."""
    matrix, scale = quantised(vectors, None, precision, lambda row: f"row {row}.")
    arrays: dict[str, Array] = {f"{prefix}vectors": matrix}
    return arrays if scale is None else arrays | {f"{prefix}scale": scale}
