"""All that the server answers: one table, which `application` serves and `openapi` describes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pmeans.serve import inputs, tei
from pmeans.serve.inputs import Field, Schema
from pmeans.serve.service import Service

MOST_HITS = 100
"""Rows that a search finds for a text, at most."""


@dataclass(frozen=True)
class Route:
    """A path, and what is answered there.

    Attributes:
        path: Of the request. It may end with a name in braces, which stands for any.
        summary: What it does, in a sentence.
        answer: Of texts and checked fields if there is a body, else of the service alone, or of
            the name that the path ends with; None if the application answers itself.
        returns: Schema of the answer.
        texts: The field that has the texts; empty if the request has no body.
        fields: All fields of the body.
        form: Whether the body is the authors' form, and the answer plain text.
        open: Whether it is answered without a token.
        quick: Whether a few texts take less than a millisecond or two.
        query: A field with one more text, which goes before the others.
    """

    path: str
    summary: str
    answer: Callable[..., Any] | None
    returns: Schema
    texts: str = ""
    fields: Mapping[str, Field] = field(default_factory=dict)
    form: bool = False
    open: bool = False
    quick: bool = False
    query: str = ""

    @property
    def method(self) -> str:
        """POST if there is a body, else GET."""
        return "POST" if self.texts else "GET"

    @property
    def stem(self) -> str:
        """The path up to the name in braces."""
        return self.path.partition("{")[0]

    @property
    def parameter(self) -> str:
        """The name in braces, or nothing."""
        return self.path.partition("{")[2].removesuffix("}")

    def take_texts(self, fields: dict[str, Any]) -> list[str]:
        """Take the texts out of checked fields."""
        texts: list[str] = fields.pop(self.texts)
        return [fields.pop(self.query), *texts] if self.query else texts

    def names(self, path: str) -> list[str]:
        """Return the name that a request's path ends with, if this route has one."""
        return [path.removeprefix(self.stem)] if self.parameter else []


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(*names: str, **typed: Schema) -> Schema:
    return {"type": "object", "required": [*names, *typed], "properties": dict(typed)}


_NUMBERS = _list({"type": "number"})
_TEXT: Schema = {"type": "string"}
_DIMENSIONS = inputs.number(1)
_OF_TEXTS = {"inputs": inputs.TEXTS, "lang": inputs.LANG}
_IDLE = {"truncate": inputs.BOOLEAN, "truncation_direction": inputs.WORD}
_TOP_K = inputs.number(1)
_CONVERSION = {
    "sentences": inputs.TEXTS,
    "embedding_types": inputs.TYPES,
    "lang": inputs.LANG,
}

_SCORED = _object(label=_TEXT, score={"type": "number"})

