"""Tokenisers by name, and what a language changes about them.

``"whitespace"`` is the paper's: the text is tokenised already. ``"words"`` is for raw text, and
refuses languages that are written without spaces. `pmeans.kernels.splitting` says exactly what each
does.
"""

from __future__ import annotations

from pmeans.errors import LanguageError
from pmeans.kernels import Splitting, split
from pmeans.languages.codes import main_code
from pmeans.types import Tokenizer

__all__ = ["splitting", "tokenize"]

_LANGUAGES = {
    "en": Splitting.WORDS_ENGLISH,
    "fr": Splitting.WORDS_ELISION,
    "it": Splitting.WORDS_ELISION,
    "ca": Splitting.WORDS_ELISION,
    "pt": Splitting.WORDS_PORTUGUESE,
}

_UNSPACED = {
    "zh": "Chinese", "cmn": "Chinese", "yue": "Chinese", "wuu": "Chinese", "nan": "Chinese",
    "hak": "Chinese", "gan": "Chinese", "lzh": "Chinese", "ja": "Japanese", "th": "Thai",
    "lo": "Lao", "km": "Khmer", "my": "Burmese", "bo": "Tibetan", "dz": "Dzongkha", "shn": "Shan",
}  # fmt: skip


def splitting(tokenizer: Tokenizer, lang: str) -> Splitting:
    """Return how a tokeniser cuts text of this language, or refuse a language without spaces."""
    if tokenizer == "whitespace":
        return Splitting.WHITESPACE
    code = main_code(lang)
    if name := _UNSPACED.get(code):
        raise LanguageError(
            f"{name} ({lang!r}) is written without spaces between words, so the tokenizer 'words' "
            "cannot split it. Split the text beforehand, join the words by spaces, and use a "
            "recipe with tokenizer = 'whitespace'."
        )
    return _LANGUAGES.get(code, Splitting.WORDS)


def tokenize(sentence: str, tokenizer: Tokenizer, lang: str) -> list[str]:
    """Return the tokens of one sentence, as the encoder sees them before it looks them up."""
    return split(sentence, splitting(tokenizer, lang))
