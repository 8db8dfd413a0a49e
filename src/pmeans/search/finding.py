"""From queries in words to the sentences that are nearest in meaning, in whatever language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError
from pmeans.search.approximate import ApproximateIndex
from pmeans.search.exact import top_k
from pmeans.search.files import Index
from pmeans.sentence_encoder import chunks
from pmeans.transfer import identify

_BATCH = 1024  # queries answered in one pass over the rows


@dataclass(frozen=True)
class Hit:
    """A row that was found: its number, its cosine to the query, and its text if that is known."""

    row: int
    score: float
    text: str | None = None


def find(
    encoder: PowerMeanEncoder,
    index: Index,
    queries: Iterable[str],
    *,
    lang: str | None = None,
    k: int = 10,
    approximate: ApproximateIndex | None = None,
) -> Iterator[tuple[str, list[Hit]]]:
    """Find the rows nearest to each of a stream of queries.

    Args:
        encoder: The model that the rows were made with.
        index: Where to look.
        queries: In one language; the rows may be in any that the model covers.
        lang: The queries' language, or ``"auto"`` to tell it from each; may be left out where the
            model covers a single one.
        k: How many rows to find for each query.
        approximate: The approximate index of ``index``, to look there first.

    Yields:
        Each query with its hits, best first. One without a known word has none.
    """
    if index.rows.shape[1] != encoder.dim:
        raise InputError(
            f"{str(index.path)!r} has rows of {index.rows.shape[1]} numbers and the model "
            f"{encoder.name!r} makes {encoder.dim}: name the model= that made them."
        )
    for texts, _ in chunks(queries, None, _BATCH):
        codes = identify(texts, encoder.languages) if lang == "auto" else lang
        vectors = encoder.encode(texts, lang=codes)
        if approximate:
            found, scores = approximate.top_k(vectors, k)
        else:
            found, scores = top_k(vectors, index.rows, k)
        known = index.texts_of(np.unique(found).tolist())
        for query, numbers, values in zip(texts, found.tolist(), scores.tolist(), strict=True):
            hits = [
                Hit(row, score, known.get(row))
                for row, score in zip(numbers, values, strict=True)
                if row >= 0
            ]
            yield query, hits
