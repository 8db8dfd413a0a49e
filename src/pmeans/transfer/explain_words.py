"""The words of a language that tell most for each class: what a classifier has learned, in brief.

Each word is encoded as a sentence of its own. That is no sentence a classifier was trained on, so
the numbers are large, but their order shows what it listens to, in any language it covers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from pmeans.encoder import PowerMeanEncoder
from pmeans.sentence_encoder import CHUNK, chunks
from pmeans.text import tokenize
from pmeans.transfer.explain import check_classifier
from pmeans.types import Floats

COMMONEST = 20_000
"""How many words are tried. Spaces list their words by frequency, nearly all of them."""


def most_telling(
    encoder: PowerMeanEncoder,
    weights: Floats,
    bias: Floats,
    classes: Sequence[str],
    *,
    lang: str,
    k: int = 10,
) -> dict[str, list[tuple[str, float]]]:
    """Return the words that by themselves push most towards each class.

    Args:
        encoder: Makes the classifier's rows, z-norm and alignment included.
        weights: (n_classes, dim).
        bias: (n_classes,).
        classes: Names of the classes, at least two.
        lang: Language of the words.
        k: How many words a class at most.

    Returns:
        For each class words and how far they put it ahead of the best other class, best first.
        Of the commonest words that every space knows, those that the class wins; a class may
        have none.
    """
    check_classifier(weights, bias, classes, encoder.dim)
    words = list(islice(_known_to_all(encoder, lang), COMMONEST))
    blocks = encoder.encode_batches(words, lang=lang)
    decisions = np.concatenate(
        [np.empty((0, len(classes)), np.float32), *(rows @ weights.T + bias for rows in blocks)]
    )
    winner = decisions.argmax(axis=1)
    best = np.partition(decisions, -2, axis=1)
    margin = best[:, -1] - best[:, -2]
    telling = {}
    for c, name in enumerate(classes):
        won = np.flatnonzero(winner == c)
        first = won[np.argsort(-margin[won], kind="stable")[:k]]
        telling[name] = [(words[i], float(margin[i])) for i in first]
    return telling


def _known_to_all(encoder: PowerMeanEncoder, lang: str) -> Iterator[str]:
    """Iterate over words of letters that every space has a row for, in the first one's order."""
    spaces, tokenizer = list(encoder.spaces.values()), encoder.recipe.tokenizer
    listed = (word for word in spaces[0].words(lang) if any(map(str.isalpha, word)))
    whole = (word for word in listed if tokenize(word, tokenizer, lang) == [word])
    for words, _ in chunks(whole, lang, CHUNK):
        known = np.all([space.find(words, lang) >= 0 for space in spaces], axis=0)
        yield from (word for word, is_known in zip(words, known, strict=True) if is_known)
