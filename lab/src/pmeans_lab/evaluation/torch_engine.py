"""The many small classifiers of an evaluation as one batched computation in torch, for a GPU.

Groups over the same matrix that take equally many steps an epoch move in lockstep: a step
gathers a minibatch for each, and two batched products and Adam do the rest, so that the number
of kernels launched does not grow with the number of classifiers. Each classifier has its own
stopping point, and a group leaves when its last one has stopped.
`pmeans.kernels.softmax.train_group` is the specification. Sums run in another order here, so
scores agree but for a rare flip of a prediction. Learning rates of 0.005 and more are another
matter: in thousands of dimensions such training was seen to amplify differences of the last bit,
in float64 as well, until two programs end with different classifiers, none better founded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pmeans.errors import InputError
from pmeans.kernels.softmax import BETA1, BETA2, EPSILON, FitGroup, FitRule, Fitted, measured
from pmeans.types import Array, Floats

DEV_ROWS = 256
"""Development rows of each group that are gathered at a time."""
GATHERED = 2 << 30
"""Bytes that the gathered rows of all groups may take."""


def train_classifiers(groups: Sequence[FitGroup], rule: FitRule, device: str) -> list[list[Fitted]]:
    """Train the classifiers of all groups.

    Args:
        groups: What to train. Those with the same ``x``, the same object, train together.
        rule: How.
        device: ``cuda``, ``cuda:1`` or ``cpu``.

    Returns:
        For each group its classifiers, in the order of its rates.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InputError(f"torch finds no CUDA for device {device!r}. 'cpu' works everywhere.")
    alike: dict[tuple[int, ...], list[int]] = {}
    for i, group in enumerate(groups):
        steps = math.ceil(len(group.train) / rule.batch)
        same = (id(group.x), id(group.labels), len(group.bias), len(group.rates), steps)
        alike.setdefault(same, []).append(i)
    fitted: dict[int, list[Fitted]] = {}
    source, x = None, torch.empty(0)
    for _, members in sorted(alike.items()):  # those of one x follow each other
        if source is not groups[members[0]].x:
            source = groups[members[0]].x
            x = _on_device(source, device)
        most = max(1, GATHERED // (x[0].nbytes * max(rule.batch, DEV_ROWS)))
        for some in (members[at : at + most] for at in range(0, len(members), most)):
            trained = _train([groups[i] for i in some], rule, x)
            fitted.update(zip(some, trained, strict=True))
    return [fitted[i] for i in range(len(groups))]


def _on_device(x: Floats, device: str) -> Tensor:
    """Return x on the device with one row and up to eight columns more, (n + 1, width).

    Column ``dim`` is 1, so that the bias is one more weight. The row below is all zeros: it fills
    minibatches up and adds nothing to a gradient. Columns of zeros make the width a multiple of
    eight, as products of aligned rows are faster; their weights stay zero.
    """
    n, dim = x.shape
    copy = torch.zeros(n + 1, dim + 8 - dim % 8, device=device)
    copy[:n, :dim] = torch.from_numpy(x)
    copy[:n, dim] = 1
    return copy


def _train(groups: list[FitGroup], rule: FitRule, x: Tensor) -> list[list[Fitted]]:
    """Train groups of one x, one labels, equally many classes, classifiers and steps an epoch."""
    lockstep = _Lockstep(groups, rule, x)
    dim, n_fits = groups[0].x.shape[1], len(groups[0].rates)
    fitted: list[list[Fitted]] = [[] for _ in groups]
    # Row i of these, and of the tensors, is group where[i].
    where = np.arange(len(groups))
    best = np.full((len(groups), n_fits), -1.0)
    stale, ended = np.zeros(best.shape, int), np.zeros(best.shape, int)
    epochs = 0
    while len(where):
        lockstep.train_round()
        epochs += rule.epochs_a_round
        scores = lockstep.scores()
        better = (ended == 0) & (scores > best)
        best = np.where(better, scores, best)
        stale = np.where(better, 0 if rule.patience_resets else stale, stale + 1)
        over = (stale >= rule.patience) | (epochs >= rule.max_epochs)
        ended = np.where((ended == 0) & over, epochs, ended)
        lockstep.remember(better)
        left = (ended == 0).any(axis=1)
        for row in np.flatnonzero(~left):
            fitted[where[row]] = [
                Fitted(w[:, :dim].copy(), w[:, dim].copy(), float(score), int(passes))
                for w, score, passes in zip(
                    lockstep.remembered(int(row)), best[row], ended[row], strict=True
                )
            ]
        if not left.all():
            where, best, stale, ended = where[left], best[left], stale[left], ended[left]
            lockstep.drop_all_but(left)
    return fitted


class _Lockstep:
    """The tensors of groups that train together; row i of each belongs to group i."""

    def __init__(self, groups: list[FitGroup], rule: FitRule, x: Tensor) -> None:
        first = groups[0]
        dim, n_classes = first.x.shape[1], len(first.bias)
        self.groups, self.rule, self.x = groups, rule, x
        self.classifiers = len(first.rates), n_classes
        self.filler = len(x) - 1  # the row of zeros
        self.onehot = torch.eye(n_classes)[np.append(first.labels, 0)].to(x.device)
        self.shuffles = {_stream(group): np.random.RandomState(group.seed) for group in groups}
        for (_, drawn, _), generator in self.shuffles.items():
            generator.permutation(drawn)
        w = np.zeros((len(groups), *self.classifiers, x.shape[1]), np.float32)
        for each, group in zip(w, groups, strict=True):
            each[..., :dim], each[..., dim] = group.weights, group.bias
        # The classifiers of a group are one matrix, (n_fits * n_classes, width).
        self.w = torch.from_numpy(w).flatten(1, 2).to(x.device)
        self.m, self.v = torch.zeros_like(self.w), torch.zeros_like(self.w)
        self.best = self.w.clone()
        self.rates = self._for_each_class(np.array([group.rates for group in groups]))
        self.l2 = self._for_each_class(np.array([group.l2 for group in groups]))
        self.dev = self._filled([group.dev for group in groups])
        self.step = 0

    def train_round(self) -> None:
        """Queue the passes of one round; the device is not waited for."""
        for rows in self._batches():
            self.step += 1
            x = self.x[rows]  # (groups, batch, width)
            error = self._logits(x).softmax(dim=3) - self.onehot[rows].unsqueeze(2)
            if self.rule.loss == "mean":
                error /= (rows != self.filler).sum(dim=1)[:, None, None, None]
            gradient = torch.bmm(error.flatten(2).mT, x).addcmul_(self.w, self.l2)
            self.m.lerp_(gradient, 1 - BETA1)
            self.v.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
            root = self.v.sqrt().div_(math.sqrt(1 - BETA2**self.step)).add_(EPSILON)
            self.w.addcdiv_(self.m * self.rates, root, value=-1 / (1 - BETA1**self.step))

    def scores(self) -> Array:
        """Return the development score of each classifier, (groups, n_fits)."""
        pieces = torch.split(self.dev, DEV_ROWS, dim=1)
        found = [self._logits(self.x[rows]).argmax(dim=3) for rows in pieces]
        predicted = torch.cat(found, dim=1).mT.cpu().numpy()  # (groups, n_fits, rows)
        scores = np.empty(predicted.shape[:2])
        for i, group in enumerate(self.groups):
            gold = group.labels[group.dev]
            for k, each in enumerate(predicted[i, :, : len(gold)]):
                scores[i, k] = measured(self.rule.measure, gold, each, self.classifiers[1])
        return scores

    def remember(self, better: Array) -> None:
        """Keep the present weights where ``better`` is true, (groups, n_fits)."""
        self.best = torch.where(self._for_each_class(better) > 0, self.w, self.best)

    def remembered(self, row: int) -> Floats:
        """Return the kept weights of a group, (n_fits, n_classes, width)."""
        return self.best[row].reshape(*self.classifiers, -1).cpu().numpy()

    def drop_all_but(self, left: Array) -> None:
        """Go on with the groups where ``left`` is true, (groups,)."""
        rows = torch.from_numpy(np.flatnonzero(left)).to(self.x.device)
        self.groups = [self.groups[row] for row in np.flatnonzero(left)]
        for name in ("w", "m", "v", "best", "rates", "l2", "dev"):
            setattr(self, name, getattr(self, name)[rows])

    def _logits(self, x: Tensor) -> Tensor:
        """Return (groups, rows, n_fits, n_classes)."""
        return torch.bmm(x, self.w.mT).reshape(*x.shape[:2], *self.classifiers)

    def _batches(self) -> list[Tensor]:
        """Return the rows of every step of a round, (groups, batch or, at last, fewer) each."""
        streams = {_stream(group) for group in self.groups}
        batches: list[Tensor] = []
        for _ in range(self.rule.epochs_a_round):
            order = {stream: self.shuffles[stream].permutation(stream[2]) for stream in streams}
            rows = self._filled([group.train[order[_stream(group)]] for group in self.groups])
            batches += torch.split(rows, self.rule.batch, dim=1)
        return batches

    def _filled(self, rows: list[Array]) -> Tensor:
        """Return lists of rows as one tensor, (groups, the longest)."""
        filled = np.full((len(rows), max(map(len, rows))), self.filler)
        for each, some in zip(filled, rows, strict=True):
            each[: len(some)] = some
        return torch.from_numpy(filled).to(self.x.device)

    def _for_each_class(self, values: Array) -> Tensor:
        """Return (groups, n_fits) as (groups, n_fits * n_classes, 1) float32."""
        repeated = np.repeat(values.astype(np.float32), self.classifiers[1], axis=1)
        return torch.from_numpy(repeated[..., None]).to(self.x.device)


def _stream(group: FitGroup) -> tuple[int, int, int]:
    """Name the shuffles of a group: those of the same name are the same."""
    return group.seed, group.drawn, len(group.train)
