"""The description of the server, written from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pmeans._version import __version__
from pmeans.serve.refusals import OPENAI, TEI_TYPES, status_at
from pmeans.serve.routes import CONVERT, EMBED, Route

_REFUSALS = {
    401: "the token is missing or wrong",
    404: "what is asked for is not served",
    408: "the request did not arrive in time",
    413: "the body is too long",
    415: "the body is compressed, an upgrade is asked for, or another site sends no JSON",
    422: "a field is wrong, there is too much text, or the answer would be too long",
    429: "too many requests at a time",
    503: "the server stops, or clients have too many connections or untaken answers",
}


def _closed(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object with these fields and no other."""
    return {
        "type": "object",
        "required": [*properties],
        "properties": properties,
        "additionalProperties": False,
    }


_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_TEXT, _MAYBE = {"type": "string"}, {"type": ["string", "null"]}
_OPENAI = _closed(error=_closed(message=_TEXT, type=_TEXT, param=_MAYBE, code=_MAYBE))
_TEI = _closed(error=_TEXT, error_type={"enum": ["Validation", *TEI_TYPES.values()]})


def describe(routes: Iterable[Route], with_token: bool) -> dict[str, Any]:
    """Return the OpenAPI document of these routes."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "pmeans", "version": __version__},
        "paths": {route.path: {route.method.lower(): _operation(route)} for route in routes},
    }
    page = {"description": "OK", "content": {"text/html": {"schema": _TEXT}}}
    document["paths"]["/"]["get"] = {
        "summary": "Show a page to try all of this on.",
        "operationId": "page",
        "responses": {"200": page},
        "security": [],
    }
    if with_token:
        scheme = {"type": "http", "scheme": "bearer"}
        document["components"] = {"securitySchemes": {"token": scheme}}
        document["security"] = [{"token": []}]
        for route in routes:
            if route.open:
                document["paths"][route.path][route.method.lower()]["security"] = []
    return document


def _operation(route: Route) -> dict[str, Any]:
    error = {_JSON: {"schema": _OPENAI if route.path.startswith(OPENAI) else _TEI}}
    kind = "text/plain" if route.returns.get("type") == "string" else _JSON
    content = {kind: {"schema": route.returns}}
    if route is EMBED:
        content["text/plain"] = {"schema": CONVERT.returns}
    answer = {"description": "OK", "content": content}
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", route.path).strip("_") or "default",
        "responses": {"200": answer}
        | {
            str(status_at(route.path, status)): {"description": why, "content": error}
            for status, why in _REFUSALS.items()
            if route.texts or status in (401, 503) or (route.parameter and status == 404)
        },
    }
    if route.parameter:
        name = {"name": route.parameter, "in": "path", "required": True, "schema": _TEXT}
        operation["parameters"] = [name]
    if route.texts:
        operation["requestBody"] = {"required": True, "content": _body(route)}
    return operation


def _body(route: Route) -> dict[str, Any]:
    schema = {
        "type": "object",
        "required": [name for name, field in route.fields.items() if field.required],
        "properties": {name: field.schema for name, field in route.fields.items()},
        "additionalProperties": False,
    }
    if not route.form:
        return {_JSON: {"schema": schema}} | (_body(CONVERT) if route is EMBED else {})
    form = {"type": "object", "required": ["conversion"], "properties": {"conversion": schema}}
    return {_FORM: {"schema": form, "encoding": {"conversion": {"contentType": _JSON}}}}
