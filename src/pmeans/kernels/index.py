"""How a word finds its row: a hash table that lies ready in the mapped file.

The table is laid out once, when a space is made, and never changes, so it needs no builder
in the native core: NumPy makes it, and both cores only look words up.

- **hash**: 64 bits over the UTF-8 bytes, eight at a time, little-endian, the last block
  filled with zeros (`hash_words`; `native/word_table.hpp` has the same five lines).
- **home**: the hash's top ``bits`` bits, where ``2**bits`` is at least twice the words.
- **slot**: two numbers. The first is the word's first eight bytes. The second is ``low 24 bits
  of the hash << 40 | min(length, 255) << 32 | word number``; all ones is empty. A word of up to
  eight bytes, as most running words are, is recognised without a look at its spelling.
- Words lie in the order of their homes, each at its home or the next free slot after it.
  Nothing wraps around: the slots run past ``2**bits`` instead and end with an empty one.

An entry of two or three words, with a space between them, is a **phrase**, where a table is made to
have them: `find_phrases` is what is made of them. They have slots of their own, laid out in the
same way:

- **hash**: made of the words' hashes, that of the words so far, rotated by one bit, XOR that of the
  next. A slot's first number is the whole of it, and nothing else is compared: that two differ and
  agree in 64 bits will not happen. So other spellings of a phrase have slots with its number
  (`pmeans.kernels.folding.aliases`).
- **marks**: most places of a text begin no phrase, and one number tells it. The hash of every
  phrase, and that of its first two words, have left a mark: bits ``hash`` and ``hash >> 6``, both
  modulo 64, of the number at the hash's top bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from pmeans.choices import Case
from pmeans.kernels.folding import aliases
from pmeans.types import Bytes, Ints, PhraseTable, WordTable

Hashes = npt.NDArray[np.uint64]

LONGEST_PHRASE = 3
"""Words; longer entries are never met in text."""
EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
_SHARED = 8  # a number of `phrases` has the marks of so many hashes, at most
_FIRST = np.uint64(0x9E37_79B9_7F4A_7C15)
_FACTOR = np.uint64(0xD6E8_FEB8_6659_FD93)
_SHIFT = np.uint64(32)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def hash_words(words: Bytes, offsets: Ints) -> Hashes:
    """Return the 64-bit hash of every word, (n_words,)."""
    eights, starts, lengths = _eights(words), offsets[:-1], np.diff(offsets)
    h = lengths.astype(np.uint64) * _FIRST
    for first in range(0, int(lengths.max(initial=0)), 8):
        active = np.flatnonzero(lengths > first)
        mixed = (h[active] ^ _block(eights, starts[active], lengths[active], first)) * _FACTOR
        h[active] = mixed ^ (mixed >> _SHIFT)
    return h * _FACTOR


def _eights(words: Bytes) -> Hashes:
    """Return the eight bytes from every byte on as one number, (n_bytes + 1,); a view."""
    padded = np.concatenate([words, np.zeros(8, dtype=np.uint8)])
    return np.ndarray((len(words) + 1,), dtype="<u8", buffer=padded.data, strides=(1,))


def _block(eights: Hashes, starts: Ints, lengths: Ints, first: int) -> Hashes:
    """Return eight bytes of every word, from its byte ``first`` on, filled up with zeros."""
    return eights[starts + first] & _MASKS[np.minimum(lengths - first, 8)]


def word_table(
    words: list[str] | list[bytes], start: int = 0, *, phrases: bool = False
) -> WordTable:
    """Make the table of one language's words, in row order; they must be distinct."""
    encoded = [word if isinstance(word, bytes) else word.encode("utf-8") for word in words]
    return table_of(*joined(encoded), start, phrases=phrases)


def table_of(
    words: Bytes,
    offsets: Ints,
    start: int = 0,
    *,
    phrases: bool = False,
    spellings: bool = True,
) -> WordTable:
    """Make the table of words that are bytes already: (n_bytes,) and (n_words + 1,).

    With ``phrases``, entries of two or three words are met in text, if there are any, and with
    ``spellings`` also as keyboards without a language's letters write them.
    """
    entries = _phrases(words, offsets) if phrases else {}
    plain = np.delete(np.arange(len(offsets) - 1), list(entries))
    hashes, lengths = hash_words(words, offsets)[plain], np.diff(offsets)
    heads = _block(_eights(words), offsets[plain], lengths[plain], 0)
    slots = _laid_out(hashes, heads, lengths[plain], plain)
    if not entries:
        return WordTable(words, offsets, slots, start)
    others = _phrase_aliases(entries) if spellings else {}
    numbers = np.array([*entries, *others.values()])
    whole, beginnings = _phrase_hashes([*entries.values(), *map(phrase_parts, others)])
    phrase_slots = _laid_out(whole, whole, lengths[numbers], numbers)
    return WordTable(words, offsets, slots, start, PhraseTable(phrase_slots, _marks(beginnings)))


