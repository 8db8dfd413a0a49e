"""The ASGI application: routes, the token, limits, threads, and errors in the shape of the path.

The event loop must stay free, or nobody learns that the server lives. Small requests are worked on
right there, because a thread takes longer to ask; but only one of them each time that the loop has
looked for new requests. All others are read, worked on and written by threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from pmeans.errors import InputError, LanguageError
from pmeans.kernels.machine import available_threads
from pmeans.serve.bodies import Body, write_json
from pmeans.serve.inputs import FORM, read_fields, read_form, read_json
from pmeans.serve.limits import RefusedError
from pmeans.serve.metrics import Metrics
from pmeans.serve.openapi import describe
from pmeans.serve.page_files import page_files
from pmeans.serve.routes import CONVERT, EMBED, ROUTES, Route
from pmeans.serve.service import Service, Settings, read_token
from pmeans.serve.traffic import SMALL, Traffic

FEW, SHORT = 64, 4000
"""Texts and characters that are worked on at once: for so few, a thread takes longer to ask."""

DRAINED = 16
"""So many times the allowed body is read and dropped before a refusal is sent."""

_TYPES = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error"}
_WHY = {
    404: "nothing is at this path: /openapi.json describes what there is.",
    405: "this path takes another method, which the header Allow names.",
}
_LOG = logging.getLogger("pmeans.serve")


def counters() -> Metrics:
    """Return the counters of all routes."""
    return Metrics([route.path for route in ROUTES])


def create_app(settings: Settings, metrics: Metrics | None = None) -> Application:
    """Open what is to be served, and return the application; workers share their metrics."""
    return Application(Service(settings), metrics or counters())


class Application:
    """Starlette, with a shorter way to what the table of routes has: it takes half the time."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self.service, self.metrics = service, metrics
        self.limits = service.settings.limits
        self.token = read_token(service.settings)
        self.hosts = {name.encode() for name in service.settings.hosts}
        self.traffic = Traffic(self.limits)
        self.turn = asyncio.Lock()
        self.threads = ThreadPoolExecutor(available_threads(), "pmeans")
        self.free = asyncio.Semaphore(available_threads())
        self.described = describe(ROUTES, self.token is not None)
        self.app = Starlette(
            routes=[
                # Of these it answers other methods alone.
                *(Path(route.path, self, methods=[route.method]) for route in ROUTES),
                *(Path(file.path, file.respond) for file in page_files()),
            ],
            exception_handlers={HTTPException: self.unknown},
            lifespan=self.lifespan,
        )
        self.app.router.redirect_slashes = False
        self.routes = {(route.method, route.path): route for route in ROUTES}
        self.routes |= {("HEAD", route.path): route for route in ROUTES if not route.texts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have Starlette answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = Body(scope, receive)
        route = self.routes.get((scope["method"], scope["path"]))
        answer: ASGIApp = self.app
        if self.hosts and not self.meant(scope):
            names = b", ".join(sorted(self.hosts)).decode()
            why = f"this server answers requests to {names}: set a token to use other names."
            answer = _error(scope["path"], 421, why, {"Connection": "close"})
        elif route is not None:
            answer = await self.respond(route, Request(scope), body)
        # What is left of a body must not be taken for the next request.
        await body.drain(DRAINED * self.limits.body)
        length = len(answer.body) if isinstance(answer, Response) else 0
        with self.traffic.answer(length):
            await answer(scope, receive, send if body.ended else _closing(send))

    def meant(self, scope: Scope) -> bool:
        """Tell whether a request names this server, as far as it names any.

        A page of another site can make its own name lead here, and read what its visitor's browser
        then gets: the browser sends that name.
        """
        given = [value for name, value in scope.get("headers", ()) if name == b"host"]
        return all(re.sub(rb":\d*$", b"", each).lower() in self.hosts for each in given)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """End the threads with the server."""
        yield
        self.threads.shutdown()

    async def reload(self) -> None:
        """Open what is served and read the token again: whoever asks from then on gets the new."""
        settings = self.service.settings
        self.service, self.token = await asyncio.to_thread(
            lambda: (Service(settings), read_token(settings))
        )

    async def respond(self, route: Route, request: Request, body: Body) -> Response:
        """Return the answer to a request, whatever happens, and count it."""
        begin = time.perf_counter()
        counted: dict[str, int] = {}
        try:
            if not route.open:
                self.traffic.check_connections()
            self.check_token(route, request)
            if route.texts:
                _check_origin(request)
                _check_framing(request)
            response = await self.answer(route, body, counted)
        except RefusedError as refused:
            response = _error(route.path, refused.status, str(refused), refused.headers)
        except (InputError, LanguageError) as error:
            response = _error(route.path, 422, str(error))
        except ClientDisconnect:
            response = _error(route.path, 408, "the client has gone.")
        except Exception:
            _LOG.exception("error in %s", route.path)
            response = _error(route.path, 500, "an error of the server, which its log describes.")
        seconds = time.perf_counter() - begin
        self.metrics.count(route.path, response.status_code, seconds, **counted)
        return response

    def check_token(self, route: Route, request: Request) -> None:
        """Refuse a request without the right token, in the same time wherever it differs."""
        if self.token is None or route.open:
            return
        given = request.headers.get("authorization", "").encode("latin-1")
        if not hmac.compare_digest(given, b"Bearer " + self.token):
            why = "the bearer token is missing or wrong: send 'Authorization: Bearer TOKEN'."
            raise RefusedError(401, why, {"WWW-Authenticate": "Bearer"})

    async def answer(self, route: Route, body: Body, counted: dict[str, int]) -> Response:
        """Answer what is asked: the texts that count are entered in ``counted``."""
        if not route.texts:
            if route.path == "/metrics":
                return Response(self.metrics.render(), media_type="text/plain; version=0.0.4")
            if route.path == "/ready" and (why := self.traffic.refusal()):
                raise RefusedError(503, f"not ready: {why}")
            return _json(route.answer(self.service) if route.answer else self.described)
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
        given = read_form(content) if route.form else read_json(content)
        fields = read_fields(given, route.fields)
        texts = fields.pop(route.texts)
        counted.update(characters=self.limits.check(texts), texts=len(texts))
        return route, texts, fields

    def work(self, route: Route, texts: list[str], fields: dict[str, Any]) -> Response:
        """Compute an answer and write it."""
        assert route.answer is not None
        found = route.answer(self.service, texts, **fields)
        response = _Answer(found, media_type="text/plain") if route.form else _json(found)
        self.limits.check_answer(len(response.body), "these texts")
        return response

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answer a request to a path or by a method that there is not."""
        assert isinstance(error, HTTPException)
        path, why = request.url.path, _WHY.get(error.status_code, error.detail)
        self.metrics.count(path, error.status_code, 0.0)
        return _error(path, error.status_code, why, dict(error.headers or {}))


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


def _check_origin(request: Request) -> None:
    """Refuse what a page of another site can send without asking first, which JSON it cannot."""
    headers = request.headers
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    foreign = origin is not None and origin.partition("://")[2] != headers.get("host")
    if foreign or site not in ("same-origin", "none"):
        kind = headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            why = (
                f"a page of another site sends {kind[:40]!r}: it has to send JSON, with "
                "'Content-Type: application/json'."
            )
            raise RefusedError(415, why)


def _check_framing(request: Request) -> None:
    """Refuse a body that is not sent as it is: a small one may hold a large one, or be lost."""
    headers = dict(request.scope["headers"])
    upgrade = headers.get(b"upgrade") and b"an upgrade to " + headers[b"upgrade"]
    encodings = headers.get(b"content-encoding"), headers.get(b"transfer-encoding"), upgrade
    for given, usual in zip(encodings, (b"identity", b"chunked", b""), strict=True):
        if given and given.lower() != usual:
            why = f"send the body as it is by HTTP/1.1, without {given[:40].decode('latin-1')!r}."
            raise RefusedError(415, why, {"Connection": "close"})


def _json(found: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return _Answer(write_json(found), status, headers, media_type="application/json")


def _error(path: str, status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error: as OpenAI writes it where its clients ask, else one sentence."""
    if not path.startswith("/v1/"):
        return _json({"error": why}, status, headers)
    kind = _TYPES.get(status, "invalid_request_error")
    return _json({"error": {"message": why, "type": kind, "code": status}}, status, headers)
