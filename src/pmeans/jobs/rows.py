"""What is made of a block of rows: a vector for each, or a label with a note."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.identity import SHORT, identity
from pmeans.jobs.options import EmbedOptions
from pmeans.languages.resolution import (
    AUTO,
    Doubts,
    Languages,
    TextLanguages,
    language_of_rows,
)
from pmeans.tables.fields import Block, Place
from pmeans.transfer import Predictions, TransferClassifier, WordCount
from pmeans.transfer.linear import probabilities
from pmeans.types import Array, Floats

ADDED = ("label", "probability", "note")
"""Columns of a prediction; ``predicted_`` stands before them if the input has one of these."""

LANGUAGE = "language"
"""One more of them, before the note, where languages are found."""


def block_languages(
    block: Block,
    encoder: SentenceEncoder,
    lang: str | None,
    doubts: Doubts,
    n_threads: int | None = None,
) -> Languages:
    """Return the language of all rows of a block, or one for each; any for one without text."""
    if block.langs is None:
        languages = encoder.languages_of([text or "" for text in block.texts], lang, n_threads)
        if isinstance(languages, TextLanguages):
            doubts.add(languages, without=block.texts.count(None))
        return languages
    return [code or (*encoder.languages, "")[0] for code in block.langs]


def embed_block(
    encoder: SentenceEncoder,
    block: Block,
    lang: str | None,
    options: EmbedOptions,
    doubts: Doubts,
    out: Floats | None = None,
) -> Floats:
    """Return the vectors of a block, (n, dim); a row without text is zero.

    ``lang`` is as `language_of_rows` returns it.
    """
    return encoder.encode(
        [text or "" for text in block.texts],
        lang=block_languages(block, encoder, lang, doubts, options.n_threads),
        normalize_embeddings=options.normalize,
        n_threads=options.n_threads,
        out=out,
    )


@dataclass(frozen=True)
class BlockLabels:
    """What is predicted for the rows of a block.

    Attributes:
        found: Labels and probabilities, also of rows that could not be read.
        languages: Of each row; None where it is none of the encoder's.
        notes: What a user should know of each row; mostly nothing.
        skipped: Numbers of the rows that could not be read.
    """

    found: Predictions
    languages: list[str | None]
    notes: list[str]
    skipped: list[int]


def label_block(
    classifier: TransferClassifier,
    block: Block,
    lang: str | None,
    words: WordCount,
    n_threads: int | None = None,
) -> BlockLabels:
    """Predict the rows of a block; ``lang`` is as `language_of_rows` returns it."""
    texts = [text or "" for text in block.texts]
    langs = block_languages(block, classifier.encoder_, lang, words.doubts, n_threads)
    predictions = classifier.classify(texts, lang=langs, words=words, n_threads=n_threads)
    notes = ["unsure" if label is None else "" for label in predictions.labels]
    for i in np.flatnonzero(predictions.empty).tolist():
        notes[i] = "no known word"
    if isinstance(langs, TextLanguages):
        languages = [each.lang for each in langs.detections()]
        for which, note in (
            (langs.none, "no known language"),
            (langs.doubtful, "which language?"),
        ):
            for i in np.flatnonzero(which).tolist():
                notes[i] = "; ".join(filter(None, (notes[i], note)))
    else:
        only = langs or next(iter(classifier.encoder_.languages), None)
        languages = [*only] if isinstance(only, list) else [only] * len(texts)
    skipped = [i for i, text in enumerate(block.texts) if text is None]
    for i in skipped:
        notes[i] = "unreadable"
    return BlockLabels(predictions, languages, notes, skipped)


def single_rows(
    classifier: TransferClassifier,
    texts: Sequence[str | None],
    langs: str | list[str] | None,
    words: WordCount,
    n_threads: int | None = None,
) -> list[dict[str, Any]]:
    """Return label, probability, note and language of texts that stand alone."""
    encoder = classifier.encoder_
    named = map(encoder.language, langs) if isinstance(langs, list) else None
    one = None if isinstance(langs, list) else language_of_rows(encoder, langs)
    block = Block([*texts], None if named is None else [*named], None, (), (), (), Place())
    done = label_block(classifier, block, one, words, n_threads)
    names = ("label", "probability", "note", "language")
    columns = (done.found.labels, done.found.probabilities, done.notes, done.languages)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def likeliest(
    classifier: TransferClassifier,
    texts: Sequence[str | None],
    langs: str | list[str] | None,
    k: int,
    n_threads: int | None = None,
) -> list[list[dict[str, Any]]]:
    """Return the likeliest classes of texts that stand alone, the best first, and how likely."""
    decisions = classifier.class_decisions(texts, lang=langs, n_threads=n_threads)
    p, names = probabilities(decisions, classifier.multi_label), classifier.fitted.classes
    order = np.argsort(-p, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(p, order, axis=1)
    return [
        [{"label": names[i], "probability": x} for i, x in zip(*row, strict=True)]
        for row in zip(order.tolist(), best.tolist(), strict=True)
    ]


def count_empty(vectors: Array) -> int:
    """Return how many of some rows, (n, dim), are zero."""
    rest = vectors[vectors[:, 0] == 0]  # nearly none: the others have a number at once
    return int(np.count_nonzero(~rest.any(axis=1)))


def embedding_identity(
    encoder: SentenceEncoder, lang: str | None, options: EmbedOptions
) -> dict[str, Any]:
    """Return what a vector depends on beside its text; ``lang`` as `language_of_rows` has it."""
    return {
        "model": encoder.fingerprint(),
        **_identifier_of(encoder, lang),
        "normalize": options.normalize,
        "dtype": options.dtype,
    }


def labelling_identity(classifier: TransferClassifier, lang: str | None) -> dict[str, Any]:
    """Return what a label depends on beside its text; ``lang`` as `language_of_rows` has it."""
    fitted = classifier.fitted
    langs = sorted({*fitted.adapted, *fitted.calibrated})
    arrays = [fitted.weights, fitted.bias, fitted.prior]
    arrays += [a for lang in langs for a in classifier.weights_for(lang)]
    content = (fitted.classes, fitted.multi_label, langs), *arrays
    return {
        "model": classifier.encoder_.fingerprint(),
        "classifier": identity(*content, digits=SHORT),
        "unsure": classifier.unsure,
        **_identifier_of(classifier.encoder_, lang),
    }


def _identifier_of(encoder: SentenceEncoder, lang: str | None) -> dict[str, Any]:
    identifier = encoder.identifier if lang == AUTO else None
    return {"lang": lang, **({"identifier": identifier.digest()} if identifier else {})}
