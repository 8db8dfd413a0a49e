"""The small types that cross module borders, and the array aliases.

Shapes are written in the docstrings: ``n_words`` rows of ``dim`` numbers make a matrix,
``n_tokens`` row ids make a batch of ``n_sentences`` sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from pmeans.mapped import MappedFields

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

Progress = Callable[[float, str], None]
"""Called with the finished share, between 0 and 1, and a few words."""

Power = float | tuple[float, ...]
"""One exponent for all columns of a power mean, or one for each of them, (dim,)."""

Root = Literal["signed", "principal", "shifted"]
Scope = Literal["none", "train", "all", "per_language"]
Tokenizer = Literal["whitespace", "words"]


@dataclass(frozen=True)
class PhraseTable(MappedFields):
    """The way from two or three words of a text to their common row.

    Attributes:
        slots: Open-addressing hash table over the phrases, (n_slots, 2) uint64.
        marks: What phrases begin with, (2**k,) uint64; `pmeans.kernels.index` says how.
    """

    slots: npt.NDArray[np.uint64]
    marks: npt.NDArray[np.uint64]


@dataclass(frozen=True)
class WordTable(MappedFields):
    """The words of one language in one space, and the way from a word to its row.

    Attributes:
        words: UTF-8 bytes of all words, one after the other, (n_bytes,).
        offsets: Word i is ``words[offsets[i]:offsets[i + 1]]``, (n_words + 1,).
        slots: Open-addressing hash table over the words, (n_slots, 2) uint64;
            `pmeans.kernels.index` says how a slot is made.
        start: Row of the first word in the space's matrix.
        phrases: The way to entries of several words; None if text is looked up word by word.
    """

    words: Bytes
    offsets: Ints
    slots: npt.NDArray[np.uint64]
    start: int = 0
    phrases: PhraseTable | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> str:
        """Return word i, counted within this language."""
        return bytes(self.words[self.offsets[i] : self.offsets[i + 1]]).decode("utf-8", "replace")


@dataclass(frozen=True)
class TokenBatch:
    """Ragged row ids: ``ids[offsets[i]:offsets[i + 1]]`` are the known words of sentence i.

    Attributes:
        ids: Matrix rows, (n_tokens,) int32. An id of ``n_words + k`` is row k of the vectors
            composed from the subwords of ``unknown_words``. A phrase is one id.
        offsets: Sentence borders, (n_sentences + 1,) int64.
        unknown: How many words of each sentence were dropped, (n_sentences,) int32.
        unknown_words: Distinct unknown words in order of appearance, if they were asked for.
        joined: How many more words than ids each sentence has for its phrases, (n_sentences,)
            int32; None if phrases were not looked for.
    """

    ids: Ids
    offsets: Ints
    unknown: Ids
    unknown_words: tuple[str, ...] = field(default=())
    joined: Ids | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def known(self) -> Ints:
        """Number of words with a vector in each sentence, (n_sentences,); a phrase is several."""
        n_ids: Ints = np.diff(self.offsets)
        return n_ids if self.joined is None else n_ids + self.joined


class Encoder(Protocol):
    """Anything that turns text into rows of one space."""

    @property
    def name(self) -> str:
        """A name for result rows and tables."""

    @property
    def dim(self) -> int:
        """Number of columns of every encoded row."""

    def encode(self, sentences: Iterable[str], /, *, lang: str | None = None) -> Floats:
        """Return one row a sentence, (n_sentences, dim) float32."""
