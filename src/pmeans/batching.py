"""A stream of sentences in chunks that are worked on together.

Chunks change no bit of a result, only how much memory is at work and how often threads start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

import numpy as np

from pmeans.errors import InputError
from pmeans.types import Array

CHUNK = 4096
"""Sentences of a chunk."""

LONG_CHUNK = 32768
"""The same where rows go straight to their place: fewer threads to start, warmer caches."""

LONGEST_CHUNK = 1 << 24
"""Characters of a chunk, beyond which it is halved: whole books need no more memory than tweets."""


def chunks(
    sentences: Iterable[str], lang: str | Iterable[str] | None, size: int
) -> Iterator[tuple[list[str], str | list[str] | None]]:
    """Cut the stream into lists of sentences, with one language or one for each."""
    check_sentences(sentences)
    if size < 1:
        raise InputError(f"batch_size must be at least 1, not {size}.")
    texts = iter(sentences)
    langs = None if lang is None or isinstance(lang, str) else iter(lang)
    while chunk := list(islice(texts, size)):
        codes: str | list[str] | None = lang if isinstance(lang, str) else None
        if langs is not None:
            codes = list(islice(langs, len(chunk)))
            if len(codes) < len(chunk):
                raise InputError("lang has fewer entries than there are sentences.")
        yield from _halved(chunk, codes)
    if langs is not None and next(langs, None) is not None:
        raise InputError("lang has more entries than there are sentences.")


def check_sentences(sentences: object) -> None:
    """Refuse what can be iterated over, but not for sentences."""
    if isinstance(sentences, str | bytes):
        kind = type(sentences).__name__
        raise InputError(f"expected an iterable of sentences, got one {kind}: put it into a list.")
    if isinstance(sentences, Mapping):
        raise InputError(
            "expected an iterable of sentences, got a mapping, which would give its keys: pass "
            "list(mapping.values())."
        )
    if hasattr(sentences, "columns"):  # pandas, polars, pyarrow
        raise InputError(
            f"expected an iterable of sentences, got a {type(sentences).__name__}, which would "
            "give its columns: pass the one with the sentences, as in frame['text']."
        )
    if not isinstance(sentences, Iterable):
        raise InputError(
            f"expected a str or an iterable of str, got {type(sentences).__name__}: "
            f"{sentences!r:.40}."
        )


def _halved(
    texts: list[str], langs: str | list[str] | None
) -> Iterator[tuple[list[str], str | list[str] | None]]:
    """Cut a chunk into halves until none is longer than `LONGEST_CHUNK`, or is one sentence."""
    try:
        long = len(texts) > 1 and sum(map(len, texts)) > LONGEST_CHUNK
    except TypeError:  # no string: the look-up will say which
        long = False
    if not long:
        yield texts, langs
        return
    half = len(texts) // 2
    for part in (slice(half), slice(half, None)):
        yield from _halved(texts[part], langs[part] if isinstance(langs, list) else langs)


def by_language(
    texts: list[str], langs: str | list[str] | None, checked: Callable[[str | None], str]
) -> Iterator[tuple[str, Array]]:
    """Group the sentences of a chunk by language: checked codes, and positions in it, (n,)."""
    if langs is None or isinstance(langs, str):
        yield checked(langs), np.arange(len(texts))
        return
    codes = np.array(langs, dtype=object)
    for code in dict.fromkeys(langs):
        yield checked(code), np.flatnonzero(codes == code)
