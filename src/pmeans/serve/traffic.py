"""What a process has taken on: connections, requests, bodies that arrive, answers nobody has taken.

The event loop alone changes these numbers, so that there is no lock. `connections` counts
connections, `application` the rest; both refuse by what they find here. A `Body` is read piece by
piece, as far as there is room.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from pmeans.serve.limits import Limits
from pmeans.serve.refusals import RefusedError

SMALL = 65_536
"""Bytes of a body that always find room: the number of connections bounds them."""

_LATER = {"Retry-After": "1"}


class Traffic:
    """The numbers of one process, and the refusals when they are too large."""

    def __init__(self, limits: Limits) -> None:
        """Begin with nothing."""
        self.limits = limits
        self.connections = self.requests = 0
        self.bodies = self.answers = 0
        self.draining = False

    @property
    def crowded(self) -> bool:
        """Whether there are more connections than allowed."""
        return self.connections > self.limits.connections

    def refusal(self) -> str:
        """Say why the process takes no work now; empty if it does."""
        if self.draining:
            return "the server stops."
        if self.crowded:
            return f"more than {self.limits.connections:,} connections are open."
        if self.requests >= self.limits.requests:
            return f"all places for requests are taken, {self.limits.requests:,} of them."
        if self.answers >= self.limits.answers:
            return (
                f"{self.answers:,} bytes of answers wait to be taken: at {self.limits.answers:,} "
                "or more no work begins."
            )
        return ""

    def check_connections(self) -> None:
        """Refuse a request on one connection too many."""
        if self.crowded:
            why = f"more than {self.limits.connections:,} connections are open. Try again later."
            raise RefusedError(503, why, {**_LATER, "Connection": "close"})

    def check_answers(self) -> None:
        """Refuse work while clients leave too much of their answers untaken."""
        if self.answers >= self.limits.answers:
            why = (
                f"busy: {self.answers:,} bytes of answers wait for their clients to take them, and "
                f"at {self.limits.answers:,} no work begins. Try again in a second."
            )
            raise RefusedError(503, why, _LATER)

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places for requests that wait for a thread or have one."""
        if self.requests >= self.limits.requests:
            number = self.limits.requests
            many = "1 request is" if number == 1 else f"{number:,} requests are"
            why = f"busy: {many} taken at a time. Try again in a second."
            raise RefusedError(429, why, _LATER)
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1

    @contextlib.contextmanager
    def body(self) -> Iterator[BodyRoom]:
        """Give room for a body, until the request is answered."""
        room = BodyRoom(self)
        try:
            yield room
        finally:
            self.bodies -= room.counted

    @contextlib.contextmanager
    def answer(self, length: int) -> Iterator[None]:
        """Count the bytes of an answer until the client has taken it."""
        self.answers += length
        try:
            yield
        finally:
            self.answers -= length


class BodyRoom:
    """The room of one body. Its first bytes are free, the others come out of the budget."""

    def __init__(self, traffic: Traffic) -> None:
        """Begin with an empty body."""
        self.traffic, self.length, self.counted = traffic, 0, 0

    def grow(self, length: int) -> None:
        """Make room for further bytes, or refuse too long a body, or too many with others."""
        limits = self.traffic.limits
        self.length += length
        if self.length > limits.body:
            why = f"the body is too long: it has at most {limits.body:,} bytes."
            raise RefusedError(413, why)
        more = max(0, self.length - SMALL) - self.counted
        allowed = max(limits.bodies, limits.body)  # one alone always finds room
        if self.traffic.bodies + more > allowed:
            why = (
                f"busy: bodies of requests take {self.traffic.bodies:,} bytes, and may take "
                f"{allowed:,}. Try again in a second, or send at most {SMALL:,} bytes."
            )
            raise RefusedError(429, why, _LATER)
        self.counted += more
        self.traffic.bodies += more


class Body:
    """The body of a request."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        """Wait for the body where the head of a request names one."""
        framed = any(
            name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"]
        )
        self.receive, self.ended = receive, scope["method"] != "POST" and not framed

    async def next(self) -> bytes:
        """Return some further bytes."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            self.ended = True
            raise ClientDisconnect
        self.ended = not message.get("more_body", False)
        return message.get("body", b"")

    async def read(self, room: BodyRoom) -> bytes:
        """Return all of it, as far as there is room."""
        content = bytearray()
        while not self.ended:
            content += await self.next()
            room.grow(len(content) - room.length)
        return bytes(content)

    async def drain(self, length: int) -> None:
        """Drop what is left of a body, up to a length: a client that sends hears no answer."""
        while not self.ended and length > 0:
            try:
                length -= len(await self.next())
            except ClientDisconnect:
                return
