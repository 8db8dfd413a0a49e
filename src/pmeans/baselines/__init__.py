"""Encoders other than power means, one system per file: what power means are compared with.

Each is a `pmeans.baselines.base.Baseline`, made by a trainer of `pmeans.training`. Of other
packages than NumPy nothing is imported before it is used.
"""

from __future__ import annotations

import importlib

from pmeans.baselines.base import Baseline
from pmeans.errors import FormatError, did_you_mean

KINDS: dict[str, tuple[str, str]] = {
    "sif": ("sif", "Sif"),
    "usif": ("sif", "Usif"),
    "tfidf": ("tfidf", "Tfidf"),
    "teacher": ("teacher_encoder", "TeacherEncoder"),
    "sum": ("sums", "SumEncoder"),
    "sent2vec": ("sent2vec", "Sent2Vec"),
    "infersent": ("infersent", "InferSent"),
}
"""Module and class of each kind."""


def of_kind(kind: object) -> type[Baseline]:
    """Return the class of a kind."""
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        raise FormatError(
            f"an encoder of the kind {kind!r}, which this version of pmeans does not know.{near} "
            f"It knows {', '.join(KINDS)}."
        )
    module, name = KINDS[kind]
    found: type[Baseline] = getattr(importlib.import_module(f"pmeans.baselines.{module}"), name)
    return found
