"""spaCy: a component that gives documents and spans our vectors.

``nlp.add_pipe("pmeans")`` finds it by its entry point where pmeans is installed; importing this
module makes it known as well. The language is that of ``nlp``; a pipeline of any language
(``spacy.blank("xx")``) has it found, document by document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pmeans.errors import InputError
from pmeans.files import optional
from pmeans.jobs import batches
from pmeans.languages.resolution import AUTO, language_of_rows
from pmeans.types import Floats

_ANY_LANGUAGE = "xx"  # spaCy's code

spacy = optional("spacy", "spacy", "pmeans.integrations.spacy")


class Vectors:
    """Sets ``doc.vector``, (dim,) float32, and by it similarities of documents and their spans."""

    def __init__(self, nlp: Any, model: str, lang: str | None) -> None:
        """Open a model for the language of a pipeline.

        Args:
            nlp: The pipeline.
            model: What `pmeans.load` opens.
            lang: Another language than that of the pipeline; ``"auto"`` finds it.
        """
        self.encoder = batches.open_encoder(model)
        chosen = lang or (AUTO if nlp.lang == _ANY_LANGUAGE else nlp.lang)
        self.lang = language_of_rows(self.encoder, chosen)

    def __call__(self, doc: Any) -> Any:
        """Give one document its vector."""
        return next(self.pipe([doc]))

    def pipe(self, stream: Iterable[Any], *, batch_size: int = 1024) -> Iterator[Any]:
        """Give the documents of a stream their vectors, many at a time."""
        for docs in spacy.util.minibatch(stream, batch_size):
            rows = self.encoder.encode([doc.text for doc in docs], lang=self.lang)
            for doc, row in zip(docs, rows, strict=True):
                doc.vector = row.copy()  # a document that stays keeps no others
                doc.user_hooks.update(has_vector=_has_vector, similarity=_similarity)
                doc.user_span_hooks.update(
                    vector=self._span_vector, has_vector=_has_vector, similarity=_similarity
                )
                yield doc

    def _span_vector(self, span: Any) -> Floats:
        return self.encoder.encode(span.text, lang=self.lang)


def _has_vector(one: Any) -> bool:
    return bool(np.any(one.vector))


def _similarity(one: Any, other: Any) -> float:
    """Return the cosine; 0 where one of the two has no known word."""
    a, b = one.vector, other.vector
    if a.shape != b.shape:
        raise InputError(
            f"a {type(one).__name__} with a vector of {a.size} numbers cannot be compared with a "
            f"{type(other).__name__} with one of {b.size}: compare documents, or spans, that went "
            "through this component."
        )
    length = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(a @ b) / length if length else 0.0


def make(nlp: Any, name: str, model: str, lang: str | None) -> Vectors:
    """Return the component that a pipeline asks for by the name ``pmeans``."""
    return Vectors(nlp, model, lang)


_DEFAULTS = {"model": "default", "lang": None}
spacy.Language.factory("pmeans", assigns=["doc.vector"], default_config=_DEFAULTS, func=make)
