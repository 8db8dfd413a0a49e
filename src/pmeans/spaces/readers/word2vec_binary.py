"""word2vec's binary format.

- a line ``n_words dim``,
- for each word its bytes, a space, and dim float32, little-endian. word2vec itself writes a
  newline after each vector, other programs do not; both are read.

Nothing is allocated on the word of the header alone: reading goes on until the words or the
bytes are used up.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pmeans.errors import FormatError
from pmeans.spaces.readers.entries import Entries, Growing, Tally, make_space, usable
from pmeans.spaces.readers.text import HEADER
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import LARGEST_DIM
from pmeans.streams import Stream, open_stream
from pmeans.types import Floats

_BLOCK = 16 << 20
_LONGEST_WORD = 1 << 16


def read_word2vec_binary(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Read a binary file of word2vec."""
    with open_stream(tally.path) as stream:
        announced, dim = _header(stream, tally.path)
        rows = Growing(dim)
        n = min(announced, limit)
        while tally.seen < n:
            words, vectors = _read_block(stream, n - tally.seen, dim)
            if not words:
                break
            part = Entries.of(words, vectors)
            part = Entries(part.words, part.offsets, vectors, part.places + tally.seen)
            tally.seen += len(words)
            rows.add(usable(part, tally))
        if tally.seen < n:
            _report_missing(stream, n, tally)
        elif n == announced and stream.read(2).strip(b"\r\n"):
            tally.seen += 1
            tally.enter("malformed", n + 1, f"more data after the {n:,} words announced")
    return make_space(rows.entries(), tally, name, lang)


def _header(stream: Stream, path: Path) -> tuple[int, int]:
    line = stream.read_until(b"\n", 64)
    match = HEADER.fullmatch(line or b"")
    if not match:
        raise FormatError(f"{path}: not a word2vec file; it does not start with 'n_words dim'.")
    n, dim = int(match[1]), int(match[2])
    if not 1 <= dim <= LARGEST_DIM:
        raise FormatError(f"{path}: the header announces {dim:,} dimensions; it must be damaged.")
    return n, dim


def _read_block(stream: Stream, n: int, dim: int) -> tuple[list[bytes], Floats]:
    """Read up to n words and their vectors, (n_read, dim), as many as make up a block."""
    width = 4 * dim
    n = min(n, max(1, _BLOCK // width))
    vectors = np.empty((n, dim), dtype="<f4")
    view = vectors.reshape(-1).view(np.uint8).data
    words: list[bytes] = []
    for i in range(n):
        word = stream.read_until(b" ", _LONGEST_WORD)
        if word is None or stream.readinto(view[i * width : (i + 1) * width]) < width:
            break
        words.append(word.removeprefix(b"\n"))
    return words, vectors[: len(words)].astype(np.float32, copy=False)


def _report_missing(stream: Stream, n: int, tally: Tally) -> None:
    damage = f" ({stream.damage})" if stream.damage else ""
    tally.enter(
        "truncated",
        tally.seen + 1,
        f"the file ends, or makes no sense any more{damage}; {n:,} words are announced",
        n - tally.seen,
    )
