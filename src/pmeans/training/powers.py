"""Powers of shifted means, learned by gradient together with a linear map to what is to be told.

A **position** s between -1 and 1 stands for a power: p = 1 / (1 - s) from 0 on, -1 / (1 + s) below
it. The shifted mean M of `pmeans.kernels.reference` is min at s = -1, the mean at 0, max at 1. It is
continuous in s and never falls, and its derivative stays finite up to both ends, which p itself
would never reach: with τ = 1 - |s| = 1 / |p|, n words and l the logarithms of their distances from
the least value (from the largest, below 0) over the largest distance,

    M = low + R  (high - R below 0),    R = (high - low) · exp(τ · log mean exp(l / τ)),
    dM/ds = R · (log n - H),            H the entropy of softmax(l / τ).

At 0 the two sides have different derivatives, neither below 0. `tests/unit/training/test_powers.py`
holds both formulas against finite differences and against the native core.

Sentences are short and word vectors stay as they are, so a step is small: the columns, normalised
over the batch as a z-norm would, go through one linear layer to classes or to a teacher's vectors.
A fifth of the sentences is held out, and the positions of the epoch that predicts them best are
kept, rounded to powers with three digits, and frozen into a recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.recipe import Recipe
from pmeans.text import tokenize
from pmeans.types import Array, Floats, Power, Progress

WORDS = 64
"""Words of a sentence that are looked at, from the beginning on."""

LARGEST = 100.0
"""A power from here on is frozen as infinity."""

_FEWEST = 10  # sentences
_FINEST = 1e-4  # 1 / p, where the division by it stays within float32
_NEAREST = 1e-12  # distance from the least value, relative to the largest
_HELD_OUT = 5


@dataclass(frozen=True)
class PowerLearner:
    """Learns powers for the spaces of an encoder.

    Attributes:
        powers: How many power means of each part, which begin evenly spread between min and max.
        each: Whether each ``dimension`` has a power of its own, or all of a ``space`` share one.
        rows: So many sentences at most, drawn from those given.
        epochs: Passes over them.
        batch: Sentences per step.
        rate: Learning rate of positions; that of the linear layer is a tenth.
        seed: Of what is drawn and shuffled.
    """

    powers: int = 3
    each: Literal["dimension", "space"] = "dimension"
    rows: int = 2000
    epochs: int = 12
    batch: int = 64
    rate: float = 0.02
    seed: int = 0

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
            sentences: Text to learn from, (n,). Those that a part knows no word of are left out.
            targets: Classes, (n,) whole numbers, or a teacher's vectors, (n, dim).
            lang: The language of the text.
            progress: Told how far it is.
        """
        torch = optional("torch", "train", "learning powers")
        rng = np.random.default_rng(self.seed)
        words, kept = _words(encoder, sentences, targets, lang, self.rows, rng)
        goal = _goal(np.asarray(targets)[kept])
        device = "cuda" if torch.cuda.is_available() else "cpu"
        spread = np.linspace(-0.8, 0.8, self.powers) if self.powers > 1 else np.zeros(1)
        shapes = [1 if self.each == "space" else part[0].shape[1] for part in words]
        # As parameters; those of a power that all dimensions share are spread over them by `_rows`.
        positions = [
            torch.tensor(np.tile(spread[:, None], n), dtype=torch.float32, device=device)
            for n in shapes
        ]
        best = self._descend(torch, positions, words, goal, device, rng, progress)
        parts = tuple(
            replace(part, powers=_frozen(found, self.each))
            for part, found in zip(encoder.recipe.parts, best, strict=True)
        )
        return replace(encoder.recipe, parts=parts, root="shifted")

    def _descend(
        self,
        torch: Any,
        positions: list[Any],
        words: list[list[Floats]],
        goal: Array,
        device: str,
        rng: np.random.Generator,
        progress: Progress,
    ) -> list[Floats]:
        """Move positions down the gradient, and return the best of all epochs."""
        classes = goal.ndim == 1
        n_out = int(goal.max()) + 1 if classes else goal.shape[1]
        width = sum(self.powers * part[0].shape[1] for part in words)
        torch.manual_seed(self.seed)
        normed = torch.nn.BatchNorm1d(width, affine=False).to(device)
        linear = torch.nn.Linear(width, n_out).to(device)
        loss = torch.nn.CrossEntropyLoss() if classes else torch.nn.MSELoss()
        for each in positions:
            each.requires_grad_(True)
        groups = [
            {"params": positions, "lr": self.rate},
            {"params": linear.parameters(), "lr": self.rate / 10, "weight_decay": 1e-3},
        ]
        adam = torch.optim.Adam(groups)

        def lost(which: Array) -> Any:
            told = linear(normed(_rows(torch, positions, words, which, device)))
            return loss(told, torch.as_tensor(goal[which], device=device))

        order = rng.permutation(len(goal))
        held, train = np.split(order, [max(2, len(order) // _HELD_OUT)])
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
                blocks = [held[i : i + self.batch] for i in range(0, len(held), self.batch)]
                found = sum(float(lost(block)) * len(block) for block in blocks) / len(held)
            if found < least:
                least, best = found, [each.detach().cpu().numpy().copy() for each in positions]
            progress((epoch + 1) / self.epochs, f"loss {found:.3f}")
        return best


def shifted_means(torch: Any, x: Any, mask: Any, positions: Any) -> Any:
    """Return shifted means, (n, k, dim), differentiable in their positions, (k, dim) or (k, 1).

    Args:
        torch: The package.
        x: Word vectors, (n, n_words, dim).
        mask: Which of them there are, (n, n_words) bool; at least one per sentence.
        positions: Between -1 and 1.
    """
    with torch.no_grad():
        there = mask.unsqueeze(2)
        low = x.masked_fill(~there, torch.inf).amin(dim=1)
        high = x.masked_fill(~there, -torch.inf).amax(dim=1)
        spread = (high - low).clamp_min(torch.finfo(x.dtype).tiny)
        count = mask.sum(dim=1, keepdim=True).to(x.dtype).log()
        logs = {}
        for above, from_base in ((True, x - low[:, None]), (False, high[:, None] - x)):
            near = (from_base / spread[:, None]).clamp_min(_NEAREST)
            logs[above] = near.log_().masked_fill_(~there, -torch.inf)
        means, slopes = [], []
        for s in positions.detach().broadcast_to(len(positions), x.shape[2]):
            exponent = torch.where(s >= 0, logs[True], logs[False])
            tau = (1 - s.abs()).clamp_min(_FINEST)
            exponent /= tau
            total = torch.logsumexp(exponent, dim=1)
            weights = (exponent - total[:, None]).exp_()
            mean_exponent = (weights * exponent.masked_fill_(~there, 0.0)).sum(dim=1)
            size = (high - low) * ((total - count) * tau).exp()
            means.append(torch.where(s >= 0, low + size, high - size))
            slopes.append(size * (count - total + mean_exponent))
        value, slope = torch.stack(means, dim=1), torch.stack(slopes, dim=1)
    # Linear in the positions about where they are: the value, and the derivative above.
    return value + slope * (positions - positions.detach())


def _rows(
    torch: Any, positions: list[Any], words: list[list[Floats]], which: Array, device: str
) -> Any:
    """Return the columns of some sentences, (n, n_columns)."""
    blocks = []
    for each, vectors in zip(positions, words, strict=True):
        lengths = [len(vectors[i]) for i in which]
        x = np.zeros((len(which), max(lengths), vectors[0].shape[1]), dtype=np.float32)
        for row, i in zip(x, which, strict=True):
            row[: len(vectors[i])] = vectors[i]
        mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
        on_device, there = (torch.as_tensor(array, device=device) for array in (x, mask))
        blocks.append(shifted_means(torch, on_device, there, each).flatten(1))
    return torch.cat(blocks, dim=1)


def _words(
    encoder: PowerMeanEncoder,
    sentences: Sequence[str],
    targets: Array,
    lang: str,
    most: int,
    rng: np.random.Generator,
) -> tuple[list[list[Floats]], list[int]]:
    """Return for each part the vectors of each sentence's words, and which sentences these are."""
    if len(sentences) != len(targets):
        raise InputError(f"{len(sentences)} sentences, but {len(targets)} targets.")
    words: list[list[Floats]] = [[] for _ in encoder.recipe.parts]
    kept: list[int] = []
    for i in rng.permutation(len(sentences)):
        if len(kept) == most:
            break
        tokens = tokenize(sentences[i], encoder.recipe.tokenizer, lang)
        found = []
        for part in encoder.recipe.parts:
            space = encoder.spaces[part.space]
            units = space.joined(tokens, lang) if part.phrases else tokens
            vectors, has = space.vectors(units, lang)
            found.append(vectors[has][:WORDS])
        if all(map(len, found)):
            kept.append(int(i))
            for own, vectors in zip(words, found, strict=True):
                own.append(vectors)
    if len(kept) < _FEWEST:
        raise InputError(
            f"{len(kept)} sentences with words that every space knows: learning powers needs "
            f"{_FEWEST} at least."
        )
    return words, kept


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
    """Return the powers that positions, (k, dim) or (k, 1), stand for, in three digits."""
    powers = [tuple(map(power_at, row.tolist())) for row in positions]
    return tuple(row[0] if each == "space" else row for row in powers)


def power_at(position: float) -> float:
    """Return the power that a position between -1 and 1 stands for, in three digits."""
    sign = -1.0 if position < 0 else 1.0
    inverse = 1 - abs(position)
    if inverse * LARGEST <= 1:
        return sign * np.inf
    size = float(f"{1 / inverse:.3g}")
    return 1.0 if size == 1 else sign * size
