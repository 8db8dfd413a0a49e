"""An encoder as LangChain's `Embeddings`."""

from __future__ import annotations

from typing import Any

from pmeans.encoder.sentence_encoder import SentenceEncoder
from pmeans.files import optional

_LIBRARY = optional("langchain_core.embeddings", "langchain", "pmeans.integrations.langchain")
_Embeddings: Any = _LIBRARY.embeddings.Embeddings


class PowerMeanEmbeddings(_Embeddings):
    """Embeddings for LangChain's vector stores.

    Rows have length 1: by cosine, dot product or distance, a store finds the same neighbours.
    """

    def __init__(self, encoder: SentenceEncoder) -> None:
        """Take the encoder; ``encoder.for_language("de")`` makes one of a known language."""
        self.encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a row of dim numbers per text."""
        rows: list[list[float]] = self.encoder.encode(texts, normalize_embeddings=True).tolist()
        return rows

    def embed_query(self, text: str) -> list[float]:
        """Return the row of one text: queries are embedded as documents are."""
        return self.embed_documents([text])[0]
