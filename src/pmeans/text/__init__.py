"""Tokenisers by name, and what a language changes about them.

``"whitespace"`` is the paper's: the text is tokenised already. ``"words"`` is for raw text, and
refuses languages that are written without spaces. `pmeans.kernels.splitting` says exactly what each
does.
"""

from __future__ import annotations

from pmeans.errors import LanguageError
from pmeans.kernels import Splitting, split
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
    "Chinese": "zh zho chi cmn yue wuu nan hak gan lzh",
    "Japanese": "ja jpn",
    "Thai": "th tha",
    "Lao": "lo lao",
    "Khmer": "km khm",
    "Burmese": "my mya bur",
    "Tibetan": "bo bod tib",
    "Dzongkha": "dz dzo",
    "Shan": "shn",
}
_UNSPACED_NAMES = {code: name for name, codes in _UNSPACED.items() for code in codes.split()}


def splitting(tokenizer: Tokenizer, lang: str) -> Splitting:
    """Return how a tokeniser cuts text of this language, or refuse a language without spaces."""
    if tokenizer == "whitespace":
        return Splitting.WHITESPACE
    main_code = lang.replace("_", "-").partition("-")[0].lower()
    if name := _UNSPACED_NAMES.get(main_code):
        raise LanguageError(
            f"{name} ({lang!r}) is written without spaces between words, so the tokenizer 'words' "
            "cannot split it. Split the text beforehand, join the words by spaces, and use a "
            "recipe with tokenizer = 'whitespace'."
        )
    return _LANGUAGES.get(lang, Splitting.WORDS)


def tokenize(sentence: str, tokenizer: Tokenizer, lang: str) -> list[str]:
    """Return the tokens of one sentence, as the encoder sees them before it looks them up."""
    return split(sentence, splitting(tokenizer, lang))
