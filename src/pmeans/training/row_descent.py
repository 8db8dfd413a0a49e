"""Vectors of words that go down the gradient of a loss over sentences, by torch.

A loss is a plain function of the vectors that a batch has, which torch differentiates; the tests
hold each against finite differences. A step moves these rows alone. As in
`pmeans.training.bag_means`, a row moves by `rate` in its first step, and in later ones by its
gradient times rate / sqrt(sum of all its gradients' squared lengths): AdaGrad with one number per
row, which does not ask how large a batch is or how frequent a word.

It runs on CUDA where there is one, and else on the CPU, where the same seed gives the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.tensors import Precision, quantised
from pmeans.training.sentence_ids import Sentences
from pmeans.training.trainer import Checkpoint
from pmeans.types import Array, Floats, Ints, Progress

Tensor = Any
"""torch's; it is not imported before it is used."""
Loss = Callable[[dict[str, Tensor], dict[str, Tensor]], Tensor]
"""From the rows of each table, (n_distinct, dim), and where each wanted one is among them."""

_TINY = 1e-12
_REPORTED = 50


class Descent:
    """Tables of vectors on a device, and how far each row has come."""

    def __init__(self, tables: Mapping[str, Floats], rate: float) -> None:
        """Take tables, (n_rows, dim) each, and how far a row moves in its first step."""
        self.torch = optional("torch", "train", "this training")
        self.device = "cuda" if self.torch.cuda.is_available() else "cpu"
        self.rate = rate
        self.tables = {name: self.put(each) for name, each in tables.items()}
        self.squares = {name: self.put(np.zeros(len(t), np.float32)) for name, t in tables.items()}

    def put(self, array: Array) -> Tensor:
        """Return a copy of an array on the device."""
        return self.torch.tensor(np.ascontiguousarray(array), device=self.device)

    def step(self, wanted: Mapping[str, Tensor], loss: Loss) -> Tensor:
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
                scale = self.rate / (squares.sqrt() + _TINY)
                self.tables[name][ids] = rows[name].detach() - scale[:, None] * gradient
        return found.detach()

    def run(
        self,
        step: Callable[[Ints, Tensor], Tensor],
        batches: Callable[[np.random.Generator], list[Ints]],
        *,
        epochs: int,
        minutes: float | None,
        seed: int,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> dict[str, Floats]:
        """Make all epochs, from the beginning or from a checkpoint, and return the tables.

        Args:
            step: Takes a batch and a generator of random numbers on the device; returns the loss.
            batches: Draws the batches of an epoch.
            epochs: Passes.
            minutes: After the first epoch, none is begun that is likely to end later; None has no
                limit. What ends so depends on the machine.
            seed: Of all that is drawn; each epoch has generators of its own.
            progress: Told the loss now and then.
            checkpoint: Where the state is kept after each epoch.
        """
        epoch = 0
        if kept := checkpoint.load():
            arrays, at = kept
            for name in self.tables:
                self.tables[name] = self.put(arrays[f"rows.{name}"])
                self.squares[name] = self.put(arrays[f"squares.{name}"])
            epoch = at["epoch"]
        generator = self.torch.Generator(self.device)
        start, longest = time.monotonic(), 0.0
        while epoch < epochs:
            began = time.monotonic()
            if minutes is not None and longest and began - start + longest > 60 * minutes:
                progress(1.0, f"the time is up after {epoch} epochs")
                break
            rng = np.random.default_rng([seed, epoch])
            generator.manual_seed(int(rng.integers(2**62)))
            drawn = batches(rng)
            for i, batch in enumerate(drawn):
                loss = step(batch, generator)
                if i % _REPORTED == 0 or i + 1 == len(drawn):
                    share = (epoch + (i + 1) / len(drawn)) / epochs
                    seconds = time.monotonic() - began
                    told = f"epoch {epoch + 1}, loss {float(loss):.4f}, {seconds:.0f} s"
                    progress(share, told)
            epoch += 1
            checkpoint.save(self._state(), {"epoch": epoch})
            longest = max(longest, time.monotonic() - began)
        return {name: self._back(each) for name, each in self.tables.items()}

    def _state(self) -> dict[str, Array]:
        arrays = {f"rows.{name}": self._back(each) for name, each in self.tables.items()}
        return arrays | {f"squares.{name}": self._back(s) for name, s in self.squares.items()}

    def _back(self, tensor: Tensor) -> Floats:
        found: Floats = tensor.cpu().numpy()
        if not np.isfinite(found).all():
            raise InputError("the vectors left the range of float32. Train with a smaller rate.")
        return found


class Words:
    """The words of sentences on the device of a descent."""

    def __init__(self, descent: Descent, sentences: Sentences) -> None:
        self._torch, self._device = descent.torch, descent.device
        self.ids = descent.put(sentences.ids).long()
        self.begins = descent.put(sentences.offsets[:-1])
        self.lengths = descent.put(sentences.lengths).long()

    def of(self, numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return where the words of some sentences stand in `ids`, and each one's owner.

        Args:
            numbers: Of sentences, (n,).

        Returns:
            Places and owners, (n_tokens,) each, one sentence after the other; the owner is a place
            in `numbers`. And the number of words of each, (n,).
        """
        torch = self._torch
        lengths = self.lengths[numbers]
        owner = torch.repeat_interleave(torch.arange(len(numbers), device=self._device), lengths)
        shift = self.begins[numbers] - (lengths.cumsum(0) - lengths)
        return torch.arange(len(owner), device=self._device) + shift[owner], owner, lengths


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
    found: dict[str, Array] = {f"{prefix}vectors": matrix}
    return found if scale is None else found | {f"{prefix}scale": scale}


def check_numbers(settings: Any, least: Mapping[str, int]) -> None:
    """Refuse settings below their least value, and what can be no rate or seed."""
    for name, lowest in least.items():
        if getattr(settings, name) < lowest:
            raise InputError(f"{name} must be at least {lowest}, not {getattr(settings, name)}.")
    if settings.minutes is not None and not settings.minutes > 0:
        raise InputError(f"minutes must be above 0, not {settings.minutes}.")
    if not 0 < settings.rate <= 100:
        raise InputError(f"rate must lie between 0 and 100, not {settings.rate}.")
    if not 0 <= settings.seed < 2**62:
        raise InputError(f"the seed must be a whole number from 0 on, not {settings.seed}.")


def state_of(path: Path | None, trainer: Any, names: tuple[str, ...], material: str) -> Checkpoint:
    """Return the checkpoint of a trainer, whose result depends on these settings and material."""
    settings = [(name, getattr(trainer, name)) for name in names]
    return Checkpoint(path, (type(trainer).__name__, settings, material))
