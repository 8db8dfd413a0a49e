"""Tokenisers by name, and what a language changes about them.

``"whitespace"`` is the paper's: the text is tokenised already. ``"words"`` is for raw text.
`pmeans.kernels.splitting` says exactly what each does.
"""

from __future__ import annotations

from pmeans.kernels import Splitting, split
from pmeans.types import Tokenizer

__all__ = ["splitting", "tokenize"]

_LANGUAGES = {
    "en": Splitting.WORDS_ENGLISH,
    "fr": Splitting.WORDS_ELISION,
    "it": Splitting.WORDS_ELISION,
    "ca": Splitting.WORDS_ELISION,
}


def splitting(tokenizer: Tokenizer, lang: str) -> Splitting:
    """Return how a tokeniser cuts text of this language."""
    if tokenizer == "whitespace":
        return Splitting.WHITESPACE
    return _LANGUAGES.get(lang, Splitting.WORDS)


def tokenize(sentence: str, tokenizer: Tokenizer, lang: str) -> list[str]:
    """Return the tokens of one sentence, as the encoder sees them before it looks them up."""
    return split(sentence, splitting(tokenizer, lang))
