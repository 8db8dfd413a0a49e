"""The server that `serve.py` compares with: FastAPI and a static model, as people write it."""

from __future__ import annotations

import base64
import os
from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer


class Asked(BaseModel):
    """A request."""

    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"
    model: str = ""


class Embedding(BaseModel):
    """A row of an answer."""

    object: str = "embedding"
    index: int
    embedding: list[float] | str


class Answer(BaseModel):
    """An answer: returned as such, pydantic writes it, several times faster than FastAPI a dict."""

    object: str = "list"
    data: list[Embedding]
    model: str
    usage: dict[str, int]


app = FastAPI()
model: Any = SentenceTransformer(os.environ["PEER_MODEL"], device="cpu")


@app.post("/v1/embeddings")
def embeddings(asked: Asked) -> Answer:
    """Embed texts, as OpenAI does."""
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    rows = model.encode(texts, normalize_embeddings=True)
    vectors: list[Any] = rows.tolist()
    if asked.encoding_format == "base64":
        vectors = [base64.b64encode(row.tobytes()).decode() for row in rows]
    words = sum(len(text.split()) for text in texts)
    return Answer(
        data=[Embedding(index=i, embedding=vector) for i, vector in enumerate(vectors)],
        model="static",
        usage={"prompt_tokens": words, "total_tokens": words},
    )


@app.get("/health")
def health() -> dict[str, str]:
    """Say that the server runs."""
    return {"status": "ok"}