def _laid_out(hashes: Hashes, firsts: Hashes, lengths: Ints, numbers: Ints) -> Hashes:
    """Return slots with the first number, the length and the number of words, by their hashes."""
    n = len(hashes)
    bits = max(3, (2 * n - 1).bit_length())
    homes = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    order = np.argsort(homes, kind="stable")
    rank = np.arange(n)
    places = rank + np.maximum.accumulate(homes[order] - rank)
    size = max(1 << bits, int(places[-1]) + 1 if n else 0) + 1
    slots = np.full((size, 2), EMPTY, dtype=np.uint64)
    slots[places, 0] = firsts[order]
    slots[places, 1] = (_seconds(hashes, lengths) | numbers.astype(np.uint64))[order]
    return slots


def has_spellings(phrases: PhraseTable) -> bool:
    """Return whether a phrase of a table is met in several spellings."""
    seconds = phrases.slots[:, 1]
    numbers = seconds[seconds != EMPTY] & np.uint64(0xFFFF_FFFF)
    return len(np.unique(numbers)) < len(numbers)


def in_one_spelling(table: WordTable) -> bool:
    """Return whether phrases are met in one spelling although they have others: in older files."""
    if table.phrases is None or has_spellings(table.phrases):
        return False
    return bool(_phrase_aliases(_phrases(table.words, table.offsets)))


def phrase_parts(word: bytes, joiner: bytes = b" ") -> list[bytes]:
    """Return the words of a phrase; none of an entry that is not one."""
    parts = word.split(joiner)
    return parts if 1 < len(parts) <= LONGEST_PHRASE and all(parts) else []


def _phrases(words: Bytes, offsets: Ints) -> dict[int, list[bytes]]:
    """Return the number and the words of every entry that is a phrase."""
    places = np.flatnonzero(words == ord(" "))
    spaced = np.unique(np.searchsorted(offsets, places, side="right") - 1).tolist()
    split = ((i, phrase_parts(bytes(words[offsets[i] : offsets[i + 1]]))) for i in spaced)
    return {i: parts for i, parts in split if parts}


def _phrase_aliases(phrases: Mapping[int, list[bytes]]) -> dict[bytes, int]:
    """Return the number of every other spelling of phrases; where several have it, the first."""
    others: dict[bytes, int] = {}
    for number, parts in phrases.items():
        for alias in sorted(aliases(b" ".join(parts).decode("utf-8", "replace"))):
            others.setdefault(alias.encode(), number)
    for parts in phrases.values():
        others.pop(b" ".join(parts), None)
    return {alias: n for alias, n in others.items() if len(phrase_parts(alias)) == len(phrases[n])}


def _phrase_hashes(phrases: list[list[bytes]]) -> tuple[Hashes, Hashes]:
    """Return the hash of every phrase, (n,), and the hashes of what they begin with."""
    hashes = hash_words(*joined([word for phrase in phrases for word in phrase]))
    lengths = np.array([len(phrase) for phrase in phrases], dtype=np.int64)
    first = np.cumsum(lengths) - lengths
    pairs = _followed(hashes[first], hashes[first + 1])
    whole, longer = pairs.copy(), lengths > 2
    whole[longer] = _followed(pairs[longer], hashes[first[longer] + 2])
    return whole, np.unique(np.concatenate([pairs, whole]))


def _followed(hashes: Hashes, following: Hashes) -> Hashes:
    return ((hashes << np.uint64(1)) | (hashes >> np.uint64(63))) ^ following


