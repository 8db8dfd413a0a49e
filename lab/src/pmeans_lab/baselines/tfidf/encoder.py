"""TF-IDF: a bag of words as a row, for those who doubt that vectors of words are needed.

The columns are the commonest words of the training text, as many as are asked for; other words are
lost. A number is how often the word occurs in the sentence times ln((1 + n) / (1 + df)) + 1, for n
training sentences of which df have the word, and rows have length 1: as scikit-learn's
TfidfVectorizer has it by default. Rows are dense, because classifiers here take dense ones.

The words are those of one language. Of a sentence in another it knows names, numbers and what
happens to be spelled alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self, cast, get_args

import numpy as np

from pmeans import kernels
from pmeans.encoder.postprocess import normalise_rows
from pmeans.errors import FormatError, InputError, NotFittedError
from pmeans.kernels import index
from pmeans.languages.tokenizers import splitting, tokenize
from pmeans.models.baselines import Baseline, Parts, Settings, array
from pmeans.types import Array, Floats, Tokenizer

COLUMNS = 3600
"""Those of the paper's largest encoder."""


class Tfidf(Baseline):
    """A weighted bag of words."""

    kind = "tfidf"

    def __init__(
        self,
        name: str,
        dim: int = COLUMNS,
        tokenizer: Tokenizer = "words",
        words: Sequence[str] = (),
        idf: Floats | None = None,
    ) -> None:
        """Make an encoder that `fit` finds the words of.

        Args:
            name: For people.
            dim: How many words it has at most; columns beyond the last word are zero.
            tokenizer: As in a recipe; words are lower-cased.
            words: Of the first columns.
            idf: What they weigh, (n_words,).
        """
        if not 1 <= dim < 2**31:
            raise InputError(f"tfidf needs at least one column and less than 2^31, not {dim}.")
        self.name, self.dim, self.tokenizer = name, dim, tokenizer
        self.words, self.idf = tuple(words), idf
        self._table = index.word_table(list(words), 0)

    @property
    def needs_fit(self) -> bool:
        """Whether it has no words yet."""
        return self.idf is None

    def settings(self) -> Settings:
        """Return the number of columns, and how text is split."""
        return {"dim": self.dim, "tokenizer": self.tokenizer}

    def arrays(self) -> dict[str, Array]:
        """Return the words, as UTF-8 with a line feed after each, and what they weigh."""
        if self.idf is None:
            return {}
        spelled = "".join(f"{word}\n" for word in self.words).encode()
        return {"words": np.frombuffer(spelled, dtype=np.uint8), "idf": self.idf}

    @classmethod
    def restored(cls, name: str, parts: Parts) -> Self:
        """Make the encoder of stored parts."""
        dim, tokenizer = (
            parts.setting("dim", int),
            parts.setting("tokenizer", str),
        )
        if tokenizer not in get_args(Tokenizer):
            raise FormatError(f"the settings {dict(parts.settings)!r} are not those of a tfidf.")
        how = cast(Tokenizer, tokenizer)
        if not parts.arrays:
            return cls(name, dim, how)
        try:
            words = array(parts.arrays, "words", (None,), "u").tobytes().decode().split("\n")[:-1]
        except UnicodeDecodeError as error:
            raise FormatError(f"the array 'words' is damaged: {error}.") from error
        if len(set(words)) < len(words) or len(words) > dim:
            raise FormatError(f"the array 'words' has {len(words)}, for {dim} columns, or twice.")
        return cls(name, dim, how, words, array(parts.arrays, "idf", (len(words),)))

    def fit(self, sentences: Iterable[str], *, lang: str | None = None) -> Self:
        """Take the commonest words of sentences; of equally common ones, the first by spelling."""
        total: Counter[str] = Counter()
        containing: Counter[str] = Counter()
        n = 0
        for text in sentences:
            n += 1
            tokens = tokenize(text.lower(), self.tokenizer, self.language(lang))
            total.update(tokens)
            containing.update(set(tokens))
        words = sorted(total, key=lambda word: (-total[word], word))[: self.dim]
        if not words:
            raise InputError("tfidf needs sentences with words to be fitted on.")
        df = np.array([containing[word] for word in words])
        idf = (np.log((1 + n) / (1 + df)) + 1).astype(np.float32)
        return type(self)(self.name, self.dim, self.tokenizer, words, idf)

    def tokenized(self, tokenizer: Tokenizer) -> Self:
        """Return the same encoder of text that is split in another way."""
        return type(self)(self.name, self.dim, tokenizer, self.words, self.idf)

    def encode_list(self, texts: list[str], lang: str, n_threads: int | None) -> Floats:
        """Turn strings into rows, (n, dim) float32; one without a known word is a zero row."""
        if self.idf is None:
            raise NotFittedError(
                f"{self.name!r} has no words yet: encoder = encoder.fit(sentences)."
            )
        how = splitting(self.tokenizer, lang)
        (found,) = kernels.lookup(texts, [(self._table, "lower", -1)], how, n_threads)
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        which = np.repeat(np.arange(len(texts)), np.diff(found.offsets))
        np.add.at(rows, (which, found.ids), self.idf[found.ids])
        normalise_rows(rows)
        return rows
