"""Sent2Vec (Pagliardini, Gupta and Jaggi, 2018): the mean of words and of pairs of words.

A sentence is the mean of the vectors of its known words, and of its known bigrams: two known words
in a row, those left out that are unknown. Words are those of the inner encoder's space. Bigrams are
looked up in one of two ways::

    kept      the bigrams that training kept, sorted by row of the first word * n_words + row of
              the second; others have no vector
    hashed    as the authors' program does: with the words' numbers a and b in its file,
              (a * 116049371 + b) mod 2^64 mod n_buckets; every bigram has a vector, perhaps a
              shared one

`pmeans_lab.baselines.sent2vec.trainer` trains the first, and reads the second from the authors'
files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args

import numpy as np

from pmeans import kernels
from pmeans.choices import Precision
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.errors import FormatError
from pmeans.kernels import coded
from pmeans.languages.tokenizers import splitting
from pmeans.models.baselines import MeanBaseline, Parts, array
from pmeans.spaces.space import WordSpace
from pmeans.tensors import precision_of
from pmeans.types import Array, Floats, Ids, Ints, TokenBatch

_FACTOR = np.uint64(116049371)


class Sent2Vec(MeanBaseline):
    """Means of words and bigrams."""

    kind: ClassVar[str] = "sent2vec"

    def __init__(self, name: str, encoder: PowerMeanEncoder, bigrams: Mapping[str, Array]) -> None:
        """Join words with bigrams.

        Args:
            name: For people.
            encoder: The plain mean of one space, without phrases and n-grams (`plain_mean`).
            bigrams: Their ``vectors``, (n_bigrams, dim) float32, float16, or int8 or int4 with a
                ``scale``, (n_bigrams,). And how they are found: ``keys`` (n_bigrams,) int64,
                ascending, where they are kept; ``numbers`` (n_words,) int64, of the words in the
                authors' file, where they are hashed.
        """
        super().__init__(name, encoder)
        self._bigrams = _checked(bigrams, self.space)

    def arrays(self) -> dict[str, Array]:
        """Return the bigrams."""
        return dict(self._bigrams)

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Join the stored parts."""
        return cls(name, parts.encoder(), parts.arrays)

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings of one language into rows, (n, dim) float32."""
        space, how = self.space, splitting(self.encoder.recipe.tokenizer, lang)
        (words,) = kernels.lookup(texts, [(space.table(lang), space.case, -1)], how, n_threads)
        pairs = self.pairs(words)
        rest: dict[str, Any] = {"n_threads": n_threads}
        rows = kernels.power_means(space.matrix, words, [1.0], scale=space.scale, **rest)
        vectors, scale = self._bigrams["vectors"], self._bigrams.get("scale")
        more = kernels.power_means(vectors, pairs, [1.0], scale=scale, **rest)
        n_words, n_pairs = np.diff(words.offsets), np.diff(pairs.offsets)
        n = np.maximum(n_words + n_pairs, 1)
        rows *= (n_words / n).astype(np.float32)[:, None]
        more *= (n_pairs / n).astype(np.float32)[:, None]
        rows += more
        return rows

    def pairs(self, words: TokenBatch) -> TokenBatch:
        """Return the rows of the bigrams of each sentence of words."""
        owner = np.repeat(np.arange(len(words)), np.diff(words.offsets))
        inside = owner[1:] == owner[:-1]
        first, second = words.ids[:-1][inside], words.ids[1:][inside]
        owner = owner[1:][inside]
        n = len(self._bigrams["vectors"])
        if "numbers" in self._bigrams:
            rows = hashed(self._bigrams["numbers"][first], self._bigrams["numbers"][second], n)
        else:
            rows = kept(self._bigrams["keys"], first, second, len(self.space))
            owner, rows = owner[rows >= 0], rows[rows >= 0]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(words)))])
        return TokenBatch(rows.astype(np.int32), offsets, np.zeros(len(words), dtype=np.int32))


def kept(keys: Ints, first: Ids, second: Ids, n_words: int) -> Ints:
    """Return the rows of bigrams by their two words' rows, (n,); -1 where one has none."""
    wanted = first.astype(np.int64) * n_words + second
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[rows] == wanted, rows, -1)


def hashed(first: Ints, second: Ints, n_buckets: int) -> Ints:
    """Return the rows of bigrams by their two words' numbers in the authors' file, (n,)."""
    with np.errstate(over="ignore"):  # modulo 2^64 is meant
        found = first.astype(np.uint64) * _FACTOR + second.astype(np.uint64)
    return (found % np.uint64(max(n_buckets, 1))).astype(np.int64)


def _checked(bigrams: Mapping[str, Array], space: WordSpace) -> dict[str, Array]:
    vectors = array(bigrams, "vectors", (None, None), "fiu")
    if precision_of(vectors) not in get_args(Precision):
        raise FormatError(
            f"the array 'vectors' is of {vectors.dtype}; take float32, float16, int8 or int4."
        )
    n, dim = len(vectors), coded.n_columns(vectors)
    if dim != space.dim:
        raise FormatError(f"the array 'vectors' is ({n}, {dim}), expected (any, {space.dim}).")
    found = {"vectors": vectors}
    if vectors.dtype.itemsize == 1:
        found["scale"] = array(bigrams, "scale", (n,))
    if "numbers" in bigrams:
        found["numbers"] = array(bigrams, "numbers", (len(space),), "i")
        if not n or found["numbers"].min(initial=0) < 0:
            raise FormatError("hashed bigrams need vectors, and numbers of words from 0 on.")
        return found
    keys = found["keys"] = array(bigrams, "keys", (n,), "i")
    if n and not (keys[0] >= 0 and keys[-1] < len(space) ** 2 and (np.diff(keys) > 0).all()):
        raise FormatError("the array 'keys' must ascend, and number pairs of words.")
    return found
