"""Labels without training: by what they are called, or by some words on each.

A label is the direction of its descriptions' rows, and a text has the label that it points to. What
the texts at hand have in common says nothing of their labels: `TransferClassifier.adapt` takes it
away, language by language. ``lab/results/labels`` says what all this is worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from pmeans.encoder.postprocess import unit_rows
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.znorm import Moments
from pmeans.errors import InputError, count, shown
from pmeans.languages.resolution import read_languages
from pmeans.transfer.adapting import FEW
from pmeans.transfer.labels import Name, read_texts
from pmeans.transfer.learned import Chosen, Fitted
from pmeans.types import Floats

if TYPE_CHECKING:
    from pmeans.transfer.scores import Predictions

Described = Sequence[str] | Mapping[Any, str | Sequence[str]]
"""Names of labels, or for each label one description or several."""

SHARPNESS = 12.0
"""What cosines are multiplied by. With this, labels of adapted languages are right about as often
as their probabilities say, on reviews and genres."""

MATCHED = 10_000
"""Texts that labels are matched to, at most."""


def describe(encoder: PowerMeanEncoder, labels: Described, lang: str | None) -> Fitted:
    """Return a classifier of labels that are described in one language; None finds it."""
    described = _read(labels)
    if lang is None and len(encoder.languages) > 1:
        lang = _language(encoder, [text for texts in described.values() for text in texts])
    directions = [_direction(encoder, name, texts, lang) for name, texts in described.items()]
    weights: Floats = np.float32(SHARPNESS) * np.stack(directions)
    general = _general(encoder)
    centre = general.mean.astype(np.float32)
    return Fitted(
        classes=tuple(described),
        multi_label=False,
        weights=weights,
        bias=(-weights @ centre).astype(np.float32),
        prior=np.zeros(len(described), dtype=np.float32),
        centre=centre,
        spread=general.std.astype(np.float32),
        adapted={},
        calibrated={},
        chosen=Chosen("described", 0.0, None, "none", encoder.dim, "accuracy", None, 0, 0),
    )


def label(
    texts: Iterable[str | None],
    labels: Described,
    *,
    model: str | Path | PowerMeanEncoder = "default",
    lang: str | Iterable[str] | None = None,
    labels_lang: str | None = None,
    n_threads: int | None = None,
) -> Predictions:
    """Give each text one of some labels, which are known by their names or descriptions alone.

    Of a language with a hundred texts or more, labels are matched to these texts.

    Args:
        texts: In any of the model's languages.
        labels: Names, or for each label one description or several. Descriptions are better.
        model: What `pmeans.load` opens, or an encoder.
        lang: Language of the texts, or one for each; None finds it.
        labels_lang: Language of the labels; None finds it.
        n_threads: Threads to use; all available ones if None.
    """
    from pmeans.transfer.classifier import TransferClassifier

    listed = read_texts(texts)
    classifier = TransferClassifier(model).describe(labels, lang=labels_lang)
    encoder, named = classifier.encoder_, read_languages(lang, len(listed))
    for code, which in encoder.by_language(listed, named):
        if len(which) >= FEW:
            classifier.adapt([listed[i] for i in which[:MATCHED]], lang=code)
    return classifier.classify(listed, lang=named, n_threads=n_threads)


def _read(labels: Described) -> dict[Name, list[str]]:
    """Return the descriptions of each label."""
    if isinstance(labels, str) or not isinstance(labels, Mapping | Sequence):
        raise InputError(
            f"labels are a list of names, or descriptions by name, not {shown(labels, 40)}."
        )
    listed = labels.items() if isinstance(labels, Mapping) else ((name, name) for name in labels)
    described: dict[Name, list[str]] = {}
    for name, texts in listed:
        if not isinstance(name, str | int | bool | float):
            raise InputError(f"a label is a str or a number, not {shown(name, 40)}.")
        if name in described:
            raise InputError(f"the label {shown(name)} is there twice.")
        several = [texts] if isinstance(texts, str) else texts
        described_by = list(several) if isinstance(several, Iterable) else []
        if not described_by or not all(isinstance(text, str) for text in described_by):
            raise InputError(f"the label {shown(name)} needs a description, or several: str.")
        described[name] = described_by
    if len(described) < 2:
        raise InputError(f"cannot choose among {count(len(described), 'label')}: give at least 2.")
    return described


def _language(encoder: PowerMeanEncoder, texts: Sequence[str]) -> str:
    """Return the likeliest language of descriptions, which together are easier to tell."""
    together = [". ".join(texts)]
    ((code, _),) = encoder.by_language(together, None)
    return code


def _direction(
    encoder: PowerMeanEncoder, name: Name, texts: Sequence[str], lang: str | None
) -> Floats:
    """Return where descriptions point to, (dim,) of length 1."""
    rows, coverage = encoder.encode_covered(list(texts), lang=lang)
    known = unit_rows(rows[~coverage.zero_rows])
    if not len(known):
        raise InputError(f"no known word in what the label {shown(name)} is described by.")
    direction: Floats = unit_rows(known.mean(axis=0, keepdims=True))[0]
    return direction


_GENERAL: WeakKeyDictionary[PowerMeanEncoder, Moments] = WeakKeyDictionary()


def _general(encoder: PowerMeanEncoder) -> Moments:
    """Return the moments of rows of any text: of the sentences that the encoder carries."""
    if encoder in _GENERAL:
        return _GENERAL[encoder]
    moments = Moments(encoder.dim)
    if encoder.translations is not None:
        pairs = [pair for listed in encoder.translations.pairs.values() for pair in listed]
        sentences = [first for first, _ in pairs]
        moments.add(encoder.encode(sentences, lang=encoder.translations.pivot))
    if not moments.count:  # nothing is known of any text: rows are taken as they are
        ones = np.ones((1, encoder.dim), dtype=np.float32)
        moments.add(np.concatenate([-ones, ones]))
    _GENERAL[encoder] = moments
    return moments
