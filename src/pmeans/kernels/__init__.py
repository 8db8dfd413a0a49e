"""Checked entry points to the native core, or to NumPy where it could not be compiled.

Arrays and strings go in, arrays come out; nothing here knows of files, recipes or languages.
Arguments are checked here, and the ids and offsets of a batch by the core, before anything is
read through them. ``PMEANS_KERNELS`` in the environment, ``native`` or ``numpy``, chooses a core;
`backend` says which one is at work. ``n_threads`` is everywhere how many threads to use, all
available ones if None.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pmeans.choices import Case
from pmeans.errors import InputError, SlowKernelsWarning, shown
from pmeans.kernels.coded import CodedMatrix
from pmeans.kernels.letters import TILE, GramWeights
from pmeans.kernels.machine import available_threads, empty_rows
from pmeans.kernels.means import (
    SQUARES,
    SpaceMeans,
    check_lengths,
    check_matrix,
    checked_powers,
    described,
)
from pmeans.kernels.parsing import LineStatus, Parsed
from pmeans.kernels.skipgram import SkipGramJob, check_job
from pmeans.kernels.softmax import FitGroup, FitRule, Fitted, check_groups, check_rule
from pmeans.kernels.splitting import Splitting, split
from pmeans.types import Array, Floats, Ids, Ints, Power, Root, TokenBatch, WordTable

__all__ = [
    "LONGEST_NGRAM",
    "SQUARES",
    "TILE",
    "CodedMatrix",
    "GramWeights",
    "LineStatus",
    "SpaceMeans",
    "Splitting",
    "available_threads",
    "backend",
    "check_lengths",
    "checked_powers",
    "compose",
    "empty_rows",
    "first_not_finite",
    "grams",
    "identify",
    "join_means",
    "lookup",
    "map_rows",
    "parse_lines",
    "power_means",
    "split",
    "train_classifiers",
    "train_skipgram",
]

_FLOAT32 = np.dtype("float32")
FEW = 48
"""Sentences that are one thread's work: to ask how many there may be would take longer."""

LONGEST_NGRAM = 64
"""Characters; what claims more is damaged, and would take time without end over a long word."""


def _choose_core() -> Any:
    wanted = os.environ.get("PMEANS_KERNELS", "")
    if wanted not in ("", "native", "numpy"):
        raise InputError(
            f"PMEANS_KERNELS is {wanted!r}; set it to 'native' or 'numpy', or not at all."
        )
    if wanted != "numpy":
        try:
            return importlib.import_module("pmeans._native")
        except ImportError as error:
            if wanted == "native":
                raise InputError(
                    f"PMEANS_KERNELS is 'native', which is missing: {error}."
                ) from None
            warnings.warn(
                f"pmeans runs on NumPy, and slower: its native core is missing ({error}). "
                "Install a C++20 compiler and reinstall pmeans, or set PMEANS_KERNELS=numpy "
                "to accept this in silence.",
                SlowKernelsWarning,
                stacklevel=2,
            )
    return importlib.import_module("pmeans.kernels.numpy_core")


core = _choose_core()


def backend() -> str:
    """Return the core at work: ``"numpy"``, or ``"native"`` with its instruction set."""
    return str(core.NAME)


def lookup(
    sentences: Sequence[str],
    tables: Sequence[tuple[WordTable, Case, int]],
    splitting: Splitting,
    n_threads: int | None = None,
) -> list[TokenBatch]:
    """Split every sentence once, and look its words up in every table.

    Where a table has phrases, they are looked for first: see `pmeans.kernels.index`.

    Args:
        sentences: The texts; each must be a `str`.
        tables: For each space the words, how case is treated, and the id of the first composed
            row where unknown words are to be numbered and returned, or -1 to drop them.
        splitting: How text is cut into tokens.
        n_threads: Threads to use.

    Returns:
        One batch for each table.
    """
    texts = checked_strings(sentences)
    batches = core.lookup(texts, list(tables), int(splitting), _threads(n_threads, len(texts)))
    return [
        TokenBatch(ids, offsets, unknown, tuple(words), joined)
        for ids, offsets, unknown, words, joined in batches
    ]


def grams(sentences: Sequence[str], letters: Array, n_buckets: int) -> tuple[Ids, Ints]:
    """Return the buckets of all grams, and the borders of the sentences' own, (n + 1,).

    `pmeans.kernels.letters` says what grams are, and has the arguments.
    """
    numbers: tuple[Ids, Ints] = core.grams(checked_strings(sentences), letters, n_buckets)
    return numbers


def identify(
    sentences: Sequence[str], model: GramWeights, n_threads: int | None = None
) -> tuple[Ids, Floats]:
    """Find the likeliest language of each sentence, as `pmeans.kernels.letters.identify` says.

    Returns:
        Columns, (n,) int32, and probabilities, (n,) float32.
    """
    texts = checked_strings(sentences)
    languages: tuple[Ids, Floats] = core.identify(texts, model, _threads(n_threads, len(texts)))
    return languages


