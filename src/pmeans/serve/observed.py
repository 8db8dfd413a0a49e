"""The application as operators see it: every request has a name, is counted, and may be logged.

It stands around the application, so that nothing is answered unseen: also refusals by name, unknown
paths, and the files of the page.

The access log is a line per answered request, on standard output. A thread writes it, so that a
reader who is slow, or has stopped reading, never holds up an answer. Lines that wait are bounded.
Those that had to be dropped are counted, and the log says how many.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import time
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Literal

import orjson
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from pmeans.serve.access import PREFLIGHT, Cors
from pmeans.serve.application import Application, counters
from pmeans.serve.metrics import Metrics
from pmeans.serve.routes import table_path
from pmeans.serve.service import Settings

_SANE = re.compile(rb"[\w.:/+=@-]{1,128}")  # what may be a request's name in logs and headers
Form = Literal["plain", "json"]
WAITING = 10_000
"""Lines that wait to be written, at most."""
_LONGEST = 300  # characters of a path, so that a line is far shorter than a piece
_PIECE = 4096  # bytes that a pipe takes as a whole
_PAUSE = 0.1  # seconds in which lines gather


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


@dataclass(frozen=True, slots=True)
class Entry:
    """What is logged of a request.

    Attributes:
        time: When it came, in seconds since 1970.
        client: The address it came from; that of a proxy if there is one.
        method: Of the request.
        path: As it was sent, without what follows a question mark.
        status: Of the answer; None if the client left before there was one.
        bytes: Of the answer's body.
        seconds: Until the answer began.
        texts: How many were worked on.
        request_id: The name of the request, which the answer has as well.
    """

    time: float
    client: str
    method: str
    path: str
    status: int | None
    bytes: int
    seconds: float
    texts: int
    request_id: str


_FIELDS = tuple(field.name for field in dataclasses.fields(Entry))


class AccessLog:
    """Writes entries to a file descriptor, as lines for people or as JSON."""

    def __init__(self, form: Form, descriptor: int = 1) -> None:
        """Start the thread that writes."""
        self._json, self._descriptor = form == "json", descriptor
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._dropped = 0
        self._thread = Thread(target=self._run, name="pmeans access log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Have an entry written, or drop it if too many wait."""
        if self._queue.qsize() < WAITING:
            self._queue.put(entry)
        else:
            self._dropped += 1

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, for as long as this may take."""
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        waiting: list[Entry | None] = []
        try:
            while None not in waiting:
                waiting = [self._queue.get()]
                if waiting[0] is not None:
                    time.sleep(_PAUSE)  # to wake up per request would cost as much as to answer it
                while not self._queue.empty():
                    waiting.append(self._queue.get())
                self._write([self._line(entry) for entry in waiting if entry is not None])
        except OSError:  # nobody reads it any more: the rest is dropped
            return

    def _write(self, lines: list[bytes]) -> None:
        """Write whole lines, in pieces that those of other processes do not cut."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            lines.append(self._lost(dropped))
        piece = b""
        for line in lines:
            if len(piece) + len(line) > _PIECE:
                os.write(self._descriptor, piece)
                piece = b""
            piece += line
        if piece:
            os.write(self._descriptor, piece)

    def _line(self, entry: Entry) -> bytes:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(entry.time))
        stamp += f".{int(entry.time % 1 * 1000):03d}Z"
        path, seconds = entry.path[:_LONGEST], round(entry.seconds, 6)
        if self._json:
            shown = {"time": stamp, "path": path, "seconds": seconds}
            fields = {name: shown.get(name, getattr(entry, name)) for name in _FIELDS}
            return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
        status = "-" if entry.status is None else entry.status
        return (
            f'{stamp} {entry.client} "{entry.method} {path}" {status} {entry.bytes} B '
            f"{seconds:.6f} s {entry.texts} texts {entry.request_id}\n"
        ).encode("utf-8", "backslashreplace")

    def _lost(self, dropped: int) -> bytes:
        if self._json:
            return orjson.dumps({"dropped": dropped}, option=orjson.OPT_APPEND_NEWLINE)
        return f"{dropped} lines were dropped: nobody read them.\n".encode()
