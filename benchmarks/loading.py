"""Vectors from a text file, the way they are published: 400,000 lines of 300 numbers, about 1 GB.

The file is read whole by pmeans. The authors' loop and gensim read the first lines only, and
their time is multiplied by the ratio of lines: both work line by line, and would take minutes.
All read from the page cache. Afterwards: writing the store, and opening it again.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from arena import Section, at_least, ratios, shown
from corpus import Array, make_words

DIM = 300


def loading(folder: Path, n_words: int, n_slice: int, n_rounds: int) -> list[Section]:
    from pmeans import open_space, save_space
    from pmeans.spaces.readers import read_space

    whole, part, store = folder / "vectors.txt", folder / "slice.txt", folder / "store.safetensors"
    write_text(whole, n_words)
    with open(whole, "rb") as source, open(part, "wb") as target:
        target.writelines(islice(source, n_slice))
    space, _ = read_space(whole)
    check(space, authors_loop(part))

    scale = n_words / n_slice
    steps: dict[str, tuple[Callable[[], Any], float]] = {
        "pmeans read_space": (lambda: read_space(whole), 1),
        "authors' loop": (lambda: authors_loop(part), scale),
        "gensim load_word2vec_format": (lambda: gensim(part), scale),
        "pmeans save_space": (lambda: save_space(space, store), 1),
        "pmeans open_space": (lambda: open_space(store), 1),
    }
    times: dict[str, list[float]] = {name: [] for name in steps}
    for i in range(n_rounds):
        print(f"  loading: round {i + 1} of {n_rounds}", file=sys.stderr)
        for name, (step, factor) in steps.items():
            begin = time.perf_counter()
            step()
            times[name].append((time.perf_counter() - begin) * factor)
    ours, theirs, *_ = times
    size = whole.stat().st_size / 1e9
    rows = []
    for name, given in times.items():
        estimated = f"estimated from {n_slice:,} lines" if steps[name][1] != 1 else ""
        slower = shown(ratios(given, times[ours])) if "pmeans" not in name else "–"
        seconds = "{:.2f}" if statistics.median(given) > 0.1 else "{:.4f}"
        rows.append([name, shown(given, seconds), slower, estimated])
    for path in (whole, part, store):
        path.unlink()
    method = f"A text file of {n_words:,} × {DIM} ({size:.2f} GB); {n_rounds} rounds, in turn."
    bar = at_least("authors' loop in loading text", 15, ratios(times[theirs], times[ours]))
    header = ["what", "seconds", f"time / {ours}", ""]
    return [Section("Loading", method, header, rows, times, [bar])]


def write_text(path: Path, n_words: int) -> None:
    """Write vectors as GloVe does. Numbers come from a pool of 65,536: printing is slow."""
    rng = np.random.default_rng(2222)
    numbers = rng.normal(0, 0.3, 1 << 16)
    printed = np.array([f"{number:.5f}".rstrip("0") for number in numbers], dtype=object)
    with open(path, "w", encoding="utf-8") as file:
        for word in make_words(n_words, rng):
            file.write(word + " " + " ".join(printed[rng.integers(0, 1 << 16, DIM)]) + "\n")


def authors_loop(path: Path) -> dict[str, Array]:
    """Read as the paper's program does: line by line, one array a word, into a dict."""
    vectors: dict[str, Array] = {}
    dim = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            word, numbers = line.strip().split(" ", 1)
            vector = np.fromstring(numbers, sep=" ")
            dim = dim or len(vector)
            if len(vector) == dim:
                vectors[word] = vector
    return vectors


def gensim(path: Path) -> Any:
    from gensim.models import KeyedVectors

    return KeyedVectors.load_word2vec_format(str(path), no_header=True)


def check(space: Any, vectors: dict[str, Array]) -> None:
    """Refuse to compare if the two did not read the same words and numbers."""
    words = list(islice(space.words("en"), len(vectors)))
    read = np.array(list(vectors.values()), dtype=np.float32)
    if words != list(vectors) or not np.array_equal(space.matrix[: len(read)], read):
        raise SystemExit("read_space and the authors' loop disagree about the same file.")
