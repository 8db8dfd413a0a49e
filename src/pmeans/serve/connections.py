"""Connections that do not wait for ever, do not keep all that they are sent, and lose no request.

uvicorn waits without end for a request to arrive and for its answer to be taken, and stores heads
of any length. Here each of the two has its seconds, and bytes are counted. When the server stops,
uvicorn closes connections on which a request may just be arriving; here they are heard out. The
parser is always httptools: h11 takes a request that is framed in two ways, by which others are
smuggled in.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pmeans.serve.application import DRAINED
from pmeans.serve.observed import Observed
from pmeans.serve.refusals import RefusedError, closing_answer

HEAD = 65_536
"""Bytes of the head of a request, and of what may frame its body beyond the allowed."""

LINGER = 0.5
"""Seconds in which a request may still arrive on an idle connection that is to end."""

LONG_IDLE = 5.0
"""Seconds after which an idle connection has to leave if there are too many. Before, its next
request may be on the way."""

_LATE = RefusedError(408, "the request did not arrive in time: send it without a pause.")
_LARGE = RefusedError(413, "the body is too long: send fewer texts in a request.")
_LONG = RefusedError(431, f"the head of the request is too long: it has at most {HEAD:,} bytes.")


class LimitedConfig(Config):
    """uvicorn's configuration with our limits and counters, for its connections to see."""

    def __init__(self, app: Observed, **kwargs: Any) -> None:
        super().__init__(app, http=LimitedConnection, **kwargs)
        self.limits, self.traffic, self.metrics = app.app.limits, app.app.traffic, app.metrics


class LimitedConnection(HttpToolsProtocol):
    """A connection with an end to every wait."""

    config: LimitedConfig
    _received = 0
    _since = 0.0  # when it last became idle
    _deadline: asyncio.TimerHandle | None = None
    _untaken: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        self.config.traffic.connections += 1
        self.config.metrics.connected(1)
        # Or the end of each answer would wait for the client to confirm its beginning: 40 ms.
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._since = self.loop.time()
        self._expect()
        if self.config.traffic.draining:
            self.shutdown()
        elif self.config.traffic.crowded:
            self._end_longest_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self.config.traffic.connections -= 1
        self.config.metrics.connected(-1)
        self._expected()
        self._taken()
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

    def on_headers_complete(self) -> None:
        """Start to answer a request: the last one, if the server stops."""
        super().on_headers_complete()
        if self.config.traffic.draining and not self.pipeline:
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Wait no longer: a request is there."""
        super().on_message_complete()
        self._expected()

    def on_response_complete(self) -> None:
        """Wait for the rest of the next request, or for the end."""
        if self.config.traffic.draining and len(self.pipeline) == 1:
            self.pipeline[0][0].keep_alive = False
        super().on_response_complete()
        self._received = 0
        self._since = self.loop.time()
        if self.transport.is_closing():
            self._wait_until_taken()
        elif self._busy() and self.cycle.more_body:
            self._expect()
        elif self.config.traffic.draining and not self._busy():
            self.shutdown()

    def shutdown(self) -> None:
        """Answer what has been sent until now, and then end: the server stops."""
        if not self._busy():
            self.loop.call_later(LINGER, self._end_if_idle)
        elif not self.cycle.response_started and not self.pipeline:
            self.cycle.keep_alive = False

    def pause_writing(self) -> None:
        """Give the client its seconds to take the answer."""
        super().pause_writing()
        self._wait_until_taken()

    def resume_writing(self) -> None:
        """Wait no longer: the client has taken nearly all."""
        super().resume_writing()
        self._taken()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, with what of its answer was never taken.

        A request may have come that the event loop, busy elsewhere, has not read yet: it is read.
        """
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        self.loop.call_later(LINGER, self._end_if_idle)

    def _idle(self) -> bool:
        return not self._busy() and not self._received

    def _end_if_idle(self) -> None:
        if self._idle():
            self.transport.close()

    def _end_longest_idle(self) -> None:
        """Make room for this connection, if another one only waits."""
        others = (each for each in self.connections if isinstance(each, LimitedConnection))
        idle = min(filter(LimitedConnection._idle, others), key=lambda each: each._since)
        if self.loop.time() - idle._since >= LONG_IDLE:
            idle.transport.close()

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
