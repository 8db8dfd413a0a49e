"""The ASGI application: routes, the token, limits, threads, and errors in the shape of the path."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.types import ASGIApp, Receive, Scope, Send

from pmeans.errors import InputError, LanguageError
from pmeans.kernels.machine import available_threads
from pmeans.serve.access_log import AccessLog
from pmeans.serve.cors import Cors
from pmeans.serve.inputs import FORM, read_fields, read_form, read_json
from pmeans.serve.limits import Gate
from pmeans.serve.metrics import Metrics
from pmeans.serve.observed import Observed
from pmeans.serve.openapi import describe
from pmeans.serve.page_files import PageFile, page_files
from pmeans.serve.refusals import RefusedError, error_body, status_at
from pmeans.serve.routes import CONVERT, EMBED, Route, served_routes, table_path
from pmeans.serve.service import Service, Settings
from pmeans.serve.tokens import Tokens

FEW, SHORT = 64, 4000
"""Texts and characters that are worked on at once: for so few, a thread takes longer to ask."""

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


def create_app(settings: Settings, metrics: Metrics | None = None) -> ASGIApp:
    """Open what is to be served, and return the application; workers share their metrics."""
    metrics = metrics or counters()
    metrics.start()
    app = _Application(Service(settings), metrics)
    log = None if settings.access_log == "off" else AccessLog(settings.access_log)
    return Observed(app, metrics, Cors(settings.cors_origins), log)


class _Application:
    """Starlette, with a shorter way to what the table of routes has: it takes half the time."""

    def __init__(self, service: Service, metrics: Metrics) -> None:
        self.service, self.metrics = service, metrics
        self.limits, tokens = service.settings.limits, service.settings.token_file
        self.tokens = None if tokens is None else Tokens(tokens)
        self.hosts = {name.encode() for name in service.settings.hosts}
        self.gate = Gate(self.limits.requests)
        self.threads = ThreadPoolExecutor(available_threads(), "pmeans")
        routes = served_routes(service.settings.classifier is not None)
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
        if self.hosts and not self.meant(scope):
            names = b", ".join(sorted(self.hosts)).decode()
            why = f"this server answers requests to {names}: set a token to use other names."
            refused = RefusedError(421, why, {"Connection": "close"})
            await _error(scope["path"], refused)(scope, receive, send)
            return
        route = scope["type"] == "http" and self.route(scope["method"], scope["path"])
        if not route:
            await self.app(scope, receive, send)
            return
        with ExitStack() as place:
            response = await self.respond(route, Request(scope, receive), place)
            await response(scope, receive, send)

    def route(self, method: str, path: str) -> Route | None:
        """Return the route of a request, if the table has one."""
        return self.routes.get((method, path)) or self.routes.get((method, table_path(path)))

    def meant(self, scope: Scope) -> bool:
        """Tell whether a request names this server, as far as it names any.

        A page of another site can make its own name lead here, and read what its visitor's browser
        then gets: the browser sends that name.
        """
        given = [value for name, value in scope.get("headers", ()) if name == b"host"]
        return all(re.sub(rb":\d*$", b"", each).lower() in self.hosts for each in given)

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        yield
        self.threads.shutdown()

    async def respond(self, route: Route, request: Request, place: ExitStack) -> Response:
        """Answer a request, whatever happens: until it is sent it has a place."""
        counted: dict[str, int] = request.scope["counted"]
        body = request.stream()
        try:
            self.check_token(route, request)
            if route.texts:
                _check_framing(request)
                place.enter_context(self.gate.place())
            names = route.names(request.scope["path"])
            response = await self.answer(route, names, body, counted)
        except RefusedError as refused:
            response = _error(route.path, refused)
            with contextlib.suppress(ClientDisconnect):
                await self.limits.drain(body)
        except (InputError, LanguageError) as error:
            param = "lang" if isinstance(error, LanguageError) else None
            response = _error(
                route.path, RefusedError(422, str(error), param=param, code="invalid_value")
            )
        except ClientDisconnect:
            response = _error(route.path, RefusedError(408, "the client has gone."))
        except Exception:
            _LOG.exception("error in %s, request %s", route.path, request.scope["request_id"])
            why = "an error of the server, which its log describes."
            response = _error(route.path, RefusedError(500, why))
        return response

    def check_token(self, route: Route, request: Request) -> None:
        """Refuse a request without one of the tokens."""
        if self.tokens is None or route.open:
            return
        if not self.tokens.admit(request.headers.get("authorization", "").encode("latin-1")):
            why = "the bearer token is missing or wrong: send 'Authorization: Bearer TOKEN'."
            raise RefusedError(401, why, {"WWW-Authenticate": "Bearer"})

    async def answer(
        self,
        route: Route,
        names: list[str],
        stream: AsyncIterator[bytes],
        counted: dict[str, int],
    ) -> Response:
        """Answer what is asked: the texts that count are entered in ``counted``."""
        if not route.texts:
            if route.path == "/metrics":
                return Response(self.metrics.render(self.service.build()), media_type=PROMETHEUS)
            return _json(route.answer(self.service, *names) if route.answer else self.described)
        body = await self.limits.read(stream)
        if route is EMBED and body.startswith(FORM):
            route = CONVERT
        given = read_form(body) if route.form else read_json(body)
        fields = read_fields(given, route.fields)
        texts = route.take_texts(fields)
        counted.update(characters=self.limits.check(texts, route.texts), texts=len(texts))
        work = partial(self.work, route, texts, fields)
        few = len(texts) <= FEW and counted["characters"] <= SHORT
        if few and route.quick and "parts" not in fields:  # which may ask for long rows
            return work()
        return await asyncio.get_running_loop().run_in_executor(self.threads, work)

    def work(self, route: Route, texts: list[str], fields: dict[str, Any]) -> Response:
        """Compute an answer and write it, in a thread."""
        assert route.answer is not None
        found = route.answer(self.service, texts, **fields)
        return _Answer(found, media_type="text/plain") if route.form else _json(found)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answer a request to a path or by a method that there is not."""
        assert isinstance(error, HTTPException)
        path, why = request.url.path, _WHY.get(error.status_code, error.detail)
        return _error(path, RefusedError(error.status_code, why, error.headers))


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
    for given, usual in zip(encodings, (b"identity", b"chunked", b""), strict=True):
        if given and given.lower() != usual:
            why = f"send the body as it is by HTTP/1.1, without {given[:40].decode('latin-1')!r}."
            raise RefusedError(415, why, {"Connection": "close"})


def _json(found: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = orjson.dumps(found, option=orjson.OPT_SERIALIZE_NUMPY)
    return _Answer(body, status, headers, media_type="application/json")


def _error(path: str, refused: RefusedError) -> Response:
    """Return an error in the shape of the path."""
    status = status_at(path, refused.status)
    return _json(error_body(path, refused), status, refused.headers)
