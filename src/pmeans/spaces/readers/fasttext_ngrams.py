"""Vectors of fastText's own words: the mean of the word's row and the rows of its n-grams.

Bit for bit what fastText answers: the rows are added in its order, in float32. Thousands of
words are worked on at once, since a large model has tens of millions of n-grams in its words.
`pmeans.kernels.compose` does the same for unknown words, which have no row of their own.
"""

from __future__ import annotations

import numpy as np

from pmeans.types import Bytes, Floats, Ints

_AT_ONCE = 2048
_END_OF_SENTENCE = b"</s>"


@np.errstate(over="ignore", invalid="ignore")  # what overflows is reported as such
def compose_known(words: list[bytes], rows: Floats, ngrams: Floats, minn: int, maxn: int) -> None:
    """Replace the words' rows by the words' vectors.

    Args:
        words: The words as fastText's dictionary has them.
        rows: Their own rows, (n_words, dim); overwritten.
        ngrams: One row a hash bucket, (n_buckets, dim).
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
    """
    for begin in range(0, len(words), _AT_ONCE):
        some = words[begin : begin + _AT_ONCE]
        buckets, borders = ngram_buckets(some, len(ngrams), minn, maxn)
        counts = np.diff(borders)
        vectors = rows[begin : begin + _AT_ONCE]
        for k in range(int(counts.max(initial=0))):
            which = np.flatnonzero(counts > k)
            vectors[which] += ngrams[buckets[borders[which] + k]]
        # fastText multiplies by the reciprocal; a division differs in the last bit.
        vectors *= (1.0 / (1 + counts)).astype(np.float32)[:, None]


def ngram_buckets(words: list[bytes], n_buckets: int, minn: int, maxn: int) -> tuple[Ints, Ints]:
    """Return the n-gram rows of all words in fastText's order, and where each word's begin.

    The sentence end ``</s>`` has no n-grams. Words need not be UTF-8: a character is a byte and
    the continuation bytes behind it.
    """
    framed: Bytes = np.frombuffer(b"".join(b"<%s>" % word for word in words), dtype=np.uint8)
    lengths = np.fromiter((len(word) + 2 for word in words), dtype=np.int64, count=len(words))
    ends = np.cumsum(lengths)
    is_start = np.append(framed & 0xC0 != 0x80, True)
    n_before = np.cumsum(is_start)  # characters up to and with the one a byte belongs to
    starts = np.flatnonzero(is_start[:-1])
    owner = np.repeat(np.arange(len(words)), lengths)[starts]
    has_ngrams = np.array([word != _END_OF_SENTENCE for word in words], dtype=np.bool_)
    starts, owner = starts[has_ngrams[owner]], owner[has_ngrams[owner]]
    # FNV-1a over *signed* bytes, as fastText has it: bytes above 127 extend their sign.
    signed = framed.view(np.int8).astype(np.int32).view(np.uint32)
    hashes = np.full(len(starts), 2166136261, dtype=np.uint32)
    found: list[tuple[Ints, Ints, Ints]] = []
    at = starts
    while len(at):  # every n-gram that is still growing takes one more byte
        hashes = (hashes ^ signed[at]) * np.uint32(16777619)
        size = n_before[at] - n_before[starts] + 1
        single_end = (size == 1) & (
            (starts == ends[owner] - lengths[owner]) | (at + 1 == ends[owner])
        )
        whole = is_start[at + 1] & (size >= minn) & ~single_end
        found.append((starts[whole], owner[whole], hashes[whole].astype(np.int64) % n_buckets))
        at = at + 1
        growing = (at < ends[owner]) & (
            n_before[np.minimum(at, len(framed))] - n_before[starts] < maxn
        )
        starts, owner, hashes, at = starts[growing], owner[growing], hashes[growing], at[growing]
    all_starts, owners, buckets = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(all_starts, kind="stable")  # within a start, shorter n-grams came first
    borders = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(words)))])
    return buckets[order], borders
