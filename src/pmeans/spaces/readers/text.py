"""Vectors as text: GloVe, word2vec's text format, fastText's ``.vec``.

Each line is a word and its values, separated by spaces or tabs (`pmeans.kernels.parsing` has
the exact rules). word2vec and fastText put a line ``n_words dim`` first; without one, the
dimension is what most of the first lines have. The file streams through the parser in blocks,
so it is never in memory as a whole, and may be compressed.

Mapped cross-lingual vectors, as the paper's authors published them, are such a file with the words
of several languages in one space, each with its language after it: ``house_en``, ``haus_de``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pmeans import kernels
from pmeans.errors import FormatError, count
from pmeans.kernels import LineStatus, index
from pmeans.kernels.parsing import NUMBER
from pmeans.spaces.readers.entries import (
    NO_LIMIT,
    Entries,
    Growing,
    Problem,
    Tally,
    bad_utf8,
    distinct,
    make_multilingual,
    make_space,
    nonfinite,
    spelled,
)
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import LARGEST_DIM
from pmeans.streams import Stream, open_stream
from pmeans.types import WordTable

_BLOCK = 32 << 20
_SAMPLE = 50
_NEWLINE = ord("\n")
SUFFIX = re.compile(rb"(.+)_([a-z]{2,3})", re.DOTALL)
HEADER = re.compile(rb"([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?")
_PROBLEMS: dict[int, Problem] = {
    LineStatus.MALFORMED: "malformed",
    LineStatus.NONFINITE: "nonfinite",
    LineStatus.BAD_UTF8: "bad_utf8",
}


def read_text(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Read a text file of word vectors, with or without a header, up to ``limit`` good lines."""
    return make_space(read_lines(tally, limit), tally, name, lang)


