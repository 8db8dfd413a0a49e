"""What is served: an encoder, perhaps a classifier and an index, and the answers they give.

Every answer takes texts that were counted already, and fields that were checked. It uses one
thread: the server works on several requests at once.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import platform
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from pmeans import models
from pmeans._version import __version__
from pmeans.choices import AccessLog
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.errors import InputError
from pmeans.jobs.rows import likeliest, single_rows
from pmeans.search import (
    ApproximateIndex,
    ApproximateShards,
    Index,
    open_graph,
    open_index,
    top_k,
)
from pmeans.serve.custom_parts import chosen
from pmeans.serve.limits import Limits
from pmeans.serve.refusals import RefusedError
from pmeans.transfer import TransferClassifier, WordCount, label
from pmeans.types import Floats, Power

EXPLAINED = 10_000
"""Characters of the texts of one request for explanations: each word costs a matrix row or two."""

NUMBER = 16
"""Bytes of a number in JSON with its comma, at most."""

ENTRY = 80
"""Bytes of a row that a search finds, without its text, at most."""

Lang = str | list[str] | None


@dataclass(frozen=True)
class Settings:
    """What to serve, and to whom.

    Attributes:
        model: As of `pmeans.models.load`; None is the classifier's encoder, or the default model.
        classifier: A folder that `TransferClassifier.save` wrote.
        index: Rows to search in, as of `pmeans.search.open_index`, made with the model.
        texts: The file that was embedded, which has the texts of these rows.
        text: The column with the texts.
        approximate: Search by the graph of the index, which may miss rows.
        token_file: Has the bearer tokens of which clients must send one, as of `serve.access`; None
            lets everybody in.
        limits: How much a request may ask for.
        hosts: Names of this server that a request may ask for; none are any.
        access_log: How answered requests are written to standard output, if they are.
        cors_origins: Of the pages of other sites that may ask this server; ``*`` is any.
    """

    model: str | None = None
    classifier: str | None = None
    index: str | None = None
    texts: str | None = None
    text: str | None = None
    approximate: bool = False
    token_file: str | None = None
    limits: Limits = field(default_factory=Limits)
    hosts: tuple[str, ...] = ()
    access_log: AccessLog = "off"
    cors_origins: tuple[str, ...] = ()


class Service:
    """Answers requests. Threads may share it: what changes, such as a cache of texts, is locked."""

    def __init__(self, settings: Settings) -> None:
        """Open what the settings name, and read texts of the index that are no Parquet file."""
        self.settings = settings
        self.since = int(time.time())
        self._classifier: TransferClassifier | None = None
        if settings.classifier is not None:
            self._classifier = TransferClassifier.load(settings.classifier)
        if self._classifier and settings.model is None:
            self.encoder: SentenceEncoder = self._classifier.encoder_
        else:
            self.encoder = models.load(settings.model)
        self.encoder.encode(["a"], lang=next(iter(self.encoder.languages), None))  # or say why not
        self._index: Index | None = None
        self._graph: ApproximateIndex | ApproximateShards | None = None
        if settings.index is None:
            for name in ("texts", "text", "approximate"):
                if getattr(settings, name):
                    raise InputError(f"{name}= belongs to an index: name it as well, index=.")
        else:
            index = open_index(settings.index, texts=settings.texts, text=settings.text)
            index.check_model(self.encoder)
            self._index = index.with_texts_at_hand()
            self._graph = open_graph(index) if settings.approximate else None

    @property
    def classifier(self) -> TransferClassifier:
        """The classifier, if one is served."""
        if self._classifier is None:
            raise RefusedError(
                404, "no classifier is served: start 'pmeans serve --classifier DIR'."
            )
        return self._classifier

    @property
    def index(self) -> Index:
        """The index, if one is served."""
        if self._index is None:
            raise RefusedError(404, "no index is served: start 'pmeans serve --index FILE'.")
        return self._index

    def embeddings(
        self,
        texts: list[str],
        lang: Lang = None,
        dimensions: int | None = None,
        encoding_format: str = "float",
        model: str | None = None,
        user: str | None = None,
    ) -> dict[str, Any]:
        """Answer as OpenAI does: rows of length 1. ``model`` and ``user`` change nothing."""
        in_base64 = encoding_format == "base64"
        rows = self._encode(self.encoder, texts, lang, dimensions, 6 if in_base64 else NUMBER)
        vectors: list[Any] = list(rows)
        if in_base64:
            little = rows.astype("<f4", copy=False)
            vectors = [base64.b64encode(row).decode("ascii") for row in little]
        words = sum(len(text.split()) for text in texts)
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": i, "embedding": vector}
                for i, vector in enumerate(vectors)
            ],
            "model": self.encoder.name,
            "usage": {"prompt_tokens": words, "total_tokens": words},
        }

    def embed(
        self,
        texts: list[str],
        lang: Lang = None,
        dimensions: int | None = None,
        normalize: bool = True,
        truncate: bool = False,
        truncation_direction: str | None = None,
        prompt_name: str | None = None,
        parts: list[tuple[str, tuple[Power, ...]]] | None = None,
    ) -> Floats:
        """Return a row per text, (n, dimensions). No text is ever cut, ``truncate`` or not."""
        encoder = self.encoder
        if parts is not None:
            encoder = chosen(models.power_means(encoder, "a choice of parts"), parts)
        return self._encode(encoder, texts, lang, dimensions, NUMBER, normalize, prompt_name)

    def _encode(
        self,
        encoder: SentenceEncoder,
        texts: list[str],
        lang: Lang,
        dimensions: int | None,
        n_bytes: int,
        normalize: bool = True,
        prompt_name: str | None = None,
    ) -> Floats:
        """Return a row per text, if an answer has room for them with so many bytes per number."""
        columns = encoder.dim if dimensions is None else min(dimensions, encoder.dim)
        self._check_rows(len(texts), columns, n_bytes)
        rows = encoder.encode(
            texts,
            prompt_name,
            lang=lang,
            truncate_dim=dimensions,
            normalize_embeddings=normalize,
            n_threads=1,
        )
        return np.ascontiguousarray(rows)

    def _check_rows(self, n_rows: int, columns: int, n_bytes: int) -> None:
        of = f"{n_rows:,} × {columns:,} numbers"
        self.settings.limits.check_answer(n_rows * columns * n_bytes, of)

    def similarity(self, texts: list[str], lang: Lang = None, parameters: object = None) -> Floats:
        """Return the cosine of the first text with each other one, (n - 1,)."""
        rows = self._encode(self.encoder, texts, lang, None, n_bytes=0)  # none of them is sent
        return self.encoder.similarity(rows[0], rows[1:])[0]

    def detect(self, texts: list[str]) -> list[dict[str, Any]]:
        """Return the language that each text is taken for, and how likely it is."""
        return [detection._asdict() for detection in self.encoder.detect(texts)]

    def classify(
        self, texts: list[str], lang: Lang = None, top_k: int | None = None
    ) -> list[dict[str, Any]]:
        """Return label, probability and language of each text, and a note where one is doubtful.

        With ``top_k``, so many classes have their probabilities as well, the likeliest first.
        """
        classifier = self.classifier
        langs = classifier.lang if lang is None else lang
        answers = single_rows(classifier, texts, langs, WordCount(), n_threads=1)
        if top_k is not None:
            best = likeliest(classifier, texts, langs, top_k, n_threads=1)
            for answer, classes in zip(answers, best, strict=True):
                answer["classes"] = classes
        return answers

    def label(
        self,
        texts: list[str],
        labels: dict[str, list[str]],
        lang: Lang = None,
        labels_lang: str | None = None,
    ) -> list[dict[str, Any]]:
        """Return one of some labels, which are described, and its probability, for each text."""
        self.settings.limits.check([text for each in labels.values() for text in each], "labels")
        encoder = models.power_means(self.encoder, "labels")
        done = label(texts, labels, model=encoder, lang=lang, labels_lang=labels_lang, n_threads=1)
        rows = zip(done.labels, done.probabilities, done.empty.tolist(), strict=True)
        return [
            {"label": name, "probability": p, "note": "no known word" if empty else ""}
            for name, p, empty in rows
        ]

    def decisions(self, texts: list[str], lang: Lang = None) -> Floats:
        """Return how much speaks for each class, (n, n_classes)."""
        return self.classifier.class_decisions(texts, lang=lang, n_threads=1)

    def ranked_classes(self, scores: Floats, top_k: int | None) -> list[list[tuple[Any, float]]]:
        """Return classes with their scores, (n, n_classes), the best first; all if k is None."""
        classes = self.classifier.fitted.classes
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
        best = np.take_along_axis(scores, order, axis=1)
        return [
            [(classes[k], score) for k, score in zip(*row, strict=True)]
            for row in zip(order.tolist(), best.tolist(), strict=True)
        ]

    def explain(
        self, texts: list[str], lang: Lang = None, label: str | None = None
    ) -> list[dict[str, Any]]:
        """Divide the decision about each text among its words."""
        classifier = self.classifier
        characters = sum(map(len, texts))
        if characters > EXPLAINED:
            raise RefusedError(
                422,
                f"{characters:,} characters: all texts to explain have at most {EXPLAINED:,}.",
            )
        each = lang if isinstance(lang, list) else [lang] * len(texts)
        if len(each) != len(texts):
            raise InputError(f"{len(texts):,} texts and {len(each):,} languages: give one each.")
        return [
            classifier.explain(text, lang=code, label=label).as_json()
            for text, code in zip(texts, each, strict=True)
        ]

    def search(
        self, texts: list[str], lang: Lang = None, k: int = 10
    ) -> list[list[dict[str, Any]]]:
        """Return the rows of the index nearest to each text, best first."""
        index, limits = self.index, self.settings.limits
        of = f"{len(texts):,} × {k:,} rows"
        limits.check_answer(len(texts) * k * ENTRY, of)
        queries = self._encode(self.encoder, texts, lang, None, n_bytes=0)
        graph = self._graph
        numbers, scores = graph.top_k(queries, k) if graph else top_k(queries, index.rows, k)
        known = index.texts_of(np.unique(numbers[numbers >= 0]).tolist())
        lengths = {row: len(text.encode("utf-8", "replace")) for row, text in known.items()}
        n_bytes = sum(lengths.get(row, 0) for row in numbers.ravel().tolist())
        limits.check_answer(n_bytes + numbers.size * ENTRY, f"{of} with their texts")
        return [
            [
                {"row": row, "score": score, "text": known.get(row)}
                for row, score in zip(*best, strict=True)
                if row >= 0
            ]
            for best in zip(numbers.tolist(), scores.tolist(), strict=True)
        ]

    def convert(
        self,
        texts: list[str],
        embedding_types: list[tuple[str, tuple[float, ...]]],
        lang: Lang = None,
    ) -> bytes:
        """Answer as the authors' program does: a line of numbers per text, as it computes them."""
        inner = models.power_means(self.encoder, "/convert")
        known = inner.spaces
        for name, _ in embedding_types:
            if name not in known:
                raise RefusedError(
                    422, f"no word space {name[:40]!r}: there are {', '.join(known)}."
                )
        parts = tuple(Part(name, powers) for name, powers in embedding_types)
        recipe = Recipe(parts, "convert", root="principal")
        encoder = inner.replace(recipe=recipe, znorm=None, alignment=None)
        self._check_rows(len(texts), encoder.dim, NUMBER)
        rows = encoder.encode(texts, lang=lang, n_threads=1)
        lines = [orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] for row in rows]
        return b"".join(line.replace(b",", b" ") + b"\n" for line in lines)

    def models(self) -> dict[str, Any]:
        """List the one model, as OpenAI does."""
        return {"object": "list", "data": [self.model(self.encoder.name)]}

    def model(self, name: str) -> dict[str, Any]:
        """Describe the one model by its name, as OpenAI does."""
        own = self.encoder.name
        if name != own:
            why = f"no model {name[:40]!r}: this server has {own!r}."
            raise RefusedError(404, why, param="model", code="model_not_found")
        return {"id": own, "object": "model", "created": self.since, "owned_by": "pmeans"}

    def build(self) -> dict[str, str]:
        """Return what is served, and by which version, for people who watch it."""
        return {
            "version": __version__,
            "model": self.encoder.name,
            "dimensions": str(self.encoder.dim),
            "python": platform.python_version(),
        }

    def info(self) -> dict[str, Any]:
        """Say what is served, and the limits."""
        classifier, index = self._classifier, self._index
        encoder = self.encoder if isinstance(self.encoder, PowerMeanEncoder) else None
        return {
            "model": self.encoder.name,
            "dimensions": self.encoder.dim,
            "languages": self.encoder.languages,
            "finds_languages": self.encoder.identifier is not None,
            "spaces": list(self.encoder.coverage(()).spaces),
            "parts": [
                [part.space, list(map(_power, part.powers))]
                for part in (encoder.recipe.parts if encoder else ())
            ],
            "znorm": encoder.recipe.znorm if encoder else "none",
            "mapped": encoder is not None and encoder.alignment is not None,
            "classifier": classifier
            and {
                "classes": classifier.fitted.classes,
                "multi_label": classifier.multi_label,
                "languages": classifier.encoder_.languages,
                "calibrated": classifier.calibrated,
            },
            "index": index and {"rows": index.rows.shape[0], "texts": index.texts is not None},
            "limits": dataclasses.asdict(self.settings.limits) | {"explained": EXPLAINED},
            "version": __version__,
        }


def _power(p: Power) -> Any:
    """Return a power as JSON has it, where no number is infinite."""
    if isinstance(p, tuple):
        return list(map(_power, p))
    return p if math.isfinite(p) else str(p)
