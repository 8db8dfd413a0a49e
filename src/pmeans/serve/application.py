"""The ASGI application: routes, the token, limits, threads, and errors in the shape of the path.

The event loop must stay free, or nobody learns that the server lives. Small requests are worked on
right there, because a thread takes longer to ask; but only one of them each time that the loop has
looked for new requests. All others are read, worked on and written by threads. orjson keeps the GIL
while it writes, so a long answer is written in slices, between which the event loop gets its turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from pmeans.errors import InputError, LanguageError
from pmeans.kernels.machine import available_threads
from pmeans.serve.access import Cors, Tokens
from pmeans.serve.inputs import FORM, read_fields, read_form, read_json
from pmeans.serve.metrics import Metrics
from pmeans.serve.openapi import describe
from pmeans.serve.page_files import PageFile, page_files
from pmeans.serve.refusals import RefusedError, error_body, status_at
from pmeans.serve.routes import CONVERT, EMBED, Route, served_routes, table_path
from pmeans.serve.service import Service, Settings
from pmeans.serve.traffic import SMALL, Body, Traffic

SLICE = 64
"""Rows of an answer that are written at once."""
FEW, SHORT = 64, 4000
"""Texts and characters that are worked on at once: for so few, a thread takes longer to ask."""

DRAINED = 16
"""So many times the allowed body is read and dropped before a refusal is sent."""

PROMETHEUS = "text/plain; version=0.0.4"
"""The type of the metrics."""

_WHY = {
    404: "nothing is at this path: /openapi.json describes what there is.",
    405: "this path takes another method, which the header Allow names.",
}
_LOG = logging.getLogger("pmeans.serve")


def counters(workers: int = 1) -> Metrics:
    """Return the counters of all routes, for so many processes."""
    return Metrics([route.path for route in served_routes(classifier=False)], workers)


class Application:
    """Starlette, with a shorter way to what the table of routes has: it takes half the time."""

    def __init__(self, settings: Settings, metrics: Metrics, cors: Cors) -> None:
        """Open what is to be served."""
        self.service, self.metrics, self.cors = Service(settings), metrics, cors
        self.limits, self.tokens = settings.limits, _tokens(settings)
        self.hosts = {name.encode() for name in settings.hosts}
        self.traffic = Traffic(self.limits)
        self.turn = asyncio.Lock()
        self.threads = ThreadPoolExecutor(available_threads(), "pmeans")
        self.free = asyncio.Semaphore(available_threads())
        routes = served_routes(settings.classifier is not None)
        self.described = describe(routes, self.tokens is not None)

        def methods(file: PageFile) -> list[str]:
            """Return those of a page's path; TEI's default path is the page's as well."""
            return ["GET", *(route.method for route in routes if route.path == file.path)]

        self.app = Starlette(
            routes=[
                *(Path(file.path, file.respond, methods=methods(file)) for file in page_files()),
                # Of these it answers other methods alone.
                *(Path(route.path, self, methods=[route.method]) for route in routes),
            ],
            exception_handlers={HTTPException: self.unknown},
            lifespan=self.lifespan,
        )
        self.app.router.redirect_slashes = False
        self.routes = {(route.method, route.path): route for route in routes}
        self.routes |= {("HEAD", route.path): route for route in routes if not route.texts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have Starlette answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = Body(scope, receive)
        route = self.route(scope["method"], scope["path"])
        answer: ASGIApp = self.app
        if self.hosts and not self.meant(scope):
            names = b", ".join(sorted(self.hosts)).decode()
            why = f"this server answers requests to {names}: set a token to use other names."
            answer = _error(scope["path"], RefusedError(421, why, {"Connection": "close"}))
        elif route is not None:
            answer = await self.respond(route, Request(scope), body)
        # What is left of a body must not be taken for the next request.
        await body.drain(DRAINED * self.limits.body)
        length = len(answer.body) if isinstance(answer, Response) else 0
        with self.traffic.answer(length):
            await answer(scope, receive, send if body.ended else _closing(send))

    def route(self, method: str, path: str) -> Route | None:
        """Return the route of a request, if the table has one."""
        return self.routes.get((method, path)) or self.routes.get((method, table_path(path)))

    def meant(self, scope: Scope) -> bool:
        """Tell whether a request names this server, as far as it names any.

        A page of another site can make its own name lead here, and read what its visitor's browser
        then gets: the browser sends that name.
        """
        hosts = [value for name, value in scope.get("headers", ()) if name == b"host"]
        return all(re.sub(rb":\d*$", b"", each).lower() in self.hosts for each in hosts)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End the threads with the server."""
        yield
        self.threads.shutdown()

    async def reload(self) -> None:
        """Open what is served and read the tokens again: whoever asks from then on gets the new."""
        settings = self.service.settings
        self.service, self.tokens = await asyncio.to_thread(
            lambda: (Service(settings), _tokens(settings))
        )

    async def respond(self, route: Route, request: Request, body: Body) -> Response:
        """Return the answer to a request, whatever happens."""
        counted: dict[str, int] = request.scope["counted"]
        try:
            if not route.open:
                self.traffic.check_connections()
            self.check_token(route, request)
            if route.texts:
                self.check_origin(request)
                _check_framing(request)
            names = route.names(request.scope["path"])
            return await self.answer(route, names, body, counted)
        except RefusedError as error:
            refused = error
        except (InputError, LanguageError) as error:
            param = "lang" if isinstance(error, LanguageError) else None
            refused = RefusedError(422, str(error), param=param, code="invalid_value")
        except ClientDisconnect:
            refused = RefusedError(408, "the client has gone.")
        except Exception:
            _LOG.exception("error in %s, request %s", route.path, request.scope["request_id"])
            refused = RefusedError(500, "an error of the server, which its log describes.")
        return _error(route.path, refused)

    def check_token(self, route: Route, request: Request) -> None:
        """Refuse a request without one of the tokens."""
        if self.tokens is None or route.open:
            return
        if not self.tokens.admit(request.headers.get("authorization", "").encode("latin-1")):
            why = "the bearer token is missing or wrong: send 'Authorization: Bearer TOKEN'."
            raise RefusedError(401, why, {"WWW-Authenticate": "Bearer"})

    def check_origin(self, request: Request) -> None:
        """Refuse what a page of another site can send without asking first, which JSON it cannot.

        Pages of the origins that CORS admits may send what they like.
        """
        headers = request.headers
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and self.cors.admit(origin.encode("latin-1")):
            return
        foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
        kind = headers.get("content-type", "")
        is_json = kind.partition(";")[0].strip().lower() == "application/json"
        if (foreign or site not in ("same-origin", "none")) and not is_json:
            why = (
                f"a page of another site sends {kind[:40]!r}: it has to send JSON, with "
                "'Content-Type: application/json'."
            )
            raise RefusedError(415, why)

    async def answer(
        self, route: Route, names: list[str], body: Body, counted: dict[str, int]
    ) -> Response:
        """Answer what is asked: the texts that count are entered in ``counted``."""
        if not route.texts:
            if route.path == "/metrics":
                return Response(self.metrics.render(self.service.build()), media_type=PROMETHEUS)
            if route.path == "/ready" and (why := self.traffic.refusal()):
                raise RefusedError(503, f"not ready: {why}")
            return _json(route.answer(self.service, *names) if route.answer else self.described)
        with self.traffic.body() as room:
            return await self.compute(route, await body.read(room), counted)

    async def compute(self, route: Route, content: bytes, counted: dict[str, int]) -> Response:
        """Answer a whole request: on the event loop if it is small, else in a thread."""
        if len(content) > SMALL:
            return await self.in_thread(lambda: self.work(*self.read(route, content, counted)))
        route, texts, fields = self.read(route, content, counted)
        work = partial(self.work, route, texts, fields)
        few = len(texts) <= FEW and counted["characters"] <= SHORT
        if few and route.quick and "parts" not in fields:  # which may ask for long rows
            await self.turn.acquire()
            asyncio.get_running_loop().call_soon(self.turn.release)
            self.traffic.check_answers()
            return work()
        return await self.in_thread(work)

    async def in_thread(self, work: Callable[[], Response]) -> Response:
        """Return what a thread answers, if there is a place to wait for one."""
        with self.traffic.place():
            async with self.free:
                self.traffic.check_answers()
                return await asyncio.get_running_loop().run_in_executor(self.threads, work)

    def read(
        self, route: Route, content: bytes, counted: dict[str, int]
    ) -> tuple[Route, list[str], dict[str, Any]]:
        """Return what a body asks for: the route, for that of a form, its texts, other fields."""
        if route is EMBED and content.startswith(FORM):
            route = CONVERT
        content_fields = read_form(content) if route.form else read_json(content)
        fields = read_fields(content_fields, route.fields)
        texts = route.take_texts(fields)
        counted.update(characters=self.limits.check(texts, route.texts), texts=len(texts))
        return route, texts, fields

    def work(self, route: Route, texts: list[str], fields: dict[str, Any]) -> Response:
        """Compute an answer and write it."""
        assert route.answer is not None
        answer = route.answer(self.service, texts, **fields)
        response = _Answer(answer, media_type="text/plain") if route.form else _json(answer)
        self.limits.check_answer(len(response.body), "these texts")
        return response

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answer a request to a path or by a method that there is not."""
        assert isinstance(error, HTTPException)
        path, why = request.url.path, _WHY.get(error.status_code, error.detail)
        return _error(path, RefusedError(error.status_code, why, error.headers))


def _tokens(settings: Settings) -> Tokens | None:
    return None if settings.token_file is None else Tokens(settings.token_file)


def _closing(send: Send) -> Send:
    """Return what sends an answer after which the connection ends."""

    async def send_and_close(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            others = [pair for pair in message["headers"] if pair[0] != b"connection"]
            message["headers"] = [*others, (b"connection", b"close")]
        await send(message)

    return send_and_close


class _Answer(Response):
    """An answer that has been sent once the client has taken nearly all of it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        await send({"type": "http.response.body", "body": b""})  # waits for its turn


def _check_framing(request: Request) -> None:
    """Refuse a body that is not sent as it is: a small one may hold a large one, or be lost."""
    headers = dict(request.scope["headers"])
    upgrade = headers.get(b"upgrade") and b"an upgrade to " + headers[b"upgrade"]
    encodings = headers.get(b"content-encoding"), headers.get(b"transfer-encoding"), upgrade
    for encoding, usual in zip(encodings, (b"identity", b"chunked", b""), strict=True):
        if encoding and encoding.lower() != usual:
            why = (
                f"send the body as it is by HTTP/1.1, without {encoding[:40].decode('latin-1')!r}."
            )
            raise RefusedError(415, why, {"Connection": "close"})


def _json(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return _Answer(write_json(content), status, headers, media_type="application/json")


def write_json(value: Any) -> bytes:
    """Return a value as JSON; a long list or array of it slice by slice."""
    if isinstance(value, dict):
        members = (orjson.dumps(name) + b":" + write_json(each) for name, each in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list | np.ndarray) and len(value) > SLICE:
        slices = (_dumps(value[i : i + SLICE])[1:-1] for i in range(0, len(value), SLICE))
        return b"[" + b",".join(slices) + b"]"
    return _dumps(value)


def _dumps(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def _error(path: str, refused: RefusedError) -> Response:
    """Return an error in the shape of the path."""
    status = status_at(path, refused.status)
    return _json(error_body(path, refused), status, refused.headers)