def read_mapped(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Read a text file whose words carry ``_en``, ``_de``, ... for their language.

    The space is keyed by (language, word): rows are put together language by language, languages
    and words both in the order of their first appearance. ``lang`` is not needed, and ``limit``
    holds for each language.
    """
    entries = distinct(read_lines(tally, NO_LIMIT), tally)
    groups: dict[bytes, list[int]] = {}
    stems: dict[bytes, list[bytes]] = {}
    for i, word in enumerate(entries.listed()):
        match = SUFFIX.fullmatch(word)
        if not match:
            what = f"the word {spelled(word)} has no language such as '_en' at its end"
            tally.enter("malformed", int(entries.places[i]), what)
        elif len(groups.setdefault(match[2], [])) == limit:
            tally.seen -= 1  # read, but beyond the limit
        else:
            groups[match[2]].append(i)
            stems.setdefault(match[2], []).append(match[1])
    order = [i for rows in groups.values() for i in rows]
    tables: dict[str, WordTable] = {}
    for code, words in stems.items():
        start = sum(map(len, tables.values()))
        tables[code.decode("ascii")] = index.word_table(words, start)
    matrix = entries.take(np.array(order, dtype=np.int64)).matrix
    return make_multilingual(matrix, tables, tally, name)


@dataclass(frozen=True)
class Layout:
    """How the lines of a file look: ``announced`` is the header's word count, if it has one."""

    dim: int
    announced: int | None


def layout_of(lines: list[bytes]) -> Layout | None:
    """Return the layout that the first lines of a file show, or None if they hold no vectors."""
    header = HEADER.fullmatch(lines[0]) if lines else None
    dims = Counter(_n_values(line) for line in lines[1 if header else 0 : _SAMPLE])
    del dims[0]
    dim = dims.most_common(1)[0][0] if dims else 0
    # Without a header, "7 1" is the word 7 in a space of one dimension.
    if header and (dim != 1 or int(header[2]) in dims):
        return Layout(int(header[2]), int(header[1]))
    return Layout(dim, None) if dim else None


def _n_values(line: bytes) -> int:
    """Count the numbers at the end of a line, less one if there is nothing else on it."""
    fields = re.findall(rb"[^ \t\r]+", line)
    n = 0
    while n < len(fields) - 1 and NUMBER.fullmatch(fields[-1 - n]):
        n += 1
    return n


def read_lines(tally: Tally, limit: int) -> Entries:
    """Read the good lines of a file, the first ``limit`` of them; duplicates are still there."""
    layout: Layout | None = None
    at = 1  # number of the next line
    cut_off = False
    with open_stream(tally.path) as stream:
        for block in _blocks(stream, tally):
            if layout is None:
                first = bytes(block).split(b"\n", _SAMPLE)[:_SAMPLE]
                layout = _checked(layout_of(first), first[0], tally)
                rows = Growing(layout.dim)
                if layout.announced is not None:
                    block = block[len(first[0]) + 1 :]
                    at = 2
            if not block:
                continue
            if block[-1] != _NEWLINE and _verdict(block, layout.dim) == LineStatus.MALFORMED:
                cut_off = True
                continue
            part, n_lines = _parse(block, at, layout.dim, limit, tally)
            rows.add(part)
            at += n_lines
            limit -= len(part)
            if limit == 0:
                return rows.entries()
        if layout is None:
            damage = f": {stream.damage}" if stream.damage else ", it is empty"
            raise FormatError(f"{tally.path}: no word vectors in it{damage}.")
        cut_off = cut_off or stream.damage is not None
    _check_end(layout, at, cut_off, tally)
    return rows.entries()


def _blocks(stream: Stream, tally: Tally) -> Iterator[memoryview]:
    """Iterate over pieces of whole lines; a last line without an end is a piece of its own."""
    buffer = bytearray(_BLOCK)
    view = memoryview(buffer)
    n = 0
    while got := stream.readinto(view[n:]):
        n += got
        end = buffer.rfind(b"\n", 0, n) + 1
        if end:
            yield view[:end]
        elif n == len(buffer):
            raise FormatError(
                f"{tally.path}: no line ends within {n >> 20} MB; not a text file of vectors."
            )
        view[: n - end] = bytes(view[end:n])
        n -= end
    if n and not stream.damage:
        yield view[:n]


def _parse(block: memoryview, at: int, dim: int, limit: int, tally: Tally) -> tuple[Entries, int]:
    """Parse a piece whose first line is number ``at``; return its entries and number of lines."""
    words, offsets, vectors, status = kernels.parse_lines(block, dim)
    good = np.flatnonzero(status == LineStatus.OK)[:limit]
    if len(good) == limit:
        status = status[: good[-1] + 1]
        words, offsets, vectors = words[: offsets[limit]], offsets[: limit + 1], vectors[:limit]
    n_blank = np.count_nonzero(status == LineStatus.BLANK)
    tally.counts["blank"] += int(n_blank)
    tally.seen += len(status) - int(n_blank)
    bad = np.flatnonzero(status > LineStatus.BLANK)
    if len(bad):
        lines = bytes(block).split(b"\n")
        for i in bad.tolist():
            problem = _PROBLEMS[int(status[i])]
            what = _described(lines[i], problem, dim) if tally.wants(problem) else ""
            tally.enter(problem, at + i, what)
    return Entries(words, offsets, vectors, good + at), len(status)


def _verdict(line: memoryview, dim: int) -> LineStatus:
    return LineStatus(kernels.parse_lines(line, dim)[3][0])


def _described(line: bytes, problem: Problem, dim: int) -> str:
    """Say what is wrong with a line."""
    fields = re.findall(rb"[^ \t\r]+", line)
    word = b" ".join(fields[:-dim]) or fields[0]
    if problem == "nonfinite":
        return nonfinite(word)
    if problem == "bad_utf8":
        return bad_utf8(word)
    if line[:1] in (b" ", b"\t"):
        return "no word before the first space"
    if len(fields) <= dim:
        return (
            f"{count(len(fields) - 1, 'value')} after {spelled(fields[0])} where {dim} are expected"
        )
    for field in fields[-dim:]:
        if not NUMBER.fullmatch(field):
            return f"{spelled(field)}, after {spelled(word)}, is not a number"
    return f"{count(_n_values(line), 'value')} after {spelled(fields[0])} where {dim} are expected"


def _checked(layout: Layout | None, first: bytes, tally: Tally) -> Layout:
    if layout is None or not 1 <= layout.dim <= LARGEST_DIM:
        raise FormatError(
            f"{tally.path}: not a text file of word vectors; its first line is {spelled(first)}."
        )
    return layout


def _check_end(layout: Layout, at: int, cut_off: bool, tally: Tally) -> None:
    announced = layout.announced if layout.announced is not None else tally.seen
    missing = max(announced - tally.seen, int(cut_off))
    if missing:
        expected = f", and {announced:,} words are announced" if announced > tally.seen else ""
        how = "is cut off" if cut_off else "ends"
        what = f"the file {how} after {tally.seen:,} words{expected}"
        tally.enter("truncated", at, what, missing)
    elif announced < tally.seen:
        tally.note(f"line 1: announces {announced:,} words, and there are {tally.seen:,}")
