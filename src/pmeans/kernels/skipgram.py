"""Skip-gram with negative sampling, a centre word at a time.

Every word of a window is pulled towards the centre word and pushed away from random words. As Ji et
al. (2016) noticed, the random words may be the same for a whole window: the window's rows times
those of one centre and its negatives are then one small matrix product, and not a dot product for
each pair. `train_sentences` is the procedure in plain NumPy: the specification of the native core,
and its stand-in where none could be compiled. `tests/unit/training/test_skipgram_cores.py` holds
the two equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pmeans.errors import InputError
from pmeans.types import Array, Floats, Ids, Ints

BLOCK = 16
"""The rows of both matrices are padded with zeros to a multiple of so many numbers."""

_ONE = 2**32
_MASK = 2**64 - 1


@dataclass(frozen=True)
class SkipGramJob:
    """A corpus, and how it is trained on.

    Attributes:
        ids: The words of all sentences, (n_tokens,) int32.
        offsets: Sentence i is ``ids[offsets[i]:offsets[i + 1]]``, (n_sentences + 1,) int64.
        keep: With which chance an occurrence of a word is used, out of 2**32, (n_words,) uint64.
        coin: Walker's alias table of the negatives: column i stands for word i with a chance of
            ``coin[i]`` out of 2**32, and else for ``alias[i]``, (n_words,) uint64.
        alias: (n_words,) int32.
        window: The furthest distance of two words that meet; each centre draws one up to it.
        negatives: Random words a centre.
        epochs: Passes over the corpus, over which the learning rate falls from ``rate``
            to ``last_rate`` on a straight line.
        rate: First learning rate.
        last_rate: Last one.
        seed: Of everything that is drawn. Each sentence of each epoch has its own generator.
        shuffle: Whether the words of a sentence are put in another order in each epoch.
        pieces: Rows of the input matrix that a word is the mean of, word by word, int32; None
            where word i is row i.
        borders: Word i is made of ``pieces[borders[i]:borders[i + 1]]``, (n_words + 1,) int64.
    """

    ids: Ids
    offsets: Ints
    keep: Array
    coin: Array
    alias: Ids
    window: int
    negatives: int
    epochs: int
    rate: float
    last_rate: float
    seed: int
    shuffle: bool
    pieces: Ids | None = None
    borders: Ints | None = None


def check_job(job: SkipGramJob, inputs: Floats, outputs: Floats, begin: int, end: int) -> None:
    """Refuse what a core would read or write past the end of."""
    n_words = len(job.keep)
    arrays = {"ids": np.int32, "offsets": np.int64, "keep": np.uint64, "coin": np.uint64}
    arrays |= {"alias": np.int32, "pieces": np.int32, "borders": np.int64}
    for name, dtype in arrays.items():
        array = getattr(job, name)
        if array is not None and (array.dtype != dtype or not array.flags.c_contiguous):
            raise InputError(f"{name} must be contiguous {np.dtype(dtype)}, not {array.dtype}.")
    for name, matrix in (("inputs", inputs), ("outputs", outputs)):
        if matrix.dtype != np.float32 or matrix.ndim != 2 or not matrix.flags.c_contiguous:
            raise InputError(f"{name} must be contiguous (n, width) float32.")
        if matrix.shape[1] % BLOCK or matrix.shape[1] != inputs.shape[1]:
            raise InputError(f"{name} is {matrix.shape}; its width must be a multiple of {BLOCK}.")
    if (job.pieces is None) != (job.borders is None):
        raise InputError("pieces and borders come together.")
    rows = job.pieces
    sizes = {"coin": len(job.coin), "alias": len(job.alias), "outputs": len(outputs)}
    if rows is None:
        sizes["inputs"] = len(inputs)
    elif job.borders is not None:
        sizes["borders, less one,"] = len(job.borders) - 1
        _check_offsets("borders", job.borders, len(rows), 1)
        _check_range("pieces", rows, len(inputs))
    for name, size in sizes.items():
        if size != n_words:
            raise InputError(f"{name} has {size:,} entries for {n_words:,} words.")
    _check_offsets("offsets", job.offsets, len(job.ids), 0)
    _check_range("alias", job.alias, n_words)
    if not 0 <= begin <= end < len(job.offsets):
        raise InputError(f"no sentences {begin:,} to {end:,} among {len(job.offsets) - 1:,}.")
    _check_range("ids", job.ids[job.offsets[begin] : job.offsets[end]], n_words)
    if min(job.window, job.negatives, job.epochs) < 1 or not 0 <= job.seed < 2**63:
        raise InputError("window, negatives and epochs start at 1, the seed at 0.")


def _check_offsets(name: str, offsets: Ints, total: int, least: int) -> None:
    rises = len(offsets) and offsets[0] == 0 and offsets[-1] == total
    if not rises or (np.diff(offsets) < least).any():
        raise InputError(f"{name} must rise from 0 to {total:,}.")


def _check_range(name: str, ids: Ids, limit: int) -> None:
    if len(ids) and not 0 <= ids.min() <= ids.max() < limit:
        raise InputError(f"{name} must lie between 0 and {limit - 1:,}.")


def train_sentences(
    job: SkipGramJob, inputs: Floats, outputs: Floats, epoch: int, begin: int, end: int
) -> None:
    """Train on sentences ``begin`` to ``end``; both matrices are changed in place."""
    n_tokens = int(job.offsets[-1])
    for sentence in range(begin, end):
        random = _random(job.seed, epoch, sentence)
        first, last = job.offsets[sentence : sentence + 2].tolist()
        words = [w for w in job.ids[first:last].tolist() if next(random) >> 32 < job.keep[w]]
        if len(words) < 2:
            continue
        if job.shuffle:
            for i in range(len(words) - 1, 0, -1):
                j = _below(random, i + 1)
                words[i], words[j] = words[j], words[i]
        done = (epoch * n_tokens + first) / (job.epochs * n_tokens)
        rate = np.float32(job.rate + (job.last_rate - job.rate) * done)
        # A word made of pieces is composed once a sentence, and its pieces all move as it did.
        distinct, places = np.unique(words, return_inverse=True)
        now = np.stack([inputs[_rows(job, w)].mean(axis=0) for w in distinct.tolist()])
        before = now.copy()
        for i, word in enumerate(words):
            reach = job.window - _below(random, job.window)
            drawn = [_negative(job, next(random)) for _ in range(job.negatives)]
            others = [w for w in drawn if w != word]  # the centre word is no negative of itself
            window = [*range(max(0, i - reach), i), *range(i + 1, min(len(words), i + reach + 1))]
            _step(now, places[window], outputs, np.array([word, *others]), rate)
        for d, word in enumerate(distinct.tolist()):
            np.add.at(inputs, _rows(job, word), now[d] - before[d])


def _step(inputs: Floats, window: Ints, outputs: Floats, targets: Ints, rate: np.float32) -> None:
    rows, others = inputs[window], outputs[targets]
    errors = -rate * sigmoid(rows @ others.T)  # (n_window, n_targets)
    errors[:, 0] += rate
    # Both sides move by what the other was before; a row that occurs twice moves twice.
    np.add.at(inputs, window, errors @ others)
    np.add.at(outputs, targets, errors.T @ rows)


def sigmoid(x: Floats) -> Floats:
    """Return 1/2 + tanh(x/2)/2, with Lambert's continued fraction for tanh to x^7."""
    t = np.clip(x * np.float32(0.5), -4.97, 4.97)
    s = t * t
    above = t * (((s + 378) * s + 17325) * s + 135135)
    below = ((s * 28 + 3150) * s + 62370) * s + 135135
    return np.float32(0.5) + np.float32(0.5) * (above / below)


def _rows(job: SkipGramJob, word: int) -> Array:
    if job.pieces is None or job.borders is None:
        return np.array([word])
    return job.pieces[job.borders[word] : job.borders[word + 1]]


def _negative(job: SkipGramJob, drawn: int) -> int:
    column = ((drawn >> 32) * len(job.keep)) >> 32
    return column if drawn % _ONE < job.coin[column] else int(job.alias[column])


def _random(seed: int, epoch: int, sentence: int) -> Iterator[int]:
    """Yield SplitMix64's numbers: any number is a good seed, so every sentence has its own."""
    state = (next(_split_mix(seed)) + epoch) & _MASK
    return _split_mix((next(_split_mix(state)) + sentence) & _MASK)


def _split_mix(state: int) -> Iterator[int]:
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _MASK
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        yield z ^ (z >> 31)


def _below(random: Iterator[int], n: int) -> int:
    return ((next(random) >> 32) * n) >> 32
