"""Find translations in text that nobody has aligned: which languages, which lines, which pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pmeans import models
from pmeans.encoder.sentence_encoder import SentenceEncoder, check_sentences
from pmeans.errors import InputError, shown
from pmeans.kernels import checked_strings
from pmeans.search.margins import NoThresholdError, normalised, translated_rows
from pmeans.search.stored import StoredRows

_LOOKED_AT = 1000  # lines by which the language of a text is told


@dataclass(frozen=True)
class MinedPair:
    """Two lines that are taken for translations of each other.

    Attributes:
        first: Number of the line among the first texts, from 0.
        second: The same among the second texts; in one mixed list, among all.
        score: The margin, above 1 if the two are nearer to each other than to their neighbours.
        cosine: Of their rows.
    """

    first: int
    second: int
    score: float
    cosine: float


class Mined(NamedTuple):
    """Pairs, best first, and the margin that they have at least."""

    pairs: list[MinedPair]
    threshold: float


def mine(
    first: Iterable[str],
    second: Iterable[str] | None = None,
    *,
    langs: tuple[str, str] | None = None,
    model: str | Path | SentenceEncoder = "default",
    threshold: float | None = None,
    approximate: bool = False,
    n_threads: int | None = None,
) -> Mined:
    """Find sentences that translate each other in texts of two languages.

    Texts that are the same but for case and spaces count once, at their first place.

    Args:
        first: Texts of one language.
        second: Texts of another one. If it is left out, ``first`` has texts of both, whose language
            is found for each.
        langs: The two languages; None finds the most frequent one of each side. One mixed list
            needs it.
        model: What `pmeans.load` opens, or an encoder.
        threshold: The least margin of a pair. None chooses it by translations that the model
            carries. Where it has none between the two languages, it is the higher one of those that
            fit either language and English, or whatever the model's translations are from.
        approximate: Look for neighbours in a graph, which is faster with hundreds of thousands of
            texts and may miss pairs. It needs the extra ``[search]``.
        n_threads: Threads that encode, and search in a graph; all available ones if None.

    Returns:
        The pairs, best first, and the threshold.
    """
    encoder = models.load(model) if isinstance(model, str | Path) else model
    if threshold is not None and not threshold >= 0:
        raise InputError(f"threshold= is the least margin of a pair, from 0, not {threshold}.")
    sides = [_texts(texts) for texts in ((first,) if second is None else (first, second))]
    if second is None and langs is None:
        raise InputError("which languages are mixed? Name two: langs=('en', 'de').")
    codes = _codes(encoder, sides, langs)
    places: list[Sequence[int]] = [range(len(texts)) for texts in sides]
    if second is None:
        places = _told_apart(encoder, sides[0], codes)
        sides = [[sides[0][i] for i in which] for which in places]
    which = [_distinct(texts) for texts in sides]
    for rows, code in zip(which, codes, strict=True):
        if not rows:
            raise InputError(f"no text in {code!r}: nothing to mine.")
    taken = [[texts[i] for i in rows] for texts, rows in zip(sides, which, strict=True)]
    known = {normalised(text) for texts in taken for text in texts}
    stores = []
    for texts, code in zip(taken, codes, strict=True):
        stores.append(StoredRows(encoder.dim, approximate, n_threads))
        for block in encoder.encode_batches(texts, lang=code, n_threads=n_threads):
            stores[-1].append(block)
    try:
        proposed, least = translated_rows(encoder, codes, stores, known.__contains__, threshold)
    except NoThresholdError as error:
        raise InputError(f"{error}: give threshold=, such as 1.2.") from None
    first_lines, second_lines = (
        [of[i] for i in rows] for of, rows in zip(places, which, strict=True)
    )
    columns = (column.tolist() for column in proposed)
    pairs = [
        MinedPair(first_lines[i], second_lines[j], score, cosine)
        for i, j, score, cosine in zip(*columns, strict=True)
    ]
    return Mined(pairs, least)


def _texts(texts: Iterable[str]) -> list[str]:
    check_sentences(texts)
    return list(checked_strings(texts))


def _distinct(texts: Sequence[str]) -> list[int]:
    """Return the places of texts that no earlier one is equal to, without empty ones."""
    places: dict[str, int] = {}
    for i, text in enumerate(texts):
        places.setdefault(normalised(text), i)
    return [i for text, i in places.items() if text]


def _codes(
    encoder: SentenceEncoder, sides: Sequence[Sequence[str]], langs: tuple[str, str] | None
) -> tuple[str, str]:
    """Return the two languages, named or found."""
    if langs is None:
        codes = [_usual(encoder, texts) for texts in sides]
    else:
        if isinstance(langs, str) or len(langs) != 2:
            raise InputError(f"langs= are two languages, such as ('en', 'de'), not {shown(langs)}.")
        codes = [encoder.language(lang) for lang in langs]
    one, other = codes
    if one == other:
        raise InputError(f"both sides are in {one!r}: name two languages, langs=.")
    return one, other


def _usual(encoder: SentenceEncoder, texts: Sequence[str]) -> str:
    """Return the language of most texts, of the first ones."""
    some = list(texts[:_LOOKED_AT])
    sizes = {code: len(which) for code, which in encoder.by_language(some, None)}
    if not sizes:
        raise InputError("no text: nothing to mine.")
    return max(sizes, key=lambda code: sizes[code])


def _told_apart(
    encoder: SentenceEncoder, texts: Sequence[str], codes: tuple[str, str]
) -> list[Sequence[int]]:
    """Return which texts are in either language."""
    langs = [detection.lang for detection in encoder.detect(texts)]
    return [[i for i, lang in enumerate(langs) if lang == code] for code in codes]
