"""Mapped cross-lingual vectors as the paper's authors published them.

A text file as in `pmeans.spaces.readers.text` with the words of several languages in one space,
each with its language behind it: ``house_en``, ``haus_de``. The space is keyed by (language,
word): the suffix is taken off, and the rows are put together language by language, languages
and words both in the order of their first appearance.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from pmeans.kernels import index
from pmeans.spaces.readers.entries import (
    STRICT,
    Policy,
    ReadReport,
    Tally,
    checked_limit,
    distinct,
    make_multilingual,
    spelled,
)
from pmeans.spaces.readers.text import read_lines
from pmeans.spaces.space import WordSpace
from pmeans.types import WordTable

SUFFIX = re.compile(rb"(.+)_([a-z]{2,3})", re.DOTALL)


def read_mapped(
    path: str | Path,
    *,
    name: str,
    lang: str = "mul",
    policy: Policy = STRICT,
    limit: int | None = None,
) -> tuple[WordSpace, ReadReport]:
    """Read a text file whose words carry ``_en``, ``_de``, ... for their language.

    ``lang`` is not needed, and ``limit`` holds for each language.
    """
    tally = Tally(path, policy, "line")
    most = checked_limit(limit)
    entries = distinct(read_lines(path, tally, checked_limit(None)), tally)
    groups: dict[bytes, list[int]] = {}
    stems: dict[bytes, list[bytes]] = {}
    for i, word in enumerate(entries.listed()):
        found = SUFFIX.fullmatch(word)
        if not found:
            what = f"the word {spelled(word)} has no language such as '_en' at its end"
            tally.found("malformed", int(entries.places[i]), what)
        elif len(groups.setdefault(found[2], [])) == most:
            tally.seen -= 1  # read, but beyond the limit
        else:
            groups[found[2]].append(i)
            stems.setdefault(found[2], []).append(found[1])
    order = [i for rows in groups.values() for i in rows]
    tables: dict[str, WordTable] = {}
    for code, words in stems.items():
        start = sum(map(len, tables.values()))
        tables[code.decode("ascii")] = index.word_table(words, start)
    matrix = entries.take(np.array(order, dtype=np.int64)).matrix
    return make_multilingual(matrix, tables, tally, name)
