"""The application as operators see it: every request has a name, is counted, and may be logged.

It stands around the application, so that nothing is answered unseen: also refusals by name, unknown
paths, and the files of the page.
"""

from __future__ import annotations

import itertools
import os
import re
import time

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from pmeans.serve.access_log import AccessLog, Entry
from pmeans.serve.application import Application, counters
from pmeans.serve.cors import PREFLIGHT, Cors
from pmeans.serve.metrics import Metrics
from pmeans.serve.routes import table_path
from pmeans.serve.service import Settings

_SANE = re.compile(rb"[\w.:/+=@-]{1,128}")  # what may be a request's name in logs and headers


def create_app(settings: Settings, metrics: Metrics | None = None) -> Observed:
    """Open what is to be served, and return the application; workers share their metrics."""
    metrics = metrics or counters()
    metrics.start()
    cors = Cors(settings.cors_origins)
    log = None if settings.access_log == "off" else AccessLog(settings.access_log)
    return Observed(Application(settings, metrics, cors), metrics, cors, log)


class Observed:
    """An application whose requests are named, counted and logged; preflights are answered here."""

    def __init__(
        self, app: Application, metrics: Metrics, cors: Cors, access_log: AccessLog | None
    ) -> None:
        self.app, self.metrics, self.cors, self.access_log = app, metrics, cors, access_log
        self.prefix, self.numbers = os.urandom(6).hex(), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note what became of it."""
        if scope["type"] != "http":
            try:
                await self.app(scope, receive, send)
            finally:
                if self.access_log is not None:
                    self.access_log.close()
            return
        begin, came = time.perf_counter(), time.time()
        asked = dict(scope["headers"])
        name = asked.get(b"x-request-id", b"")
        if not _SANE.fullmatch(name):
            name = b"%s-%x" % (self.prefix.encode(), next(self.numbers))
        origin = asked.get(b"origin")
        added = [(b"x-request-id", name), *self.cors.headers(origin)]
        scope["request_id"] = name.decode("ascii")
        counted: dict[str, int] = {}
        scope["counted"] = counted
        path = table_path(scope["path"])
        status: int | None = None
        seconds, length = 0.0, 0

        async def observe(message: Message) -> None:
            nonlocal status, seconds, length
            if message["type"] == "http.response.start":
                status, seconds = message["status"], time.perf_counter() - begin
                self.metrics.count(path, message["status"], seconds, **counted)
                message["headers"] = [*message.get("headers", ()), *added]
            elif message["type"] == "http.response.body":
                length += len(message.get("body", b""))
            await send(message)

        with self.metrics.in_flight(path):
            try:
                preflight = b"access-control-request-method" in asked and self.cors.admit(origin)
                if preflight and scope["method"] == "OPTIONS":
                    await Response(None, 204, PREFLIGHT)(scope, receive, observe)
                else:
                    await self.app(scope, receive, observe)
            finally:
                if self.access_log is not None:
                    entry = Entry(
                        time=came,
                        client=(scope.get("client") or "-")[0],
                        method=scope["method"],
                        path=scope.get("raw_path", b"-").decode("latin-1"),
                        status=status,
                        bytes=length,
                        seconds=seconds or time.perf_counter() - begin,
                        texts=counted.get("texts", 0),
                        request_id=scope["request_id"],
                    )
                    self.access_log.write(entry)
