"""Models of Sent2Vec's own program, ``.bin``: fastText's format, version 12, with another meaning.

The model number is 4. Rows after those of the words are hash buckets of bigrams, and not of
characters; a word's vector is its row. What `pmeans.spaces.readers.read_space` makes of such a
file are the words alone, without bigrams.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pmeans.errors import FormatError
from pmeans.spaces.readers.entries import STRICT, Entries, Tally, make_space, nonfinite_rows, usable
from pmeans.spaces.readers.fasttext_binary import Source, read_model
from pmeans.spaces.space import WordSpace
from pmeans.streams import open_stream
from pmeans.types import Array

SENT2VEC = 4
_ROWS = 1 << 16


def read_sent2vec_binary(
    path: str | Path, name: str, lang: str, bucket_type: str = "float16"
) -> tuple[WordSpace, Array, Array]:
    """Read words and buckets of bigrams.

    Args:
        path: The file, which may be compressed.
        name: What the space will be called.
        lang: Language of the words.
        bucket_type: How the buckets are kept, ``"float16"`` or ``"float32"``.

    Returns:
        The words; their numbers in the file, (n_words,) int64, as some may be left out; and the
        buckets, (n_buckets, dim), none of a model of single words.
    """
    tally = Tally(path, STRICT, "word")
    with open_stream(path) as stream:
        source = Source(stream, Path(path))
        model = read_model(source)
        if model.model != SENT2VEC:
            raise FormatError(
                f"{path}: a model of fastText (number {model.model}), and not of Sent2Vec. Read it "
                "as a word space: pmeans spaces convert."
            )
        if model.word_ngrams > 2 or (model.word_ngrams < 2 and model.n_buckets):
            raise FormatError(
                f"{path}: a Sent2Vec model with n-grams of up to {model.word_ngrams} words in "
                f"{model.n_buckets:,} buckets; models of single words and of bigrams are read."
            )
        matrix = source.floats(len(model.words), model.dim)
        buckets = np.empty((model.n_buckets, model.dim), dtype=bucket_type)
        for low in range(0, model.n_buckets, _ROWS):
            part = source.floats(min(_ROWS, model.n_buckets - low), model.dim)
            with np.errstate(over="ignore"):  # what overflows is infinite, and refused
                buckets[low : low + len(part)] = part
    for row in nonfinite_rows(buckets):
        raise FormatError(f"{path}: bucket {row} of bigrams is nan, infinite, or above 65504.")
    entries = usable(Entries.of(model.words, matrix), tally)
    space = make_space(entries, tally, name, lang)
    numbers = {word: number for number, word in reversed(list(enumerate(model.words)))}
    found = [numbers[word.encode()] for word in space.words(lang)]
    return space, np.array(found, dtype=np.int64), buckets
