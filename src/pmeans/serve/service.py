"""What is served: an encoder, perhaps a classifier and an index, and the answers they give.

Every answer takes texts that were counted already, and fields that were checked. It uses one
thread: the server works on several requests at once.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from pmeans import models
from pmeans._version import __version__
from pmeans.encoder import PowerMeanEncoder
from pmeans.errors import InputError, LanguageError
from pmeans.files import reading
from pmeans.identifier import AUTO
from pmeans.recipe import Part, Recipe
from pmeans.rows.codes import language_code
from pmeans.search import Index, open_index, top_k
from pmeans.sentence_encoder import SentenceEncoder
from pmeans.serve.chosen import chosen
from pmeans.serve.limits import Limits, RefusedError
from pmeans.transfer import TransferClassifier
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
        token: What clients must send as a bearer token; None lets everybody in.
        token_file: The file with this token, instead of it.
        limits: How much a request may ask for.
        hosts: Names of this server that a request may ask for; none are any.
    """

    model: str | None = None
    classifier: str | None = None
    index: str | None = None
    texts: str | None = None
    text: str | None = None
    token: str | None = None
    token_file: str | None = None
    limits: Limits = field(default_factory=Limits)
    hosts: tuple[str, ...] = ()


def read_token(settings: Settings) -> bytes | None:
    """Return the token that clients must send, from its file if there is one."""
    token = settings.token
    if settings.token_file is not None:
        path = Path(settings.token_file)
        with reading(path):
            token = path.read_bytes().decode("ascii", "replace").strip()
        if not token or not token.isascii() or not token.isprintable():
            raise InputError(f"{str(path)!r} has no token: write a line of ASCII into it.")
    return None if token is None else token.encode()


class Service:
    """Answers requests. Nothing in it changes after it was opened, so that threads may share it."""

    def __init__(self, settings: Settings) -> None:
        """Open what the settings name, and read the texts of the index into memory."""
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
        self._texts: dict[int, str] = {}
        self._lengths = np.zeros(0, np.int64)  # bytes of these texts
        if settings.index is None and settings.texts is not None:
            raise InputError("texts belong to an index: name it as well, index=.")
        if settings.index is not None:
            index = open_index(settings.index, texts=settings.texts, text=settings.text)
            n_rows, dim = index.rows.shape
            if dim != self.encoder.dim:
                raise InputError(
                    f"{settings.index!r} has rows of {dim} numbers and the model "
                    f"{self.encoder.name!r} makes {self.encoder.dim}: serve the model= that made "
                    "them."
                )
            self._texts = index.texts_of(range(n_rows))
            self._lengths = np.zeros(n_rows, np.int64)
            for row, indexed in self._texts.items():
                self._lengths[row] = len(indexed.encode("utf-8", "replace"))
            self._index = dataclasses.replace(index, texts=None)

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
        parts: list[tuple[str, tuple[Power, ...]]] | None = None,
    ) -> Floats:
        """Return a row per text, (n, dimensions). No text is ever cut, ``truncate`` or not."""
        encoder = self.encoder
        if parts is not None:
            encoder = chosen(models.power_means(encoder, "a choice of parts"), parts)
        return self._encode(encoder, texts, lang, dimensions, NUMBER, normalize)

    def _encode(
        self,
        encoder: SentenceEncoder,
        texts: list[str],
        lang: Lang,
        dimensions: int | None,
        n_bytes: int,
        normalize: bool = True,
    ) -> Floats:
        """Return a row per text, if an answer has room for them with so many bytes per number."""
        columns = encoder.dim if dimensions is None else min(dimensions, encoder.dim)
        self._check_rows(len(texts), columns, n_bytes)
        rows = encoder.encode(
            texts,
            lang=self._codes(encoder, lang),
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
        return [found._asdict() for found in self.encoder.detect(texts)]

    def classify(self, texts: list[str], lang: Lang = None) -> list[dict[str, Any]]:
        """Return the label of each text with its probability, and why it may be none."""
        classifier = self.classifier
        found = classifier.classify(texts, lang=self._codes(classifier.encoder_, lang))
        answers = zip(found.labels, found.probabilities, found.empty.tolist(), strict=True)
        return [
            {
                "label": label,
                "probability": p,
                "note": "no known word" if empty else "unsure" if label is None else "",
            }
            for label, p, empty in answers
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
        codes = self._codes(classifier.encoder_, lang)
        each = codes if isinstance(codes, list) else [codes] * len(texts)
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
        rows = self.index.rows
        limits, of = self.settings.limits, f"{len(texts):,} × {k:,} rows"
        limits.check_answer(len(texts) * k * ENTRY, of)
        queries = self._encode(self.encoder, texts, lang, None, n_bytes=0)
        found, scores = top_k(queries, rows, k)
        n_bytes = int(self._lengths[found[found >= 0]].sum())
        limits.check_answer(n_bytes + found.size * ENTRY, f"{of} with their texts")
        return [
            [
                {"row": row, "score": score, "text": self._texts.get(row)}
                for row, score in zip(*best, strict=True)
                if row >= 0
            ]
            for best in zip(found.tolist(), scores.tolist(), strict=True)
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
        rows = encoder.encode(texts, lang=self._codes(encoder, lang), n_threads=1)
        lines = [orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] for row in rows]
        return b"".join(line.replace(b",", b" ") + b"\n" for line in lines)

    def models(self) -> dict[str, Any]:
        """List the one model, as OpenAI does."""
        entry = {"id": self.encoder.name, "object": "model", "created": self.since}
        return {"object": "list", "data": [{**entry, "owned_by": "pmeans"}]}

    def info(self) -> dict[str, Any]:
        """Say what is served, and the limits."""
        classifier, index = self._classifier, self._index
        made = self.encoder if isinstance(self.encoder, PowerMeanEncoder) else None
        return {
            "model": self.encoder.name,
            "dimensions": self.encoder.dim,
            "languages": self.encoder.languages,
            "finds_languages": self.encoder.identifier is not None,
            "spaces": list(self.encoder.coverage(()).spaces),
            "parts": [
                [part.space, list(map(_power, part.powers))]
                for part in (made.recipe.parts if made else ())
            ],
            "znorm": made.recipe.znorm if made else "none",
            "mapped": made is not None and made.alignment is not None,
            "classifier": classifier
            and {
                "classes": classifier.fitted.classes,
                "multi_label": classifier.multi_label,
                "languages": classifier.encoder_.languages,
                "calibrated": classifier.calibrated,
            },
            "index": index and {"rows": index.rows.shape[0], "texts": bool(self._texts)},
            "limits": dataclasses.asdict(self.settings.limits) | {"explained": EXPLAINED},
            "version": __version__,
        }

    @staticmethod
    def _codes(encoder: SentenceEncoder, lang: Lang) -> Lang:
        """Return codes for languages as people write them."""
        if lang is None or lang == AUTO:
            return None
        if isinstance(lang, list):
            read = {given: Service._code(encoder, given) for given in dict.fromkeys(lang)}
            return [read[given] for given in lang]
        return Service._code(encoder, lang)

    @staticmethod
    def _code(encoder: SentenceEncoder, given: str) -> str:
        # An encoder that tells no languages apart takes any code and keeps something for each.
        if not encoder.languages and not re.fullmatch("[a-z]{2,3}", given):
            raise LanguageError(f"no language {given!r}: give its code of two or three letters.")
        return language_code(given, encoder.languages)


def _power(p: Power) -> Any:
    """Return a power as JSON has it, where no number is infinite."""
    if isinstance(p, tuple):
        return list(map(_power, p))
    return p if math.isfinite(p) else str(p)
