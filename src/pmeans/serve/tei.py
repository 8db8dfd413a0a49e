"""Answers in the shapes of text-embeddings-inference (TEI) that the library has no word for."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmeans.kernels.machine import available_threads
from pmeans.serve.inputs import OneText
from pmeans.serve.service import Lang, Service
from pmeans.transfer.linear import probabilities


def rerank(
    service: Service,
    texts: list[str],
    lang: Lang = None,
    raw_scores: bool = False,
    return_text: bool = False,
    truncate: bool = False,
    truncation_direction: str | None = None,
) -> list[dict[str, Any]]:
    """Order texts by their cosine with the first of them, the query, the nearest first.

    A cosine is a score already: it is the same with ``raw_scores`` and without.
    """
    scores = service.similarity(texts, lang)
    order = np.argsort(-scores, kind="stable").tolist()
    ranked: list[dict[str, Any]] = [{"index": i, "score": float(scores[i])} for i in order]
    if return_text:
        for rank in ranked:
            rank["text"] = texts[rank["index"] + 1]
    return ranked


def predict(
    service: Service,
    texts: list[str],
    lang: Lang = None,
    raw_scores: bool = False,
    truncate: bool = False,
    truncation_direction: str | None = None,
    parameters: dict[str, Any] | None = None,
) -> list[Any]:
    """Return the classes of each text with their scores, the likeliest first.

    TEI's clients get a plain list for a single text. Hugging Face's own client sends
    ``parameters`` and reads a list of lists.
    """
    asked = parameters or {}
    raw = raw_scores or asked.get("function_to_apply") == "none"
    default = "sigmoid" if service.classifier.multi_label else "softmax"
    decisions = service.decisions(texts, lang)
    scores = decisions
    if not raw:
        scores = probabilities(decisions, asked.get("function_to_apply", default) == "sigmoid")
    predictions = [
        [{"label": str(label), "score": score} for label, score in best]
        for best in service.ranked_classes(scores, asked.get("top_k"))
    ]
    single = isinstance(texts, OneText) and parameters is None
    return predictions[0] if single else predictions


def info(service: Service) -> dict[str, Any]:
    """Say what is served and the limits, also under the names that TEI's clients read."""
    said, limits = service.info(), service.settings.limits
    kinds: dict[str, Any] = {"embedding": {"pooling": "power means"}}
    if said["classifier"]:
        labels = list(map(str, said["classifier"]["classes"]))
        kinds["classifier"] = {
            "id2label": {str(i): label for i, label in enumerate(labels)},
            "label2id": {label: i for i, label in enumerate(labels)},
        }
    return {
        **said,
        "model_id": said["model"],
        "model_sha": None,
        "model_dtype": "float32",
        "model_type": kinds,
        "max_concurrent_requests": limits.requests,
        "max_input_length": limits.characters,  # a word has at least one
        "max_batch_tokens": limits.characters,
        "max_batch_requests": limits.requests,
        "max_client_batch_size": limits.texts,
        "auto_truncate": False,
        "tokenization_workers": available_threads(),
    }