def _marks(beginnings: Hashes) -> Hashes:
    """Return the marks of what phrases begin with, (2**k,)."""
    marks = np.zeros(1 << max(1, (len(beginnings) // _SHARED).bit_length()), dtype=np.uint64)
    np.bitwise_or.at(marks, *_mark(beginnings, len(marks)))
    return marks


def _mark(hashes: Hashes, size: int) -> tuple[Hashes, Hashes]:
    """Return the place of each hash among ``size`` marks, and the bits that it has there."""
    one, last = np.uint64(1), np.uint64(63)
    bits = (one << (hashes & last)) | (one << (hashes >> np.uint64(6) & last))
    return hashes >> np.uint64(65 - size.bit_length()), bits


def find_phrases(
    table: WordTable, sentences: Sequence[Sequence[str]], case: Case
) -> tuple[Ints, Ints]:
    """Find phrases among consecutive tokens: from left to right, the longest at each place wins.

    Returns:
        For the tokens of all sentences the row of a phrase at its first token, else -1, and how
        many words a token stands for: those of its phrase at the first, 0 at the others, else 1.
        Both are (n_tokens,).
    """
    counts = np.fromiter(map(len, sentences), np.int64, len(sentences))
    ends = np.repeat(np.cumsum(counts), counts)
    rows, lengths = np.full(len(ends), -1), np.ones(len(ends), dtype=np.int64)
    if table.phrases is None:
        return rows, lengths
    slots, marks = table.phrases.slots, table.phrases.marks
    numbers = {t: i for i, t in enumerate(dict.fromkeys(chain.from_iterable(sentences)))}
    running = [numbers[token] for token in chain.from_iterable(sentences)]
    # As in `find_rows`, the spelling of the text comes before the lower-cased one.
    ways: list[Sequence[str]] = [] if case == "lower" else [list(numbers)]
    ways += [] if case == "cased" else [[token.lower() for token in numbers]]
    words = [hash_words(*joined(list(map(_encoded, way))))[running] for way in ways]
    pairs = [_followed(each[:-1], each[1:]) for each in words]
    triples = [_followed(two[:-1], each[2:]) for two, each in zip(pairs, words, strict=True)]
    for n, hashes in [(3, each) for each in triples] + [(2, each) for each in pairs]:
        places, bits = _mark(hashes, len(marks))
        likely = (marks[places] & bits == bits) & (rows[: len(hashes)] < 0)
        where = np.flatnonzero(likely)
        where = where[where + n <= ends[where]]
        rows[where] = _find_phrase(table, slots, hashes[where])
        lengths[where[rows[where] >= 0]] = n
    end = 0
    for i in np.flatnonzero(rows >= 0).tolist():
        if i < end:
            rows[i] = -1
        else:
            end = i + int(lengths[i])
            lengths[i + 1 : end] = 0
    return rows, lengths


def _find_phrase(table: WordTable, slots: Hashes, hashes: Hashes) -> Ints:
    """Return the row of each phrase by its hash, or -1."""
    rows = np.full(len(hashes), -1, dtype=np.int64)
    places = (hashes >> np.uint64(65 - len(slots).bit_length())).astype(np.int64)
    active = np.arange(len(hashes))
    while len(active):
        active = active[places[active] < len(slots)]
        first, second = slots[places[active]].T
        numbers = (second & np.uint64(0xFFFF_FFFF)).astype(np.int64)
        here = (first == hashes[active]) & (second != EMPTY) & (numbers < len(table))
        rows[active[here]] = numbers[here] + table.start
        active = active[(second != EMPTY) & ~here]
        places[active] += 1
    return rows


def _seconds(hashes: Hashes, lengths: Ints) -> Hashes:
    """Return the second number of every slot, without the word number."""
    return (hashes << np.uint64(40)) | (np.minimum(lengths, 255).astype(np.uint64) << _SHIFT)


def find(table: WordTable, words: Sequence[str]) -> Ints:
    """Return each word's number within the table, or -1: the native core's loop in NumPy."""
    spelled = list(map(_encoded, words))
    together, offsets = joined(spelled)
    rows = _find_in(table.slots, hash_words(together, offsets), table, spelled)
    if table.phrases is not None:
        listed = _phrases(together, offsets)
        hashes, _ = _phrase_hashes(list(listed.values()))
        phrases = [spelled[i] for i in listed]
        rows[list(listed)] = _find_in(table.phrases.slots, hashes, table, phrases)
    return rows


def _find_in(slots: Hashes, hashes: Hashes, table: WordTable, spelled: list[bytes]) -> Ints:
    """Return the number of each word by its hash in one table of slots, or -1."""
    seconds = _seconds(hashes, np.fromiter(map(len, spelled), np.int64, len(spelled)))
    rows = np.full(len(spelled), -1, dtype=np.int64)
    bits = len(slots).bit_length() - 1
    places = (hashes >> np.uint64(64 - bits)).astype(np.int64)
    active = np.arange(len(spelled))
    while len(active):
        active = active[places[active] < len(slots)]
        slot = slots[places[active], 1]
        numbers = slot & np.uint64(0xFFFF_FFFF)
        alike = (slot - numbers == seconds[active]) & (numbers < len(table))
        for i, number in zip(active[alike].tolist(), numbers[alike].tolist(), strict=True):
            begin, end = table.offsets[number : number + 2]
            if bytes(table.words[begin:end]) == spelled[i]:
                rows[i] = number
        active = active[(slot != EMPTY) & (rows[active] < 0)]
        places[active] += 1
    return rows


def find_rows(table: WordTable, words: Sequence[str], case: Case) -> Ints:
    """Return each word's row in the space's matrix, or -1, with the space's treatment of case."""
    lowered = [word.lower() for word in words] if case != "cased" else words
    rows = find(table, lowered if case == "lower" else words)
    if case == "cased-then-lower":
        rows = np.where(rows >= 0, rows, find(table, lowered))
    return np.where(rows >= 0, rows + table.start, -1)


def _encoded(word: str) -> bytes:
    return word.encode("utf-8", "surrogatepass")


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


def alias_rows(table: WordTable) -> dict[str, int]:
    """Return the row of each alias of a table's words; a word of the table is never one.

    Where several words have an alias, it is the first one's.
    """
    text, offsets = bytes(table.words), table.offsets.tolist()
    letters = np.concatenate([[0], np.cumsum(table.words > 127)])[table.offsets]
    rows: dict[str, int] = {}
    for i in np.flatnonzero(np.diff(letters)).tolist():
        for alias in aliases(text[offsets[i] : offsets[i + 1]].decode("utf-8", "replace")):
            rows.setdefault(alias, table.start + i)
    spelled = list(rows)
    for i in np.flatnonzero(find(table, spelled) >= 0).tolist():
        del rows[spelled[i]]
    return rows
