"""Train InferSent (Conneau et al. 2017) on inference, on translation detection, or on both.

::

    kind = "infersent"
    name = "infersent-td"
    space = "attract-repel-projection"
    pairs = [{ path = "en-de.tsv.gz", first = "en", second = "de" }]
    nli = [
      { lang = "en", train = "s1.train", dev = "s1.dev", test = "s1.test" },
      { lang = "de", train = "de/s1.train", dev = "de/s1.dev", test = "de/s1.test" },
    ]

What is given makes the task. ``nli`` of one language is the original; of two it is the paper's
*MT*, all four combinations of languages on the two sides; ``pairs`` are *TD*; both are *MT+TD*,
with five classes. Any number of languages is trained together.

The rows u and v of two sentences become (u, v, |u - v|, u * v), a layer of 512 without a
nonlinearity, and the classes. SGD takes steps of 0.1 times the gradient of the batch's mean loss,
which is shortened to a length of 5. The rate falls by 1 % after every epoch, and to a fifth where
the accuracy on ``dev`` is no better than before. Training ends below 1e-5, after ``epochs``, or
when the time is up; the best weights on ``dev`` are kept. All this is the authors'.

Batches are of pairs of about the same length, and all sentences of a batch are read at once. On
CUDA products are in TF32. The weights are stored in float16, and measured on ``test`` as stored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmeans.choices import Precision
from pmeans.config import Count, Rate, Seed, check
from pmeans.errors import ConfigError, InputError, naming
from pmeans.files import optional
from pmeans.identity import identity
from pmeans.models.baselines import checksum, word_mean
from pmeans.spaces.edit import quantise
from pmeans.spaces.library import find_space
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import PairFile
from pmeans.training.trainer import (
    BaselineTrainer,
    Checkpoint,
    SpaceRef,
    within,
)
from pmeans.types import Array, Ints, Progress
from pmeans_lab.baselines.infersent.encoder import (
    InferSent,
    lstm_weights,
    max_pooled,
    packed,
    stored_weights,
)
from pmeans_lab.baselines.infersent.nli import LABELS, NliFiles, combinations
from pmeans_lab.baselines.infersent.pair_samples import (
    DETECTED,
    PORTIONS,
    Gatherer,
    Samples,
    accuracies,
    detection,
)
from pmeans_lab.baselines.row_descent import TimeLimit

DECAY, SHRINK, SLOWEST = 0.99, 5.0, 1e-5
STEEPEST = 5.0
POOL = 64
"""Batches whose pairs are sorted by length together."""


@dataclass(frozen=True)
class TrainInferSent(BaselineTrainer):
    """What to train InferSent on, and how; the defaults are the authors'.

    Attributes:
        name: Of the encoder.
        space: The words it reads; every language must be in it.
        pairs: Sentences and their translations, to be told from unrelated ones. Of the `limit`
            of a file as many unrelated ones are made: four samples of two files with one pair.
        nli: Inference corpora: one language, or several that are translations row by row.
        hidden: Columns of each direction; a row has twice as many.
        layer: Columns between the pair's features and the classes.
        epochs: Passes over all samples, at most.
        batch: Pairs per step.
        rate: Of SGD, at the beginning.
        precision: How the space's vectors are stored with the encoder, and read while it is
            trained; None as they are.
        minutes: After the first epoch, none is begun that is likely to end later; None has no
            limit.
        seed: Of everything random.
    """

    name: str
    space: SpaceRef
    pairs: tuple[PairFile, ...] = ()
    nli: tuple[NliFiles, ...] = ()
    hidden: Count = 2048
    layer: Count = 512
    epochs: Count = 20
    batch: Count = 64
    rate: Rate = 0.1
    precision: Precision | None = None
    minutes: Rate | None = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        if not self.pairs and not self.nli:
            raise ConfigError(f"infersent {self.name!r}: name files under pairs, nli, or both.")
        check(self)
        langs = [file.lang for file in self.nli]
        for lang in langs:
            if langs.count(lang) > 1:
                raise ConfigError(f"infersent {self.name!r}: two corpora under nli are {lang!r}.")

    @property
    def task(self) -> str:
        """What it is trained on: ``NLI``, ``MT``, ``TD``, ``NLI+TD`` or ``MT+TD``."""
        inference = ["NLI" if len(self.nli) == 1 else "MT"] if self.nli else []
        return "+".join(inference + ["TD"] * bool(self.pairs))

    def train(self, *, progress: Progress, checkpoint: Path | None = None) -> InferSent:
        """Read the files, fit the weights, and return the encoder.

        On one CPU the same settings, seed and material give the same bytes, also where the state
        was kept after an epoch. `settings` of the encoder tells its accuracies.
        """
        optional("torch", "train", "InferSent")  # before any time is spent
        samples = self.samples(within(progress, 0, 20))
        weights, told = self.fit(samples, progress=progress, checkpoint=checkpoint)
        return self.encoder(weights, told)

    def samples(self, progress: Progress) -> Samples:
        """Read the files, and look all words up."""
        space = self._words()
        langs = [lang for file in self.pairs for lang in (file.first, file.second)]
        for lang in [file.lang for file in self.nli] + langs:
            space.table(lang)  # before any time is spent
        gathered = Gatherer((LABELS if self.nli else ()) + (DETECTED if self.pairs else ()))
        for file in self.pairs:
            progress(0.0, f"reading {Path(file.path).name}")
            read = file.read(self.seed)
            name, sides = f"td {file.first}-{file.second}", (file.first, file.second)
            for number, portion in enumerate(PORTIONS):
                if not read[portion]:
                    raise InputError(f"{file.path}: too few pairs to hold any out for {portion}.")
                rng = np.random.default_rng([self.seed, number])
                with naming(file.path):
                    gathered.add(name, portion, sides, *detection(read[portion], rng))
        for portion in PORTIONS if self.nli else ():
            progress(0.5, f"reading inference, {portion}")
            for one, other, found in combinations(self.nli, portion):
                pairs = [(each.first, each.second) for each in found]
                labels = [LABELS[each.label] for each in found]
                gathered.add(f"nli {one}-{other}", portion, (one, other), pairs, labels)
        return gathered.samples(space)

    def fit(
        self, samples: Samples, *, progress: Progress, checkpoint: Path | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Fit the weights to samples; return them, as `InferSent` takes them, and what is to tell.

        Samples made elsewhere do as well: neither the text nor the space is needed here.
        """
        began = time.monotonic()
        fitting = _Fitting(self, samples)
        state = Checkpoint(checkpoint, (self._identity(), identity(*samples.arrays().values())))
        best, at = fitting.parameters(), _Reached(rate=self.rate)
        if kept := state.load():
            arrays, values = kept
            at = _Reached(**values)
            fitting.take(_without("now.", arrays))
            best = _without("best.", arrays)
        before, train, dev = at.seconds, samples.of("train"), samples.of("dev")
        time_limit = TimeLimit(self.minutes)
        while at.epoch < self.epochs and at.rate >= SLOWEST and not time_limit.is_up():
            at.epoch += 1
            at.rate *= DECAY if at.epoch > 1 else 1.0
            # A generator of its own for each epoch: what was interrupted goes on alike.
            rng = np.random.default_rng([self.seed, at.epoch])
            part = within(progress, at.epoch, self.epochs + 2)
            loss = fitting.epoch(train, at.rate, rng, f"epoch {at.epoch}", part)
            accuracy = float(fitting.right(dev).mean())
            told = f"epoch {at.epoch}: rate {at.rate:.2g}, loss {loss:.4f}, dev {accuracy:.4f}"
            if accuracy > at.dev:
                at.dev, at.best_epoch, best = accuracy, at.epoch, fitting.parameters()
            else:
                at.rate /= SHRINK
            at.seconds = before + time.monotonic() - began
            part(1.0, f"{told}, {at.seconds:.0f} s")
            now = {f"now.{key}": each for key, each in fitting.parameters().items()}
            state.save(now | {f"best.{key}": each for key, each in best.items()}, asdict(at))
        weights = stored_weights(_without("lstm.", best))
        fitting.take(best | {f"lstm.{key}": each for key, each in lstm_weights(weights).items()})
        report = self._report(fitting, at) | {"weights": checksum(weights)}
        shown = ", ".join(report["test_accuracies"])
        told = f"test {report['test_accuracy']:.4f} of {report['test_samples']:,} ({shown})"
        progress(1.0, told)
        return weights, report

    def _report(self, fitting: _Fitting, at: _Reached) -> dict[str, Any]:
        """Measure on ``test``, and tell how it went."""
        samples = fitting.samples
        test = samples.of("test")
        right = fitting.right(test)
        each = accuracies(samples, right, test)
        return {
            "task": self.task,
            "classes": list(samples.classes),
            "samples": len(samples.of("train")),
            "test_samples": len(test),
            "epochs": at.epoch,
            "best_epoch": at.best_epoch,
            "batch": self.batch,
            "dev_accuracy": at.dev,
            "test_accuracy": float(right.mean()),
            "test_accuracies": [f"{name} {value:.4f}" for name, value in each.items()],
            "seconds": round(at.seconds, 1),
            "device": fitting.device_name,
            "torch": str(fitting.torch.__version__),
        }

    def encoder(self, weights: Mapping[str, Array], told: Mapping[str, Any]) -> InferSent:
        """Join weights with the words of the space."""
        return InferSent(self.name, word_mean(self._words(), self.name), weights, told)

    def _words(self) -> WordSpace:
        space = find_space(self.space)
        return quantise(space, self.precision) if self.precision else space

    def _identity(self) -> tuple[object, ...]:
        """Return the settings that weights depend on; others may change when training goes on."""
        return self.hidden, self.layer, self.batch, self.rate, self.seed


