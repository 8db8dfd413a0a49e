"""fastText's binary models, ``.bin``, version 12.

All numbers are little-endian, one after the other:

- int32 magic 793712314, int32 version;
- twelve int32 arguments (dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn,
  maxn, lrUpdateRate) and a double;
- int32 entries, words, labels; int64 tokens, size of the pruning table (-1: not pruned);
- for each entry its bytes and a zero byte, int64 count, int8 type (0 word, 1 label);
- one byte: is the input matrix quantised; int64 rows, int64 columns, float32 values.

Rows are the words, then one for each n-gram bucket. What follows, the output matrix, is for
training alone. The vector of a word is the mean of its row and its n-grams' rows; the n-gram
rows stay with the space, so that unknown words have vectors too. Bit for bit that is what fastText
answers: rows are added in its order, in float32.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pmeans.errors import FormatError
from pmeans.kernels import LONGEST_NGRAM
from pmeans.spaces.readers.entries import Entries, Tally, make_space, nonfinite_rows, usable
from pmeans.spaces.space import Subwords, WordSpace
from pmeans.spaces.store import LARGEST_DIM
from pmeans.streams import Stream, open_stream
from pmeans.types import Bytes, Floats, Ints

MAGIC = (793712314).to_bytes(4, "little")
_VERSION = 12
_LONGEST_WORD = 1 << 16
_AT_ONCE = 2048  # words; a large model has tens of millions of n-grams in its words
_END_OF_SENTENCE = b"</s>"
_QUANTISED = (
    "a quantised or pruned fastText model (.ftz) has lost the vectors themselves. "
    "Read the .bin or .vec that it was made from."
)


@dataclass(frozen=True)
class Model:
    """What comes before the matrix.

    Attributes:
        dim: Columns of the matrix.
        n_buckets: Rows after those of the words.
        minn: Characters of the shortest n-gram.
        maxn: Of the longest; 0 if there are none.
        words: In the order of their rows.
        n_labels: Entries that are no words.
        model: What was trained: 1 cbow, 2 skipgram, 3 supervised, and 4 in Sent2Vec's program.
        word_ngrams: Words of the longest n-gram of words.
    """

    dim: int
    n_buckets: int
    minn: int
    maxn: int
    words: list[bytes]
    n_labels: int
    model: int
    word_ngrams: int


def read_fasttext_binary(tally: Tally, name: str, lang: str, limit: int) -> WordSpace:
    """Read a fastText model with its subwords.

    A model that is cut short is always refused: the n-gram rows, at its end, are part of every
    vector. So is a quantised one (``.ftz``). Labels of a supervised model are no words.
    """
    with open_stream(tally.path) as stream:
        source = Source(stream, tally.path)
        model = read_model(source)
        n_words = len(model.words)
        words = model.words[:limit]
        matrix = source.floats(len(words), model.dim)
        source.skip((n_words - len(words)) * 4 * model.dim)
        subwords = None
        if model.n_buckets and 0 < model.maxn >= model.minn:
            ngrams = source.floats(model.n_buckets, model.dim)
            for row in nonfinite_rows(ngrams):
                raise FormatError(
                    f"{tally.path}: n-gram row {row} is nan or infinite, and every unknown word "
                    "could be made of it. Read the model's .vec file instead."
                )
            compose_known(words, matrix, ngrams, model.minn, model.maxn)
            subwords = Subwords(ngrams, model.minn, model.maxn)
    tally.counts["not_words"] = model.n_labels
    tally.seen = len(words) + model.n_labels
    return make_space(usable(Entries.of(words, matrix), tally), tally, name, lang, subwords)


class Source:
    """A stream that must not end."""

    def __init__(self, stream: Stream, path: Path) -> None:
        self.path = path
        self._stream = stream

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Read numbers, as `struct` lays them out."""
        data = self._stream.read(struct.calcsize(layout))
        if len(data) < struct.calcsize(layout):
            raise self.cut_short()
        return struct.unpack(layout, data)

    def string(self) -> bytes:
        """Read up to a zero byte."""
        data = self._stream.read_until(b"\0", _LONGEST_WORD)
        if data is None:
            raise self.cut_short()
        return data

    def floats(self, n: int, dim: int) -> Floats:
        """Read n rows, (n, dim). Memory that is announced but not filled is never touched."""
        try:
            matrix = np.empty((n, dim), dtype="<f4")
        except (MemoryError, ValueError) as error:
            raise FormatError(
                f"{self.path}: {n:,} rows of {dim} do not fit into memory."
            ) from error
        if self._stream.readinto(matrix.reshape(-1).view(np.uint8).data) < matrix.nbytes:
            raise self.cut_short()
        return matrix.astype(np.float32, copy=False)

    def skip(self, n: int) -> None:
        """Leave out n bytes."""
        if self._stream.skip(n) < n:
            raise self.cut_short()

    def cut_short(self) -> FormatError:
        """Return the error of a stream that ended."""
        damage = f" ({self._stream.damage})" if self._stream.damage else ""
        return FormatError(f"{self.path}: the fastText model is cut short or damaged{damage}.")

    def damaged(self, what: str) -> FormatError:
        """Return the error of numbers that cannot be."""
        return FormatError(f"{self.path}: damaged fastText model: {what}.")


