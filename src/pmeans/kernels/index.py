"""How a word finds its row: a hash table that lies ready in the mapped file.

The table is laid out once, when a space is made, and never changes, so it needs no builder
in the native core: NumPy makes it, and both cores only look words up.

- **hash**: 64 bits over the UTF-8 bytes, eight at a time, little-endian, the last block
  filled with zeros (`hash_words`; `native/lookup.hpp` has the same five lines).
- **home**: the hash's top ``bits`` bits, where ``2**bits`` is at least twice the words.
- **slot**: two numbers. The first is the word's first eight bytes. The second is ``low 24 bits
  of the hash << 40 | min(length, 255) << 32 | word number``; all ones is empty. A word of up to
  eight bytes, as most running words are, is recognised without a look at its spelling.
- Words lie in the order of their homes, each at its home or the next free slot after it.
  Nothing wraps around: the slots run past ``2**bits`` instead and end with an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pmeans.types import Bytes, Case, Ints, WordTable

EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_FIRST = np.uint64(0x9E37_79B9_7F4A_7C15)
_FACTOR = np.uint64(0xD6E8_FEB8_6659_FD93)
_SHIFT = np.uint64(32)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def hash_words(words: Bytes, offsets: Ints) -> npt.NDArray[np.uint64]:
    """Return the 64-bit hash of every word, (n_words,)."""
    eights, starts, lengths = _eights(words), offsets[:-1], np.diff(offsets)
    h = lengths.astype(np.uint64) * _FIRST
    for first in range(0, int(lengths.max(initial=0)), 8):
        active = np.flatnonzero(lengths > first)
        mixed = (h[active] ^ _block(eights, starts[active], lengths[active], first)) * _FACTOR
        h[active] = mixed ^ (mixed >> _SHIFT)
    return h * _FACTOR


def _eights(words: Bytes) -> npt.NDArray[np.uint64]:
    """Return the eight bytes from every byte on as one number, (n_bytes + 1,); a view."""
    padded = np.concatenate([words, np.zeros(8, dtype=np.uint8)])
    return np.ndarray((len(words) + 1,), dtype="<u8", buffer=padded.data, strides=(1,))


def _block(
    eights: npt.NDArray[np.uint64], starts: Ints, lengths: Ints, first: int
) -> npt.NDArray[np.uint64]:
    """Return eight bytes of every word, from its byte ``first`` on, filled up with zeros."""
    return eights[starts + first] & _MASKS[np.minimum(lengths - first, 8)]


def word_table(words: list[str] | list[bytes], start: int = 0) -> WordTable:
    """Make the table of one language's words, in row order; they must be distinct."""
    encoded = [word if isinstance(word, bytes) else word.encode("utf-8") for word in words]
    return table_of(*joined(encoded), start)


def table_of(words: Bytes, offsets: Ints, start: int = 0) -> WordTable:
    """Make the table of words that are bytes already: (n_bytes,) and (n_words + 1,)."""
    n = len(offsets) - 1
    bits = max(3, (2 * n - 1).bit_length())
    hashes = hash_words(words, offsets)
    homes = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = np.argsort(homes, kind="stable")
    rank = np.arange(n)
    places = rank + np.maximum.accumulate(homes[order] - rank)
    size = max(1 << bits, int(places[-1]) + 1 if n else 0) + 1
    slots = np.full((size, 2), EMPTY, dtype=np.uint64)
    slots[places, 0] = _block(_eights(words), offsets[order], np.diff(offsets)[order], 0)
    slots[places, 1] = _seconds(hashes, np.diff(offsets))[order] | order.astype(np.uint64)
    return WordTable(words, offsets, slots, start)


def _seconds(hashes: npt.NDArray[np.uint64], lengths: Ints) -> npt.NDArray[np.uint64]:
    """Return the second number of every slot, without the word number."""
    return (hashes << np.uint64(40)) | (np.minimum(lengths, 255).astype(np.uint64) << _SHIFT)


def find(table: WordTable, words: Sequence[str]) -> Ints:
    """Return each word's number within the table, or -1: the native core's loop in NumPy."""
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    together, offsets = joined(spelled)
    lengths = np.diff(offsets)
    hashes = hash_words(together, offsets)
    seconds = _seconds(hashes, lengths)
    found = np.full(len(words), -1, dtype=np.int64)
    bits = len(table.slots).bit_length() - 1
    places = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    active = np.arange(len(words))
    while len(active):
        active = active[places[active] < len(table.slots)]
        slots = table.slots[places[active], 1]
        numbers = slots & np.uint64(0xFFFF_FFFF)
        alike = (slots - numbers == seconds[active]) & (numbers < len(table))
        for i, number in zip(active[alike].tolist(), numbers[alike].tolist(), strict=True):
            begin, end = table.offsets[number : number + 2]
            if bytes(table.words[begin:end]) == spelled[i]:
                found[i] = number
        active = active[(slots != EMPTY) & (found[active] < 0)]
        places[active] += 1
    return found


def find_rows(table: WordTable, words: Sequence[str], case: Case) -> Ints:
    """Return each word's row in the space's matrix, or -1, with the space's treatment of case."""
    lowered = [word.lower() for word in words] if case != "cased" else words
    found = find(table, lowered if case == "lower" else words)
    if case == "cased-then-lower":
        found = np.where(found >= 0, found, find(table, lowered))
    return np.where(found >= 0, found + table.start, -1)


def joined(words: list[bytes]) -> tuple[Bytes, Ints]:
    """Return all words one after the other, (n_bytes,), and their borders, (n_words + 1,)."""
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.frombuffer(b"".join(words), dtype=np.uint8), offsets


def repeated(words: Bytes, offsets: Ints) -> npt.NDArray[np.bool_]:
    """Mark every word that stands earlier in the list too, (n_words,)."""
    hashes = hash_words(words, offsets)
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    marks = np.zeros(len(hashes), dtype=np.bool_)
    # Only words with equal hashes can be equal; the few that share one by chance are told
    # apart by their bytes.
    suspects = np.union1d(order[1:][same], order[:-1][same])
    seen: set[bytes] = set()
    for i in suspects.tolist():
        word = bytes(words[offsets[i] : offsets[i + 1]])
        marks[i] = word in seen
        seen.add(word)
    return marks
