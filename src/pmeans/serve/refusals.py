"""Errors as clients read them: OpenAI's object under ``/v1``, everywhere else TEI's two fields.

Connections refuse requests that no application has seen yet. They send the same JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

OPENAI = "/v1/"
"""How the paths begin whose errors are OpenAI's."""

TEI_TYPES = {429: "Overloaded", 500: "Backend", 503: "Unhealthy"}
"""What text-embeddings-inference calls errors by their status; all others are ``Validation``."""

_OPENAI_TYPES = {
    401: "authentication_error",
    429: "rate_limit_error",
    500: "server_error",
    503: "server_error",
}
_OPENAI_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}


class RefusedError(Exception):
    """A request that gets an error for an answer.

    Attributes:
        status: Of the answer. OpenAI's paths send 400 instead of 422.
        headers: Further headers of the answer.
        param: The field that is wrong, if it is one.
        code: What OpenAI's clients tell errors apart by.
    """

    def __init__(
        self,
        status: int,
        why: str,
        headers: Mapping[str, str] | None = None,
        *,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(why)
        self.status, self.headers = status, dict(headers or {})
        self.param, self.code = param, code


def status_at(path: str, status: int) -> int:
    """Return the status that a client of this path expects."""
    return 400 if status == 422 and path.startswith(OPENAI) else status


def error_body(path: str, refused: RefusedError) -> dict[str, Any]:
    """Return an error in the shape of the path."""
    status, why = refused.status, str(refused)
    if not path.startswith(OPENAI):
        return {"error": why, "error_type": TEI_TYPES.get(status, "Validation")}
    return {
        "error": {
            "message": why,
            "type": _OPENAI_TYPES.get(status, "invalid_request_error"),
            "param": refused.param,
            "code": refused.code or _OPENAI_CODES.get(status),
        }
    }


def closing_answer(path: str, refused: RefusedError) -> bytes:
    """Return the bytes of an error after which the connection ends."""
    status = HTTPStatus(status_at(path, refused.status))
    body = orjson.dumps(error_body(path, refused))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