def power_means(
    matrix: Array,
    batch: TokenBatch,
    powers: Sequence[Power],
    *,
    root: Root = "signed",
    scale: Floats | None = None,
    shift: Floats | None = None,
    factor: Floats | None = None,
    composed: Floats | None = None,
    out: Floats | None = None,
    n_threads: int | None = None,
) -> Floats:
    """Summarise every sentence by its power means, side by side.

    Args:
        matrix: As in `SpaceMeans`.
        batch: Which rows make up each sentence.
        powers: As in `SpaceMeans`.
        root: As in `SpaceMeans`.
        scale: As in `SpaceMeans`.
        shift: As in `SpaceMeans`.
        factor: As in `SpaceMeans`.
        composed: Vectors of unknown words, (n_composed, dim) float32; ids from n_words on.
        out: Where to write, (n_sentences, len(powers) * dim) float32; its columns may be a slice
            of a wider array.
        n_threads: Threads to use.

    Returns:
        (n_sentences, len(powers) * dim). A sentence without known words is a zero row, which
        ``shift`` does not move. A word vector with NaN or infinity is an error.
    """
    means = SpaceMeans(matrix, tuple(powers), root, scale, shift, factor)
    if out is None:
        out = empty_rows(len(batch), means.width)
    return join_means([means], [(batch, composed)], (), out, n_threads=n_threads)


def join_means(
    means: Sequence[SpaceMeans],
    batches: Sequence[tuple[TokenBatch, Floats | None]],
    maps: Sequence[Floats | CodedMatrix],
    out: Floats,
    *,
    kept: int = 0,
    n_threads: int | None = None,
) -> Floats:
    """Write the means of several spaces side by side, or what maps make of them.

    Args:
        means: Which means of which rows.
        batches: For each of them, which rows make up each sentence, and vectors of unknown words
            as in `power_means`, if there are any.
        maps: Matrices as in `map_rows`. Rows are multiplied by one after the other.
        out: Where to write, (n_sentences, n_columns) float32.
        kept: So many of the first columns are not mapped: they stay, and what the maps make of the
            others follows them.
        n_threads: Threads to use.
    """
    width = sum(each.width for each in means) - kept
    chain = [_checked_map(matrix) for matrix in maps]
    for matrix in chain:
        if matrix.shape[0] != width:
            raise InputError(f"a map of {matrix.shape[0]} columns does not fit rows of {width}.")
        width = matrix.shape[1]
    _check_out(out, (len(batches[0][0]), kept + width))
    for each, (batch, composed) in zip(means, batches, strict=True):
        dim = each.dim
        if len(batch) != len(out):
            raise InputError(f"a batch of {len(batch)} sentences beside one of {len(out)}.")
        if composed is not None and (composed.ndim != 2 or composed.shape[1] != dim):
            raise InputError(f"composed vectors are {composed.shape}, expected (n, {dim}).")
    try:
        core.power_means(
            list(means), list(batches), chain, kept, out, _threads(n_threads, len(out))
        )
    except ValueError as error:  # the core has looked through the batch
        raise InputError(str(error)) from error
    return out


def map_rows(
    rows: Floats,
    matrix: Floats | CodedMatrix,
    out: Floats | None = None,
    n_threads: int | None = None,
) -> Floats:
    """Multiply rows by a matrix.

    Rows are (n, n_in) float32, and their columns may be a slice of a wider array. The matrix is
    (n_in, n_out), ``out`` (n, n_out); it may be ``rows``, or columns of a wider array.

    Products with a float32 matrix are added up in the order of the row. For a `CodedMatrix` each
    row is rounded to whole numbers of 16 bits, as `pmeans.kernels.reference` says.

    Returns:
        (n, n_out). What float32 cannot hold is cut off at its largest number. A row depends on
        itself and the matrix alone: no other row, nor its place, nor a thread changes a bit.
    """
    matrix = _checked_map(matrix)
    n_in, n_out = matrix.shape
    _check_rows("rows", rows, (len(rows), n_in))
    shape = (len(rows), n_out)
    if out is None:
        out = empty_rows(*shape)
    _check_out(out, shape)
    if np.may_share_memory(rows, out):
        rows = rows.copy()
    try:
        core.map_rows(rows, matrix, out, _threads(n_threads, len(rows)))
    except ValueError as error:
        raise InputError(str(error)) from error
    return out


def first_not_finite(matrix: Array, n_threads: int | None = None) -> int | None:
    """Return the first row of an (n, dim) matrix with NaN or infinity, or None."""
    check_matrix(matrix)
    row = core.first_not_finite(matrix, _threads(n_threads))
    return row if row >= 0 else None