def read_model(source: Source) -> Model:
    """Read what comes before the matrix's values."""
    magic, version = source.numbers("<ii")
    if magic.to_bytes(4, "little", signed=True) != MAGIC:
        raise FormatError(f"{source.path}: not a fastText model; a .vec file is read as text.")
    if version != _VERSION:
        raise FormatError(
            f"{source.path}: fastText model version {version}; only {_VERSION} is read. "
            "Save its vectors as .vec with fastText, and read these."
        )
    dim, _, _, _, _, word_ngrams, _, model, n_buckets, minn, maxn, _ = source.numbers("<12i")
    source.numbers("<d")
    n_entries, n_words, n_labels, _, n_pruned = source.numbers("<3i2q")
    if not 1 <= dim <= LARGEST_DIM or n_buckets < 0:
        raise source.damaged(f"{dim} dimensions, {n_buckets} n-gram buckets")
    if n_buckets and maxn > LONGEST_NGRAM:
        raise source.damaged(f"n-grams of {minn} to {maxn} characters")
    if min(n_words, n_labels) < 0 or n_entries != n_words + n_labels:
        raise source.damaged(f"{n_entries} entries of {n_words} words and {n_labels} labels")
    if n_pruned >= 0:
        raise FormatError(f"{source.path}: {_QUANTISED}")
    words = []
    for i in range(n_entries):
        word = source.string()
        _, kind = source.numbers("<qb")
        if kind != int(i >= n_words):
            raise source.damaged(f"entry {i} is of type {kind}")
        if i < n_words:
            words.append(word)
    if source.numbers("<b")[0]:
        raise FormatError(f"{source.path}: {_QUANTISED}")
    n_rows, n_columns = source.numbers("<qq")
    if (n_rows, n_columns) != (n_words + n_buckets, dim):
        raise source.damaged(
            f"a matrix of {n_rows} x {n_columns}, not {n_words + n_buckets} x {dim}"
        )
    return Model(dim, n_buckets, max(0, minn), maxn, words, n_labels, model, word_ngrams)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is reported as such
def compose_known(words: list[bytes], rows: Floats, ngrams: Floats, minn: int, maxn: int) -> None:
    """Replace the words' rows, (n_words, dim), by their vectors; n-grams are (n_buckets, dim)."""
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
    the continuation bytes after it.
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
    parts: list[tuple[Ints, Ints, Ints]] = []
    at = starts
    while len(at):  # every n-gram that is still growing takes one more byte
        hashes = (hashes ^ signed[at]) * np.uint32(16777619)
        size = n_before[at] - n_before[starts] + 1
        single_end = (size == 1) & (
            (starts == ends[owner] - lengths[owner]) | (at + 1 == ends[owner])
        )
        whole = is_start[at + 1] & (size >= minn) & ~single_end
        parts.append((starts[whole], owner[whole], hashes[whole].astype(np.int64) % n_buckets))
        at = at + 1
        growing = (at < ends[owner]) & (
            n_before[np.minimum(at, len(framed))] - n_before[starts] < maxn
        )
        starts, owner, hashes, at = starts[growing], owner[growing], hashes[growing], at[growing]
    all_starts, owners, buckets = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(all_starts, kind="stable")  # within a start, shorter n-grams came first
    borders = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(words)))])
    return buckets[order], borders