@dataclass
class _Reached:
    """How far a training has come; the state that goes with the weights of a checkpoint."""

    rate: float
    epoch: int = 0
    dev: float = 0.0
    best_epoch: int = 0
    seconds: float = 0.0


def _without(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)
    }


class _Fitting:
    """The network on its device, and the samples as it reads them."""

    def __init__(self, how: TrainInferSent, samples: Samples) -> None:
        self.torch = torch = optional("torch", "train", "InferSent")
        self.samples, self.how = samples, how
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.device_name = torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu"
        self.lengths = samples.lengths()
        longest = np.maximum(self.lengths[samples.first], self.lengths[samples.second])
        self.longest: Ints = longest
        self.words = torch.from_numpy(np.array(samples.words())).to(self.device)
        self.labels = torch.from_numpy(np.array(samples.labels)).to(self.device)
        dim = samples.vectors.shape[1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(how.seed)
            lstm = torch.nn.LSTM(dim, how.hidden, bidirectional=True)
            between = torch.nn.Linear(8 * how.hidden, how.layer)
            last = torch.nn.Linear(how.layer, len(samples.classes))
        layers = {"lstm": lstm, "between": between, "last": last}
        self.net = torch.nn.ModuleDict(layers).to(self.device)

    def parameters(self) -> dict[str, Array]:
        """Return a copy of all parameters, by name, float32."""
        return {k: p.detach().cpu().numpy().copy() for k, p in self.net.state_dict().items()}

    def take(self, parameters: Mapping[str, Array]) -> None:
        """Put parameters in place of those that are there."""
        from_numpy = self.torch.from_numpy
        self.net.load_state_dict({k: from_numpy(np.array(p)) for k, p in parameters.items()})

    def epoch(
        self, numbers: Ints, rate: float, rng: np.random.Generator, name: str, progress: Progress
    ) -> float:
        """Pass over samples once; return the mean loss."""
        torch = self.torch
        weights = list(self.net.parameters())
        step = torch.optim.SGD(weights, lr=rate)
        batches = list(_batches(self.longest[numbers], self.how.batch, rng))
        total = torch.zeros((), device=self.device)
        with self._tf32():
            for i, some in enumerate(batches):
                if i % 200 == 0:
                    progress(
                        i / len(batches), f"{name}, {i * self.how.batch:,} of {len(numbers):,}"
                    )
                chosen = numbers[some]
                loss = torch.nn.functional.cross_entropy(self._logits(chosen), self._labels(chosen))
                step.zero_grad(set_to_none=True)
                loss.backward()
                # The authors shorten the rate of this step instead, which comes to the same.
                torch.nn.utils.clip_grad_norm_(weights, STEEPEST)
                step.step()
                total += loss.detach() * len(chosen)
        mean = float(total) / len(numbers)
        if not math.isfinite(mean):
            raise InputError(f"the loss is {mean}: take a lower rate than {self.how.rate}.")
        return mean

    def right(self, numbers: Ints) -> Array:
        """Return whether each of some samples is classified rightly, (n,)."""
        torch = self.torch
        found = np.empty(len(numbers), dtype=np.bool_)
        order = np.argsort(self.longest[numbers], kind="stable")
        with torch.no_grad(), self._tf32():
            for low in range(0, len(order), 4 * self.how.batch):
                some = order[low : low + 4 * self.how.batch]
                chosen = numbers[some]
                best = self._logits(chosen).argmax(dim=1)
                found[some] = (best == self._labels(chosen)).cpu().numpy()
        return found

    def _tf32(self) -> AbstractContextManager[None]:
        """Let CUDA multiply in TF32 meanwhile."""
        flags: AbstractContextManager[None] = self.torch.backends.cudnn.flags(
            enabled=True, allow_tf32=True
        )
        return flags

    def _labels(self, numbers: Ints) -> Any:
        return self.labels[self.torch.from_numpy(numbers).to(self.device)]

    def _logits(self, numbers: Ints) -> Any:
        """Return the classes' logits, (n, n_classes)."""
        torch = self.torch
        sentences = np.concatenate([self.samples.first[numbers], self.samples.second[numbers]])
        order = np.argsort(-self.lengths[sentences], kind="stable")
        chosen = sentences[order]
        places, sizes = packed(self.samples.offsets[chosen], self.lengths[chosen])
        ids = torch.from_numpy(self.samples.ids[places]).to(self.device).long()
        pooled = max_pooled(self.net["lstm"], self.words[ids], sizes)
        back = torch.from_numpy(np.argsort(order)).to(self.device)
        u, v = pooled[back].chunk(2)
        features = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
        return self.net["last"](self.net["between"](features))


def _batches(lengths: Ints, size: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Yield the samples of each step, (<= size,), those of about one length together."""
    order = rng.permutation(len(lengths))
    batches: list[Ints] = []
    for low in range(0, len(order), POOL * size):
        pool = order[low : low + POOL * size]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += (pool[at : at + size] for at in range(0, len(pool), size))
    for i in rng.permutation(len(batches)).tolist():
        yield batches[i]