def compose(
    words: Sequence[str], ngrams: Array, minn: int, maxn: int, n_threads: int | None = None,
    *, folded: bool = False,
) -> tuple[Floats, Ids]:  # fmt: skip
    """Make vectors for words from the vectors of their character n-grams, as fastText does.

    N-grams of ``minn`` to ``maxn`` characters have one row for each hash bucket, (n_buckets, dim)
    float32. ``folded`` takes those of the folded word and of its skeleton (`kernels.folding`).

    Returns:
        The vectors, (n_words, dim) float32, and how many n-grams each was made from, (n_words,);
        a word with none has a zero vector.
    """
    if ngrams.ndim != 2 or ngrams.dtype != np.float32 or not len(ngrams):
        raise InputError(f"n-gram vectors must be (n, dim) float32, not {described(ngrams)}.")
    if not 0 <= minn <= maxn <= LONGEST_NGRAM:
        raise InputError(
            f"n-gram lengths must be 0 <= minn <= maxn <= {LONGEST_NGRAM}, not {minn} and {maxn}."
        )
    threads, rows = _threads(n_threads, len(words)), np.ascontiguousarray(ngrams)
    vectors, counts = core.compose(list(words), rows, minn, maxn, folded, threads)
    return vectors, counts


def parse_lines(
    data: bytes | bytearray | memoryview, dim: int, n_threads: int | None = None
) -> Parsed:
    """Parse the lines ``word v1 ... vdim`` of a vector file, as `pmeans.kernels.parsing` says.

    The bytes are those of whole lines with ``dim`` values; the last one may lack its newline.

    Returns:
        Of the good lines the bytes of the words, (n_bytes,) uint8, their borders, (n + 1,) int64,
        and the values, (n, dim) float32; of every line a `LineStatus`, (n_lines,) uint8.
    """
    if dim < 1:
        raise InputError(f"a line must have at least 1 value, not {dim}.")
    return core.parse_lines(np.frombuffer(data, dtype=np.uint8), dim, _threads(n_threads))


def train_classifiers(
    groups: Sequence[FitGroup], rule: FitRule, n_threads: int | None = None
) -> list[list[Fitted]]:
    """Train every classifier of every group, as `pmeans.kernels.softmax` says.

    Each group is the work of one thread, so that many small ones keep all threads busy.

    Returns:
        For each group its classifiers, in the order of its rates. They depend neither on the
        number of threads, nor on the other groups, nor on the other classifiers of the group.
    """
    check_rule(rule)
    check_groups(groups, first_not_finite)
    trained = core.train_classifiers(list(groups), rule, _threads(n_threads))
    return [[Fitted(*fit) for fit in fits] for fits in trained]


def train_skipgram(
    job: SkipGramJob,
    inputs: Floats,
    outputs: Floats,
    epoch: int,
    begin: int,
    end: int,
    n_threads: int | None = None,
) -> None:
    """Train word vectors on some sentences, as `pmeans.kernels.skipgram` says.

    Inputs are the vectors, (n_rows, width) float32, outputs what they are trained to predict,
    (n_words, width) float32. Both are changed in place. ``epoch`` counts passes from 0 on; ``end``
    is the sentence after the last.

    With one thread, the same arguments give the same bits. More share both matrices without locks
    (Hogwild), and do not.
    """
    check_job(job, inputs, outputs, begin, end)
    core.train_skipgram(job, inputs, outputs, epoch, begin, end, _threads(n_threads))


def checked_strings(sentences: Iterable[str], first: int = 0) -> list[str]:
    """Return sentences as a list, each of them a `str`; ``first`` is the number of the first."""
    texts = list(sentences)
    if set(map(type, texts)) - {str}:
        for i, text in enumerate(texts, first):
            if not isinstance(text, str):
                raise InputError(
                    f"sentence {i} is {type(text).__name__}, not str: {shown(text, 60)}."
                )
    return texts


def _threads(n_threads: int | None, n_rows: int = FEW + 1) -> int:
    if n_threads is None:
        return available_threads() if n_rows > FEW else 1
    whole = isinstance(n_threads, int | np.integer) and not isinstance(n_threads, bool)
    if whole and n_threads > 0:
        return int(n_threads)
    raise InputError(f"n_threads must be a whole number, at least 1, not {shown(n_threads, 40)}.")


def _checked_map(matrix: Floats | CodedMatrix) -> Floats | CodedMatrix:
    if isinstance(matrix, CodedMatrix):
        return matrix
    _check_rows("matrix", matrix, matrix.shape)
    return np.ascontiguousarray(matrix)


def _check_out(out: Floats, shape: tuple[int, int]) -> None:
    _check_rows("out", out, shape)
    if not out.flags.writeable:
        raise InputError("out is read-only.")


def _check_rows(name: str, array: Floats, shape: tuple[int, ...]) -> None:
    fits = isinstance(array, np.ndarray) and array.ndim == 2 and array.shape == shape
    if not fits or array.dtype != _FLOAT32:
        raise InputError(f"{name} must be {shape} float32, not {described(array)}.")
    if array.size and (array.strides[1] != array.itemsize or array.strides[0] % array.itemsize):
        raise InputError(f"{name} must have its columns side by side in memory.")
