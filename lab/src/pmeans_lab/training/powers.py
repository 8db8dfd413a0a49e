"""Powers of shifted means, learned by gradient together with a linear map to what is to be told.

A **position** s between -1 and 1 stands for a power: -inf at -1, the mean at 0, inf at 1, and in
between, at even distances, the powers of `pmeans.kernels.SQUARES`, which the native core takes at
full speed. At these **nodes** the shifted mean M of `pmeans.kernels.reference` goes from the mean
to max in nearly even steps, on real sentences. Between two nodes 1/p is linear in s. M is
continuous in s and never falls, and its derivative is finite at both ends, which p itself would
never reach: with n words, R the distance of M from the least value (from the largest, below 0), and
H the entropy of what each word's power has of the sum of powers,

    dM/ds = R · (log n - H) · |d(1/p)/ds|.

Word vectors stay as they are, and a sentence's means at the nodes are all there is to know of it.
So the encoder computes them once, exactly. Between two nodes M is interpolated: its derivative
there is their difference quotient. A step of learning touches no word, and takes as long for a page
as for a sentence. `tests/unit/training/test_powers.py` holds means and derivatives against the
formulas.

The columns, normalised over the batch as a z-norm would, go through dropout and one linear layer to
classes or to a teacher's vectors. A fifth of the sentences is held out. The positions of the epoch
that predicts them best are kept, each moved to the nearest node, and frozen into a recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Recipe
from pmeans.errors import InputError, check_seed
from pmeans.files import optional
from pmeans.kernels import SQUARES
from pmeans.types import Array, Floats, Power, Progress

NODES = (*(-size for size in SQUARES[:0:-1]), *SQUARES)
"""Powers at which means are exact, from min to max; powers are learned to the nearest of them."""

_FEWEST = 10  # sentences
_HELD_OUT = 5
_DROPOUT = 0.8


@dataclass(frozen=True)
class PowerLearner:
    """Learns powers for the spaces of an encoder.

    Attributes:
        powers: How many power means of each part, which begin evenly spread from min to max.
        each: Whether each ``dimension`` has a power of its own, or all of a ``space`` share one.
        rows: So many sentences at most, drawn from those given.
        epochs: Passes over them.
        batch: Sentences per step.
        rate: Learning rate of positions; that of the linear layer is a fifth.
        seed: Of what is drawn and shuffled.
    """

    powers: int = 3
    each: Literal["dimension", "space"] = "dimension"
    rows: int = 2000
    epochs: int = 12
    batch: int = 128
    rate: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)

    def learn(
        self,
        encoder: PowerMeanEncoder,
        sentences: Sequence[str],
        targets: Array,
        *,
        lang: str,
        progress: Progress = lambda share, words: None,
    ) -> Recipe:
        """Return the recipe of an encoder with learned powers in place of its own.

        Args:
            encoder: Has the spaces, the tokenizer and the scope of the z-norm.
            sentences: Text to learn from, (n,).
            targets: Classes, (n,) whole numbers, or a teacher's vectors, (n, dim).
            lang: The language of the text.
            progress: Told how far it is.
        """
        torch = optional("torch", "train", "learning powers")
        if len(sentences) != len(targets):
            raise InputError(f"{len(sentences)} sentences, but {len(targets)} targets.")
        if len(sentences) < _FEWEST:
            raise InputError(
                f"{len(sentences)} sentences: learning powers needs {_FEWEST} at least."
            )
        rng = np.random.default_rng(self.seed)
        drawn = rng.permutation(len(sentences))[: self.rows]
        goal = _goal(np.asarray(targets)[drawn])
        tables = mean_tables(encoder, [sentences[i] for i in drawn], lang)
        found = self._descend(torch, tables, goal, rng, progress)
        parts = tuple(
            replace(part, powers=_frozen(positions, self.each))
            for part, positions in zip(encoder.recipe.parts, found, strict=True)
        )
        return replace(encoder.recipe, parts=parts, root="shifted")

    def _descend(
        self,
        torch: Any,
        tables: list[Floats],
        goal: Array,
        rng: np.random.Generator,
        progress: Progress,
    ) -> list[Floats]:
        """Move positions down the gradient, and return the best of all epochs, (k, dim) or (k, 1).

        They begin at min, mean and max, if there are three; one begins at the mean.
        """
        device = "cuda" if torch.cuda.is_available() else "cpu"
        means = [torch.as_tensor(table, device=device) for table in tables]
        told = torch.as_tensor(goal, device=device)
        begin = np.linspace(-1, 1, self.powers) if self.powers > 1 else np.zeros(1)
        widths = [1 if self.each == "space" else table.shape[2] for table in tables]
        positions = [
            torch.tensor(np.tile(begin[:, None], n), dtype=torch.float32, device=device)
            for n in widths
        ]
        for each in positions:
            each.requires_grad_(True)
        torch.manual_seed(self.seed)
        width = self.powers * sum(table.shape[2] for table in tables)
        # There are often as many columns as sentences. Without dropout the linear layer learns them
        # by heart, and positions follow it.
        norm = torch.nn.BatchNorm1d(width, affine=False)
        normed = torch.nn.Sequential(norm, torch.nn.Dropout(_DROPOUT)).to(device)
        n_out = goal.shape[1] if goal.ndim == 2 else int(goal.max()) + 1
        linear = torch.nn.Linear(width, n_out).to(device)
        loss = torch.nn.MSELoss() if goal.ndim == 2 else torch.nn.CrossEntropyLoss()
        groups = [
            {"params": positions, "lr": self.rate},
            {"params": linear.parameters(), "lr": self.rate / 5, "weight_decay": 1e-3},
        ]
        adam = torch.optim.Adam(groups)

        def lost(which: Array) -> Any:
            of = torch.as_tensor(which, device=device)
            columns = [
                means_at(torch, table[of], at).flatten(1)
                for table, at in zip(means, positions, strict=True)
            ]
            return loss(linear(normed(torch.cat(columns, dim=1))), told[of])

        held, train = np.split(rng.permutation(len(goal)), [len(goal) // _HELD_OUT])
        least, best = np.inf, [each.detach().cpu().numpy().copy() for each in positions]
        for epoch in range(self.epochs):
            normed.train()
            shuffled = rng.permutation(train)
            for start in range(0, len(shuffled) - 1, self.batch):
                adam.zero_grad()
                lost(shuffled[start : start + self.batch]).backward()
                adam.step()
                with torch.no_grad():
                    for each in positions:
                        each.clamp_(-1, 1)
            normed.eval()
            with torch.no_grad():
                found = float(lost(held))
            if found < least:
                least, best = found, [each.detach().cpu().numpy().copy() for each in positions]
            progress((epoch + 1) / self.epochs, f"loss {found:.3f}")
        return best


def mean_tables(encoder: PowerMeanEncoder, sentences: Sequence[str], lang: str) -> list[Floats]:
    """Return the shifted means of sentences at all nodes, (n, nodes, dim) for each part."""
    tables = []
    for part in encoder.recipe.parts:
        plain = replace(
            encoder.recipe, parts=(replace(part, powers=NODES),), root="shifted", znorm="none"
        )
        rows = encoder.replace(recipe=plain, znorm=None, alignment=None).encode(
            list(sentences), lang=lang
        )
        tables.append(rows.reshape(len(rows), len(NODES), -1))
    return tables


def means_at(torch: Any, table: Any, positions: Any) -> Any:
    """Return means at positions, (n, k, dim), differentiable in them.

    Args:
        torch: The package.
        table: Of some sentences, (n, nodes, dim).
        positions: Between -1 and 1, (k, dim), or (k, 1) if all dimensions share them.
    """
    n, _, dim = table.shape
    last = len(NODES) - 1
    place = ((positions + 1) * (last / 2)).broadcast_to(len(positions), dim)
    before = place.detach().floor().clamp(0, last - 1).long()
    index = before.expand(n, *before.shape)
    low, high = (torch.gather(table, 1, index + after) for after in (0, 1))
    return low + (high - low) * (place - before)


def _goal(targets: Array) -> Array:
    """Return classes as 0, 1, … or a teacher's vectors with deviations of 1."""
    if targets.ndim == 2:
        vectors = targets.astype(np.float32)
        if not np.isfinite(vectors).all():
            raise InputError("the teacher's vectors have NaN or infinity.")
        spread = vectors.std(axis=0)
        return (vectors - vectors.mean(axis=0)) / np.where(spread > 0, spread, 1)
    names, numbers = np.unique(targets, return_inverse=True)
    if len(names) < 2:
        raise InputError("all sentences are of one class: there is nothing to be told apart.")
    return numbers.astype(np.int64)


def _frozen(positions: Floats, each: str) -> tuple[Power, ...]:
    """Return the powers at the nodes nearest to positions, (k, dim) or (k, 1)."""
    nearest = np.rint((positions + 1) * ((len(NODES) - 1) / 2)).astype(int)
    powers = [tuple(NODES[i] for i in row) for row in nearest.tolist()]
    frozen = tuple(row[0] if each == "space" else row for row in powers)
    if len(set(frozen)) < len(frozen):
        raise InputError("two of the learned powers came out the same: learn fewer.")
    return frozen
