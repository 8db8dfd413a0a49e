"""A word space: one matrix of word vectors, and the words of each language in it.

Rows lie language by language. The matrix is float32, or float16 or int8 to save memory, and is
usually a view of a mapped file (`pmeans.spaces.store`), so that a space of gigabytes opens at
once and is shared between processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pmeans import kernels
from pmeans.errors import InputError, LanguageError
from pmeans.kernels import index
from pmeans.tensors import decoded
from pmeans.types import Array, Case, Floats, TokenBatch, WordTable

ANY_LANGUAGE = "mul"
"""Language code (ISO 639) of a space whose words are not told apart by language."""


@dataclass(frozen=True)
class Subwords:
    """Vectors of character n-grams, from which unknown words are composed as fastText does.

    Attributes:
        ngrams: One row a hash bucket, (n_buckets, dim) float32, float16 or int8.
        minn: Length of the shortest n-gram, in characters.
        maxn: Length of the longest.
        scale: What an int8 row is multiplied by, (n_buckets,) float32.
    """

    ngrams: Array
    minn: int
    maxn: int
    scale: Floats | None = None

    @cached_property
    def vectors(self) -> Floats:
        """The rows as float32, (n_buckets, dim): decoded once, when first needed, and kept."""
        return decoded(self.ngrams, self.scale)


@dataclass(frozen=True, eq=False)
class WordSpace:
    """Word vectors keyed by (language, word).

    Attributes:
        name: What recipes call the space.
        matrix: (n_words, dim) float32, float16 or int8.
        tables: The words of each language, in row order.
        case: ``"lower"`` looks up the lower-cased word, ``"cased"`` the word as it stands,
            ``"cased-then-lower"`` tries both.
        scale: What an int8 row is multiplied by, (n_words,) float32.
        subwords: How unknown words get a vector, if they do.
        source: Where the vectors come from.
        licence: Under which terms.
    """

    name: str
    matrix: Array
    tables: Mapping[str, WordTable]
    case: Case = "lower"
    scale: Floats | None = None
    subwords: Subwords | None = None
    source: str = ""
    licence: str = ""
    path: str = field(default="", compare=False)

    @classmethod
    def from_words(
        cls,
        name: str,
        words: Mapping[str, Sequence[str]],
        matrix: npt.ArrayLike,
        **rest: object,
    ) -> WordSpace:
        """Make a space from lists of words.

        Args:
            name: What recipes call the space.
            words: The distinct words of each language, in row order.
            matrix: (n_words, dim), the languages' rows one below the other; what is not float16
                or int8 becomes float32.
            rest: Further attributes of `WordSpace`.
        """
        tables: dict[str, WordTable] = {}
        start = 0
        for language, listed in words.items():
            tables[language] = index.word_table(list(listed), start)
            start += len(listed)
        vectors = np.ascontiguousarray(matrix)
        if vectors.dtype not in (np.float16, np.int8):
            vectors = vectors.astype(np.float32, copy=False)
        if vectors.ndim != 2 or start != len(vectors):
            raise InputError(f"{start} words for vectors {vectors.shape} in space {name!r}.")
        if not np.isfinite(vectors).all():
            raise InputError(f"the vectors of space {name!r} hold NaN or infinity.")
        return cls(name, vectors, tables, **rest)  # type: ignore[arg-type]

    def __len__(self) -> int:
        """Return the number of words, over all languages."""
        return len(self.matrix)

    def __repr__(self) -> str:
        languages = ", ".join(f"{lang} {len(table):,}" for lang, table in self.tables.items())
        return f"WordSpace({self.name!r}, {self.dim} d {self.matrix.dtype}, words: {languages})"

    @property
    def dim(self) -> int:
        """Number of columns of a word vector."""
        return int(self.matrix.shape[1])

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages, in row order."""
        return tuple(self.tables)

    def covers(self, lang: str) -> bool:
        """Return whether words of this language can be looked up."""
        return lang in self.tables or ANY_LANGUAGE in self.tables

    def table(self, lang: str) -> WordTable:
        """Return the words of a language, or those of no particular one."""
        found = self.tables.get(lang, self.tables.get(ANY_LANGUAGE))
        if found is None:
            raise LanguageError(
                f"the space {self.name!r} has no language {lang!r}; "
                f"it has {', '.join(map(repr, self.tables))}."
            )
        return found

    def words(self, lang: str) -> Iterator[str]:
        """Iterate over a language's words in row order."""
        table = self.table(lang)
        return (table[i] for i in range(len(table)))

    def row(self, word: str, lang: str) -> int:
        """Return a word's row in the matrix, or -1, with the space's treatment of case."""
        batch = self._one_word(word, lang, -1)
        return int(batch.ids[0]) if len(batch.ids) else -1

    def vector(self, word: str, lang: str) -> Floats | None:
        """Return a word's vector, (dim,) float32, composed from subwords if need be, or None."""
        batch, composed = self.compose(self._one_word(word, lang, self.first_composed))
        if not len(batch.ids):
            return None
        row = int(batch.ids[0])
        return self.rows(slice(row, row + 1))[0] if row < len(self) else composed[0]

    def rows(self, which: slice | Array) -> Floats:
        """Return rows of the matrix as float32, (n, dim)."""
        return decoded(self.matrix, self.scale, which)

    @property
    def first_composed(self) -> int:
        """Id of the first composed row in a batch, or -1 if unknown words are dropped."""
        return len(self) if self.subwords else -1

    def compose(self, batch: TokenBatch) -> tuple[TokenBatch, Floats]:
        """Make vectors for the batch's unknown words, (n_unknown_words, dim).

        Words too short to have an n-gram, or whose vector overflows, are dropped from the batch
        and counted as unknown.
        """
        if self.subwords is None or not batch.unknown_words:
            return batch, np.empty((0, self.dim), dtype=np.float32)
        sub = self.subwords
        vectors, counts = kernels.compose(batch.unknown_words, sub.vectors, sub.minn, sub.maxn)
        made = (counts > 0) & np.isfinite(vectors).all(axis=1)
        if made.all():
            return batch, vectors
        dropped = np.zeros(len(batch.ids), dtype=np.bool_)
        unknown = batch.ids >= len(self)
        dropped[unknown] = ~made[batch.ids[unknown] - len(self)]
        lost = np.concatenate([[0], np.cumsum(dropped)])[batch.offsets]
        return (
            TokenBatch(
                batch.ids[~dropped],
                batch.offsets - lost,
                batch.unknown + np.diff(lost).astype(np.int32),
                batch.unknown_words,
            ),
            vectors,
        )

    def _one_word(self, word: str, lang: str, first_composed: int) -> TokenBatch:
        # Looked up as a whole: a word of GloVe 840B may hold spaces, which would split it.
        table = self.table(lang)
        for spelled in _spellings(word, self.case):
            i = int(index.find(table, [spelled])[0])
            if i >= 0:
                return _single(table.start + i)
        if first_composed < 0:
            return TokenBatch(np.empty(0, np.int32), np.zeros(2, np.int64), np.ones(1, np.int32))
        return _single(first_composed, (next(iter(_spellings(word, self.case))),))


def _spellings(word: str, case: Case) -> tuple[str, ...]:
    return {"lower": (word.lower(),), "cased": (word,)}.get(case, (word, word.lower()))


def _single(row: int, unknown_words: tuple[str, ...] = ()) -> TokenBatch:
    ids = np.array([row], dtype=np.int32)
    return TokenBatch(ids, np.array([0, 1]), np.zeros(1, np.int32), unknown_words)
