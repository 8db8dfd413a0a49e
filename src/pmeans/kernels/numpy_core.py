"""The native core's functions in NumPy, for machines where it could not be compiled.

Same names, same arguments, same values (to the tolerances in `docs/numerics.md`), built from
the plain specifications beside this file. Threads are not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from pmeans.choices import Case
from pmeans.kernels import folding, index, letters
from pmeans.kernels.coded import CodedMatrix, n_columns, unpacked
from pmeans.kernels.means import SpaceMeans
from pmeans.kernels.parsing import parse_lines as parse_lines
from pmeans.kernels.reference import LARGEST, power_mean, round_rows
from pmeans.kernels.skipgram import SkipGramJob, train_sentences
from pmeans.kernels.softmax import FitGroup, FitRule, train_group
from pmeans.kernels.splitting import Splitting, split
from pmeans.types import Array, Floats, Ids, Ints, TokenBatch, WordTable

NAME = "numpy"
Found = tuple[Ids, Ints, Ids, list[str], Ids | None]
_SILENT = np.errstate(over="ignore", invalid="ignore")  # as the native core is
_WITHIN = -2  # in place of the row of a phrase's second or third word
_TOGETHER = 4096  # rows at a time
_BLOCK = 32  # rows multiplied together, always: the last bits of a product depend on their number


def lookup(
    sentences: Sequence[str],
    tables: Sequence[tuple[WordTable, Case, int]],
    splitting: int,
    n_threads: int,
) -> list[Found]:
    """See `pmeans.kernels.lookup`."""
    tokens = [split(sentence, Splitting(splitting)) for sentence in sentences]
    return [_lookup_one(tokens, table, case, first) for table, case, first in tables]


def _lookup_one(
    tokens: list[list[str]], table: WordTable, case: Case, first_composed: int
) -> Found:
    distinct = list(dict.fromkeys(token for sentence in tokens for token in sentence))
    rows = dict(zip(distinct, index.find_rows(table, distinct, case).tolist(), strict=True))
    running = [rows[token] for sentence in tokens for token in sentence]
    if table.phrases is not None:
        phrases, lengths = index.find_phrases(table, tokens, case)
        chosen = np.where(phrases >= 0, phrases, running)
        running = np.where(lengths > 0, chosen, _WITHIN).tolist()
    remaining = iter(running)
    unknown_words: dict[str, int] = {}
    ids: list[int] = []
    counts = np.zeros((3, len(tokens)), dtype=np.int32)  # known, unknown, within a phrase
    for i, sentence in enumerate(tokens):
        for token in sentence:
            row = next(remaining)
            if row == -1 and first_composed >= 0:
                word = token.lower() if case == "lower" else token
                row = first_composed + unknown_words.setdefault(word, len(unknown_words))
            if row >= 0:
                ids.append(row)
            counts[-min(row, 0), i] += 1
    known, unknown, joined = counts
    offsets = np.concatenate([[0], np.cumsum(known)]).astype(np.int64)
    batch = np.array(ids, np.int32), offsets, unknown, list(unknown_words)
    return *batch, None if table.phrases is None else joined


def grams(sentences: Sequence[str], known: Array, n_buckets: int) -> tuple[Ids, Ints]:
    """See `pmeans.kernels.grams`."""
    numbers = [letters.grams(sentence, known, n_buckets) for sentence in sentences]
    offsets = np.cumsum([0, *map(len, numbers)], dtype=np.int64)
    return np.array([bucket for each in numbers for bucket in each], dtype=np.int32), offsets


def identify(
    sentences: Sequence[str], model: letters.GramWeights, n_threads: int
) -> tuple[Ids, Floats]:
    """See `pmeans.kernels.identify`."""
    languages = [letters.identify(sentence, model) for sentence in sentences]
    columns = np.array([column for column, _ in languages], dtype=np.int32)
    return columns, np.array([probability for _, probability in languages], dtype=np.float32)


@_SILENT
def power_means(
    means: Sequence[SpaceMeans],
    batches: Sequence[tuple[TokenBatch, Floats | None]],
    maps: Sequence[Floats | CodedMatrix],
    kept: int,
    out: Floats,
    n_threads: int,
) -> None:
    """See `pmeans.kernels.join_means`."""
    widths = [each.width for each in means]
    for start in range(0, len(out), _TOGETHER):
        target = out[start : start + _TOGETHER]
        rows = np.empty((len(target), sum(widths)), np.float32) if maps else target
        parts = np.split(rows, np.cumsum(widths)[:-1], axis=1)
        for each, (batch, composed), part in zip(means, batches, parts, strict=True):
            _write_means(each, batch, composed, start, part)
        if maps:
            target[:, :kept] = rows[:, :kept]
            rows, target = rows[:, kept:], target[:, kept:]
        for k, matrix in enumerate(maps, start=1):
            shape = len(target), matrix.shape[1]
            mapped = target if k == len(maps) else np.empty(shape, np.float32)
            map_rows(rows, matrix, mapped, n_threads)
            rows = mapped


def _write_means(
    means: SpaceMeans, batch: TokenBatch, composed: Floats | None, start: int, out: Floats
) -> None:
    """Write the means of sentences from ``start`` on."""
    matrix, dim = means.matrix, means.dim
    n_rows = len(matrix) + (0 if composed is None else len(composed))
    _check_batch(batch.ids, batch.offsets, n_rows)
    borders = batch.offsets[start : start + len(out) + 1].tolist()
    for row, (begin, end) in zip(out, pairwise(borders), strict=True):
        if begin == end:
            row[:] = 0
            continue
        ids = batch.ids[begin:end]
        rows = _gather(matrix, means.scale, composed, ids)
        for bad in np.flatnonzero(~np.isfinite(rows).all(axis=1))[:1]:
            raise ValueError(f"word vector {ids[bad]} has NaN or infinity.")
        for k, p in enumerate(means.powers):
            mean = power_mean(rows, p, means.root)
            row[k * dim : (k + 1) * dim] = np.clip(mean, -LARGEST, LARGEST)
        if means.shift is not None and means.factor is not None:
            row[:] = np.clip((row - means.shift) * means.factor, -LARGEST, LARGEST)


@_SILENT
def map_rows(rows: Floats, matrix: Floats | CodedMatrix, out: Floats, n_threads: int) -> None:
    """See `pmeans.kernels.map_rows`."""
    if isinstance(matrix, CodedMatrix):
        _map_whole(rows, matrix, out)
        return
    block = np.zeros((_BLOCK, rows.shape[1]), dtype=np.float32)
    for start in range(0, len(rows), _BLOCK):
        n = min(_BLOCK, len(rows) - start)
        block[:n] = rows[start : start + n]
        # Not BLAS: on some processors its bits depend on the place of a row within the block.
        out[start : start + n] = np.einsum("ij,jk->ik", block, matrix)[:n]
    for i in np.flatnonzero(~np.isfinite(out).all(axis=1)):
        exact = rows[i].astype(np.float64) @ matrix.astype(np.float64)
        if not np.isfinite(exact).all():
            raise ValueError(f"row {i} or the matrix has NaN or infinity.")
        out[i] = np.clip(exact, -LARGEST, LARGEST)


def _map_whole(rows: Floats, matrix: CodedMatrix, out: Floats) -> None:
    codes = matrix.codes.astype(np.float64)
    for start in range(0, len(rows), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        whole, steps = round_rows(rows[some], matrix.scale)
        for bad in np.flatnonzero(~np.isfinite(steps))[:1]:
            raise ValueError(f"row {start + bad} or the matrix has NaN or infinity.")
        out[some] = np.clip(whole @ codes * (steps * matrix.size)[:, None], -LARGEST, LARGEST)


def first_not_finite(matrix: Array, n_threads: int) -> int:
    """See `pmeans.kernels.first_not_finite`."""
    for start in range(0, len(matrix), _TOGETHER):
        for bad in np.flatnonzero(~np.isfinite(matrix[start : start + _TOGETHER]).all(axis=1))[:1]:
            return start + int(bad)
    return -1


@_SILENT
def train_classifiers(
    groups: Sequence[FitGroup], rule: FitRule, n_threads: int
) -> list[list[tuple[Floats, Floats, float, int]]]:
    """See `pmeans.kernels.train_classifiers`."""
    return [
        [(fit.weights, fit.bias, fit.score, fit.epochs) for fit in train_group(group, rule)]
        for group in groups
    ]


@_SILENT
def train_skipgram(
    job: SkipGramJob,
    inputs: Floats,
    outputs: Floats,
    epoch: int,
    begin: int,
    end: int,
    n_threads: int,
) -> None:
    """See `pmeans.kernels.train_skipgram`."""
    train_sentences(job, inputs, outputs, epoch, begin, end)


def _check_batch(ids: Ids, offsets: Ints, n_rows: int) -> None:
    rises = len(offsets) and offsets[0] == 0 and offsets[-1] == len(ids)
    if not rises or (np.diff(offsets) < 0).any():
        raise ValueError("the batch's offsets must rise from 0 to the number of ids.")
    for i in ids[(ids < 0) | (ids >= n_rows)][:1]:
        raise ValueError(f"the batch names row {i}; there are {n_rows}.")


def _gather(matrix: Array, scale: Floats | None, composed: Floats | None, ids: Ids) -> Floats:
    inside = ids < len(matrix)
    rows = np.empty((len(ids), n_columns(matrix)), dtype=np.float32)
    rows[inside] = unpacked(matrix[ids[inside]])
    if scale is not None:
        rows[inside] *= scale[ids[inside], None]
    if composed is not None:
        rows[~inside] = composed[ids[~inside] - len(matrix)]
    return rows


@_SILENT
def compose(
    words: Sequence[str], ngrams: Array, minn: int, maxn: int, folded: bool, n_threads: int
) -> tuple[Floats, Ids]:
    """See `pmeans.kernels.compose`."""
    vectors = np.zeros((len(words), ngrams.shape[1]), dtype=np.float32)
    counts = np.zeros(len(words), dtype=np.int32)
    pieces_of = folded_pieces if folded else ngram_pieces
    for i, word in enumerate(words):
        rows = [ngram_hash(piece) % len(ngrams) for piece in pieces_of(word, minn, maxn)]
        counts[i] = len(rows)
        for row in rows:
            vectors[i] += ngrams[row]
        if rows:
            # fastText multiplies by the reciprocal; a division differs in the last bit.
            vectors[i] *= np.float32(1.0 / (math.sqrt(len(rows)) if folded else len(rows)))
    return vectors, counts


def ngram_pieces(word: str, minn: int, maxn: int) -> list[bytes]:
    """Return fastText's character n-grams of ``<word>``, in its order."""
    characters = [c.encode("utf-8", "surrogatepass") for c in f"<{word}>"]
    n = len(characters)
    return [
        b"".join(characters[i : i + length])
        for i in range(n)
        for length in range(max(minn, 1), maxn + 1)
        # A single character is no n-gram at the two ends, where it would be "<" or ">".
        if i + length <= n and not (length == 1 and (i == 0 or i + length == n))
    ]


def folded_pieces(word: str, minn: int, maxn: int) -> list[bytes]:
    """Return the n-grams of a folded word, and those of its skeleton from four characters on."""
    return [
        *ngram_pieces(folding.folded(word), minn, maxn),
        *ngram_pieces(folding.skeleton(word), max(minn, folding.SKELETON_MINN), maxn),
    ]


def ngram_hash(piece: bytes) -> int:
    """FNV-1a over *signed* bytes, as fastText has it: bytes above 127 extend their sign."""
    h = 2166136261
    for byte in piece:
        h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
    return h
