"""gensim: its `KeyedVectors` become a word space, and the words of a space `KeyedVectors`.

Words and numbers are the same on both sides, bit for bit. `KeyedVectors` know one list of words: no
language, no case, and phrases with ``_`` between their words, as word2vec has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pmeans.errors import InputError, shown
from pmeans.files import optional
from pmeans.spaces.export import underscored
from pmeans.spaces.readers.entries import STRICT, Entries, Tally, make_space, usable
from pmeans.spaces.space import Subwords, WordSpace

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


def from_keyed_vectors(vectors: KeyedVectors, name: str, *, lang: str = "en") -> WordSpace:
    """Return a word space with the words and vectors of `KeyedVectors`, (n_words, dim).

    `FastTextKeyedVectors` bring their n-grams, so that unknown words get a vector. How words are
    looked up (case) is found from their spelling, as `pmeans.read_space` does. The space has the
    very memory of float32 vectors: changing them changes the space.

    Args:
        vectors: ``model.wv``, or what ``gensim.models.KeyedVectors.load`` returned.
        name: What recipes will call the space.
        lang: Language of the words; ``"mul"`` if they are of several.
    """
    keys = getattr(vectors, "index_to_key", None)
    if keys is None:
        hint = ": give its attribute wv" if hasattr(vectors, "wv") else ""
        raise InputError(f"expected KeyedVectors, got {type(vectors).__name__}{hint}.")
    for key in keys:
        if not isinstance(key, str):
            raise InputError(f"expected words as keys of KeyedVectors, got {shown(key, 40)}.")
    words = [word.encode("utf-8", "surrogatepass") for word in keys]
    matrix = np.ascontiguousarray(vectors.vectors, dtype=_dtype(vectors.vectors))
    tally = Tally(name, STRICT, "word")
    entries = usable(Entries.of(words, matrix), tally)
    return make_space(entries, tally, name, lang, _subwords(vectors))


def to_keyed_vectors(space: WordSpace, lang: str | None = None) -> KeyedVectors:
    """Return `KeyedVectors` with the words of a space and their vectors, (n_words, dim) float32.

    What composes unknown words of subwords is not kept.

    Args:
        space: The word space.
        lang: The language whose words are taken. None takes all; if there are several languages,
            each word is followed by its own, as in ``dog_en``.
    """
    gensim = optional("gensim.models", "gensim", "pmeans.integrations.gensim")
    space = underscored(space)
    tables = space.tables if lang is None else {lang: space.table(lang)}
    words: list[str] = []
    for code, table in tables.items():
        suffix = f"_{code}" if len(tables) > 1 else ""
        words += [table[i] + suffix for i in range(len(table))]
    first = min(table.start for table in tables.values())
    vectors = gensim.models.KeyedVectors(space.dim, dtype=np.float32)
    vectors.add_vectors(words, space.rows(slice(first, first + len(words))))
    return vectors


def _dtype(matrix: Any) -> type[np.floating[Any]]:
    return np.float16 if matrix.dtype == np.float16 else np.float32


def _subwords(vectors: Any) -> Subwords | None:
    """Return the n-grams of `FastTextKeyedVectors`, if they have any."""
    ngrams = getattr(vectors, "vectors_ngrams", None)
    if ngrams is None or not len(ngrams) or vectors.max_n < max(1, vectors.min_n):
        return None
    if not np.isfinite(ngrams).all():
        raise InputError("an n-gram is nan or infinite, and any word could be made of it.")
    return Subwords(
        np.ascontiguousarray(ngrams, dtype=_dtype(ngrams)), vectors.min_n, vectors.max_n
    )
