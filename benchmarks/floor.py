"""The cache-weighted floor: the time that the memory alone would take.

An encoder must read the row of every known word at least once, from wherever it lies, and must
write every output row once. `floor.c` does this and nothing else: with the same row ids (looked
up beforehand, which costs it nothing), the same mapped matrices, the same threads, and an output
array that has been touched before, it xors every row into a register and writes ones. Splitting,
hashing, minima, sums and maxima are free. Rows of common words come out of the cache here just
as often as they do for an encoder, hence "cache-weighted"; a bandwidth from a data sheet would
not know that.

There is more than one way to walk through the same memory: all spaces of a sentence at once or a
chunk of sentences through one space after another, with or without prefetching, writing through
the cache or around it. All are tried before the first round, and the fastest is the floor.
An encoder at 100 % of it would be free of arithmetic; one at 60 % takes 1.67 times as long.
"""

from __future__ import annotations

import ctypes
import itertools
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corpus import Array, Corpus

MEANS = 3
SOURCE = Path(__file__).with_name("floor.c")
COMPILE = ["gcc", "-O3", "-march=native", "-shared", "-fPIC", "-pthread"]


class Work(ctypes.Structure):
    """The C struct of the same name."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("matrices", "ids", "offsets", "out")),
        *((name, ctypes.c_int64) for name in ("n_spaces", "n_sentences", "dim", "means")),
        *((name, ctypes.c_int64) for name in ("chunk", "ahead", "stream")),
    )


class Floor:
    """A contestant that only reads and writes; ``note`` says which walk was fastest."""

    def __init__(self, corpus: Corpus, n_spaces: int, n_threads: int) -> None:
        from pmeans import open_space

        library = corpus.folder / f"floor-{n_spaces}-{n_threads}.so"
        subprocess.run([*COMPILE, str(SOURCE), "-o", str(library)], check=True)
        self._pass_over = ctypes.CDLL(str(library)).pass_over
        self._spaces = [open_space(corpus.store(i)) for i in range(n_spaces)]
        self._n_threads = n_threads
        self._sentences: Sequence[str] = []
        self._walk: tuple[int, int, int] = (1, 0, 0)
        self._prepare(corpus.sentences())
        walks = itertools.product((1, 256, 4096), (0, 2, 6), (0, 1))
        self._walk = min(walks, key=lambda walk: min(self._seconds(walk) for _ in range(3)))
        chunk, ahead, stream = self._walk
        self.note = f"chunk {chunk}, prefetch {ahead} ahead, streaming stores {bool(stream)}"

    def __call__(self, sentences: Sequence[str]) -> Array:
        """Read and write once for the given sentences."""
        if len(sentences) != len(self._sentences):
            self._prepare(sentences)
        self._seconds(self._walk)
        return self._out

    def _prepare(self, sentences: Sequence[str]) -> None:
        from pmeans.kernels import Splitting, lookup

        tables = [(space.table("en"), space.case, -1) for space in self._spaces]
        batches = lookup(sentences, tables, Splitting.WHITESPACE)
        dim = self._spaces[0].dim
        self._sentences = sentences
        self._out = np.ones((len(sentences), len(self._spaces) * MEANS * dim), dtype=np.float32)
        # Kept as attributes: C has only their addresses.
        self._arrays: list[list[Any]] = [
            [space.matrix for space in self._spaces],
            [np.ascontiguousarray(batch.ids, dtype=np.int32) for batch in batches],
            [np.ascontiguousarray(batch.offsets, dtype=np.int64) for batch in batches],
        ]
        self._addresses = [
            np.array([array.ctypes.data for array in arrays], dtype=np.uintp)
            for arrays in self._arrays
        ]
        self._work = Work(
            *(addresses.ctypes.data for addresses in self._addresses), self._out.ctypes.data,
            len(self._spaces), len(sentences), dim, MEANS,
        )  # fmt: skip

    def _seconds(self, walk: tuple[int, int, int]) -> float:
        self._work.chunk, self._work.ahead, self._work.stream = walk
        begin = time.perf_counter()
        self._pass_over(ctypes.byref(self._work), ctypes.c_int64(self._n_threads))
        return time.perf_counter() - begin
