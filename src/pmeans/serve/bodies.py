"""Bodies as they come in, and answers as bytes: what of both is large must not hold the event loop.

orjson keeps the GIL while it writes. A long answer is therefore written in slices, between which
the event loop gets its turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from pmeans.serve.traffic import BodyRoom

SLICE = 64
"""Rows of an answer that are written at once."""


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
