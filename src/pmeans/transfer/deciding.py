"""Decisions about texts, block by block, without their rows.

The map of a language is folded into the weights, so that a prediction needs no mapped rows. This is
done once per classifier and language.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pmeans.encoder.alignment import Alignment, LanguageMap
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.sentence_encoder import LONG_CHUNK
from pmeans.transfer.learned import Fitted
from pmeans.transfer.scores import WordCount
from pmeans.types import Floats

_LARGEST = 1 << 24  # decisions of a block: with 10,000 classes, it has fewer rows
_FOLDING = threading.Lock()


def decisions(
    encoder: PowerMeanEncoder,
    fitted: Fitted,
    texts: list[str],
    langs: str | list[str] | None,
    words: WordCount,
    n_threads: int | None = None,
) -> Iterator[tuple[Floats, npt.NDArray[np.bool_]]]:
    """Yield decisions, (n, n_classes), and which texts have no known word, block by block.

    Known and unknown words are counted in ``words``.
    """
    size = max(1, min(LONG_CHUNK, _LARGEST // len(fitted.classes)))
    for start in range(0, len(texts), size):
        block = texts[start : start + size]
        decided = np.empty((len(block), len(fitted.classes)), dtype=np.float32)
        empty = np.empty(len(block), dtype=np.bool_)
        codes = langs[start : start + size] if isinstance(langs, list) else langs
        for code, which in encoder.by_language(block, codes, n_threads, words.doubts):
            folded = _folded(encoder, fitted, code)
            some = block if len(which) == len(block) else [block[i] for i in which]
            rows, coverage = folded.deciding.encode_covered(some, lang=code, n_threads=n_threads)
            decided[which], empty[which] = rows + folded.bias, coverage.zero_rows
            words.add(code, coverage, some)
        decided[empty] = fitted.prior
        yield decided, empty


@dataclass(frozen=True)
class Folded:
    """What decides in one language.

    Attributes:
        encoder: The classifier's, whose map is folded in.
        deciding: An encoder whose rows are decisions without their bias.
        bias: (n_classes,).
    """

    encoder: PowerMeanEncoder
    deciding: PowerMeanEncoder
    bias: Floats


def _folded(encoder: PowerMeanEncoder, fitted: Fitted, lang: str) -> Folded:
    """Return what decides in a language, made when it is first asked for."""
    from threadpoolctl import threadpool_limits

    # One at a time: the limit is the whole process's, and two that overlap would not undo it.
    # With one thread the product has the same bits however many a caller asks for.
    with _FOLDING:
        folded = fitted.folded.get(lang)
        if folded is None or folded.encoder is not encoder:
            with threadpool_limits(1, user_api="blas"):
                folded = fitted.folded[lang] = _fold(encoder, fitted, lang)
    return folded


def _fold(encoder: PowerMeanEncoder, fitted: Fitted, lang: str) -> Folded:
    """Fold the map of a language into the weights.

    The weights are its last map, or its only one, if folding the others in is less work.
    """
    linear = fitted.linear_for(lang)
    weights = linear.weights
    maps = encoder.alignment.factors(lang) if encoder.alignment else ()
    if encoder.alignment and (encoder.alignment.kept or len(weights) <= encoder.dim):
        weights, maps = encoder.alignment.fold(weights, lang), ()
    last = LanguageMap((*maps, np.ascontiguousarray(weights.T)), "a classifier's weights")
    deciding = encoder.replace(alignment=Alignment(lang, {lang: last}))
    return Folded(encoder, deciding, linear.bias)