CONVERT = Route(
    "/convert",
    "Compute power means of single word spaces, as the paper's program does.",
    Service.convert,
    _TEXT,
    "sentences",
    _CONVERSION,
    form=True,
)
EMBED = Route(
    "/embed",
    "Embed texts, as text-embeddings-inference does. It takes the form of /convert as well.",
    Service.embed,
    _list(_NUMBERS),
    "inputs",
    {
        **_OF_TEXTS,
        "dimensions": _DIMENSIONS,
        "normalize": inputs.BOOLEAN,
        **_IDLE,
        "prompt_name": inputs.WORD,
        "parts": inputs.PARTS,
    },
    quick=True,
)
PREDICT = Route(
    "/predict",
    "Label texts, as text-embeddings-inference does.",
    tei.predict,
    {"type": "array", "items": {"oneOf": [_SCORED, _list(_SCORED)]}},
    "inputs",
    {
        "inputs": inputs.PREDICTED,
        "lang": inputs.LANG,
        "raw_scores": inputs.BOOLEAN,
        **_IDLE,
        "parameters": inputs.record(
            top_k=_TOP_K, function_to_apply=inputs.choice("softmax", "sigmoid", "none")
        ),
    },
    quick=True,
)
MODEL = Route(
    "/v1/models/{model}",
    "Describe the model, by its name.",
    Service.model,
    _object("id", "object", "created", "owned_by"),
)
ROUTES = (
    Route(
        "/v1/embeddings",
        "Embed texts, as OpenAI does.",
        Service.embeddings,
        _object("object", "data", "model", "usage"),
        "input",
        {
            "input": inputs.TEXTS,
            "lang": inputs.LANG,
            "dimensions": _DIMENSIONS,
            "encoding_format": inputs.choice("float", "base64"),
            "model": inputs.WORD,
            "user": inputs.WORD,
        },
        quick=True,
    ),
    Route("/v1/models", "List the model.", Service.models, _object("object", "data")),
    MODEL,
    EMBED,
    CONVERT,
    Route(
        "/similarity",
        "Compare a text with others, by cosine.",
        Service.similarity,
        _NUMBERS,
        "inputs",
        {"inputs": inputs.COMPARED, "lang": inputs.LANG, "parameters": inputs.IGNORED},
        quick=True,
    ),
    Route(
        "/rerank",
        "Order texts by their cosine with a query, as text-embeddings-inference does.",
        tei.rerank,
        _list(_object(index={"type": "integer"}, score={"type": "number"})),
        "texts",
        {
            "query": inputs.TEXT,
            "texts": inputs.TEXT_LIST,
            "lang": inputs.LANG,
            "raw_scores": inputs.BOOLEAN,
            "return_text": inputs.BOOLEAN,
            **_IDLE,
        },
        quick=True,
        query="query",
    ),
    Route(
        "/detect",
        "Detect the language of each text.",
        Service.detect,
        _list(_object("lang", "probability")),
        "inputs",
        {"inputs": inputs.TEXTS},
        quick=True,
    ),
    Route(
        "/classify",
        "Label texts.",
        Service.classify,
        _list(_object("label", "probability", "note", "language")),
        "inputs",
        {**_OF_TEXTS, "top_k": _TOP_K},
        quick=True,
    ),
    PREDICT,
    Route(
        "/label",
        "Label texts by what the labels are called, without training.",
        Service.label,
        _list(_object("label", "probability", "note")),
        "inputs",
        {**_OF_TEXTS, "labels": inputs.LABELS, "labels_lang": inputs.WORD},
    ),
    Route(
        "/explain",
        "Say which words decided about a label.",
        Service.explain,
        _list(_object("label", "against", "tokens", "constant", "margin")),
        "inputs",
        {**_OF_TEXTS, "label": inputs.WORD},
    ),
    Route(
        "/search",
        "Find the rows of the index that are nearest in meaning.",
        Service.search,
        _list(_list(_object("row", "score", "text"))),
        "inputs",
        {**_OF_TEXTS, "k": inputs.number(1, MOST_HITS)},
    ),
    Route(
        "/health",
        "Say that the server runs.",
        lambda service: {"status": "ok"},
        _object(status=_TEXT),
        open=True,
    ),
    Route(
        "/ready",
        "Say whether the server takes work: not while it stops or is full.",
        lambda service: {"status": "ready"},
        _object(status=_TEXT),
        open=True,
    ),
    Route(
        "/info",
        "Say what is served, and the limits.",
        tei.info,
        _object("model", "dimensions", "languages", "limits", "model_id", "model_type"),
    ),
    Route("/metrics", "Count requests, in Prometheus's format.", None, _TEXT),
    Route("/openapi.json", "Describe all of this.", None, _object("openapi", "paths")),
)


def served_routes(classifier: bool) -> tuple[Route, ...]:
    """Return the table with TEI's default path: it labels if there is a classifier, or embeds."""
    return (*ROUTES, dataclasses.replace(PREDICT if classifier else EMBED, path="/"))


def table_path(path: str) -> str:
    """Return the path of the table that the path of a request belongs to, or else the path."""
    named = path.startswith(MODEL.stem) and path != MODEL.stem
    return MODEL.path if named else path
