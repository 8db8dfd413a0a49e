"""Connections that do not wait for ever, and do not keep all that they are sent.

uvicorn waits without end for a request to arrive and for its answer to be taken, and stores heads
of any length. Here each of the two has its seconds, and bytes are counted. The parser is
always httptools: h11 takes a request that is framed in two ways, by which others are smuggled in.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn import Config
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from pmeans.serve.limits import DRAINED, Limits
from pmeans.serve.metrics import Metrics
from pmeans.serve.refusals import RefusedError, closing_answer, error_body

HEAD = 65_536
"""Bytes of the head of a request, and of what may frame its body beyond the allowed."""

_LATE = RefusedError(408, "the request did not arrive in time: send it without a pause.")
_LARGE = RefusedError(413, "the body is too long: send fewer texts in a request.")
_LONG = RefusedError(431, f"the head of the request is too long: it has at most {HEAD:,} bytes.")
_FULL = RefusedError(503, "there are too many connections: try again in a second.")


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    body = error_body(scope["path"], _FULL)
    headers = {"Connection": "close", "Retry-After": "1"}
    await JSONResponse(body, _FULL.status, headers)(scope, receive, send)


class LimitedConfig(Config):
    """uvicorn's configuration with our limits and counters, for its connections to see."""

    def __init__(self, app: Any, *, limits: Limits, metrics: Metrics, **kwargs: Any) -> None:
        super().__init__(app, http=LimitedConnection, **kwargs)
        self.limits, self.metrics = limits, metrics


class LimitedConnection(HttpToolsProtocol):
    """A connection with an end to every wait."""

    config: LimitedConfig
    _received = 0
    _deadline: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self.config.metrics.connected(1)
        # Or the end of each answer would wait for the client to confirm its beginning: 40 ms.
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._expected()
        self._taken()
        self.config.metrics.connected(-1)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what has arrived, unless there is too much of it."""
        if not self._busy():
            self._expect()
        self._received += len(data)
        super().data_received(data)
        allowed = HEAD
        if self._busy():
            allowed += (DRAINED + 1) * self.config.limits.body
        if self._received > allowed:
            self._refuse(_LARGE if self._busy() else _LONG)

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not a request."""
        why = "this is not a request of HTTP/1.1, or it can be read in two ways."
        self.transport.write(closing_answer("", RefusedError(400, why)))
        self.transport.close()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer what has arrived whole, also to a client that has closed its own side."""
        whole = self._busy() and not self.cycle.more_body
        if whole:
            self.cycle.keep_alive = False
        return whole

    def on_message_complete(self) -> None:
        """Wait no longer: a request is there."""
        super().on_message_complete()
        self._expected()

    def on_response_complete(self) -> None:
        """Wait for the rest of the next request, or for the end."""
        super().on_response_complete()
        self._received = 0
        if self.transport.is_closing():
            self._wait_until_taken()
        elif self._busy() and self.cycle.more_body:
            self._expect()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer a request, or one connection too many by JSON as well."""
        if app is service_unavailable:
            app = _too_many
        super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        """Give the client its seconds to take the answer."""
        super().pause_writing()
        self._wait_until_taken()

    def resume_writing(self) -> None:
        """Wait no longer: the client has taken nearly all."""
        super().resume_writing()
        self._taken()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, with what of its answer was never taken."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        if self._deadline is None:
            self._received = 0
            self._deadline = self.loop.call_later(self.config.limits.seconds, self._refuse, _LATE)

    def _expected(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, refused: RefusedError) -> None:
        self._deadline = None
        silent = self._busy() and (self.cycle.response_started or not self.cycle.more_body)
        if (self._received or self._busy()) and not silent and not self.transport.is_closing():
            path = self.cycle.scope["path"] if self._busy() else ""
            self.transport.write(closing_answer(path, refused))
        self.transport.close()

    def _wait_until_taken(self) -> None:
        if self._untaken is None:
            seconds = self.config.limits.seconds
            self._untaken = self.loop.call_later(seconds, self.transport.abort)

    def _taken(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
