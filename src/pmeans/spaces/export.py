"""Write word spaces in the formats that other programs read.

Numbers are written as float32, whatever the space stores, and reading the file again gives the
very same float32: text has the shortest decimals that do, binary has the bits. These formats
know words and vectors only; subwords, case, source and licence are not kept. The words of a phrase
are joined by ``_``, as word2vec does.

A word that a format cannot hold is found before anything is written. A file that is there is
replaced when the new one is complete, but not the one that the space is read from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import IO

import numpy as np

from pmeans.errors import FormatError, InputError, shown
from pmeans.files import replacing
from pmeans.kernels import index
from pmeans.spaces.edit import respelled
from pmeans.spaces.space import WordSpace
from pmeans.types import Floats

_ROWS = 4096  # decoded at a time


def to_text(space: WordSpace, path: str | Path, header: bool = True, suffix: bool = False) -> None:
    """Write one line a word: the word, a space, its numbers with spaces between them.

    A header is a line ``n_words dim``, as word2vec and fastText begin with; GloVe has none. A
    suffix, ``_en`` and the like after every word, is what the paper's cross-lingual files have; a
    space of several languages must.
    """
    space = underscored(space)
    _check(space, suffix, nowhere=b"\n", not_at_ends=b" \t\r")
    with replacing(path, [space.path] if space.path else []) as file:
        if header:
            _write_header(file, space)
        for word, vector in _entries(space, suffix):
            # NumPy prints a float32 with as few digits as tell it from its neighbours.
            file.write(word + b" " + " ".join(map(str, vector)).encode() + b"\n")


def to_word2vec_binary(space: WordSpace, path: str | Path, suffix: bool = False) -> None:
    """Write word2vec's binary format: ``n_words dim``, then words and little-endian float32."""
    space = underscored(space)
    _check(space, suffix, nowhere=b" \n")
    with replacing(path, [space.path] if space.path else []) as file:
        _write_header(file, space)
        for word, vector in _entries(space, suffix):
            file.write(word + b" " + vector.astype("<f4").tobytes() + b"\n")


def _write_header(file: IO[bytes], space: WordSpace) -> None:
    file.write(f"{len(space)} {space.dim}\n".encode())


def _entries(space: WordSpace, suffix: bool) -> Iterator[tuple[bytes, Floats]]:
    words = (
        table.words[begin:end].tobytes() + (f"_{lang}".encode() if suffix else b"")
        for lang, table in space.tables.items()
        for begin, end in pairwise(table.offsets.tolist())
    )
    chunks = (space.rows(slice(low, low + _ROWS)) for low in range(0, len(space), _ROWS))
    return zip(words, chain.from_iterable(chunks), strict=True)


def underscored(space: WordSpace) -> WordSpace:
    """Join the words of phrases by ``_``, if there are phrases."""
    tables = dict(space.tables)
    for lang, table in space.tables.items():
        if table.phrases is None:
            continue
        words, offsets = respelled(table, b" ", b"_")
        again = np.flatnonzero(index.repeated(words, offsets))
        if len(again):
            raise FormatError(
                f"{space.name!r} has both {shown(table[int(again[0])])} and the like with '_' for "
                f"' ' ({lang}), which would be the same in the file. Prune the space first."
            )
        tables[lang] = replace(table, words=words, offsets=offsets)
    return replace(space, tables=tables)


def _check(space: WordSpace, suffix: bool, nowhere: bytes, not_at_ends: bytes = b"") -> None:
    if len(space.tables) > 1 and not suffix:
        raise InputError(
            f"{space.name!r} has {len(space.tables)} languages ({', '.join(space.tables)}), and "
            "without a suffix their words would mix; ask for suffix=True."
        )
    for lang, table in space.tables.items():
        words, offsets = table.words, table.offsets
        bad = np.diff(offsets) == 0
        full = np.flatnonzero(~bad)
        for ends in (offsets[full], offsets[full + 1] - 1):
            bad[full] |= np.isin(words[ends], list(not_at_ends))
        inside = np.flatnonzero(np.isin(words, list(nowhere)))
        bad[np.searchsorted(offsets, inside, side="right") - 1] = True
        if bad.any():
            raise FormatError(
                f"the format cannot hold the word {shown(table[int(np.argmax(bad))])} ({lang}) of "
                f"{space.name!r}, because it is empty or because of the white space in it. "
                "Prune the space first."
            )
