"""How much a request may ask for, and how it is told that it was too much.

The limits are the same for every shape of request: texts are counted wherever they stand. Each
refusal names its limit and the value.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from pmeans.serve.refusals import RefusedError

DRAINED = 16
"""So many times the allowed body is read and dropped before a refusal is sent."""


@dataclass(frozen=True)
class Limits:
    """What one worker process takes.

    Attributes:
        body: Bytes of a request's body.
        texts: Texts of a request.
        characters: Characters of all texts of a request.
        requests: Requests that are read, wait or are worked on at the same time.
        connections: Open connections.
        seconds: For a request to arrive, and again for its answer to be taken: `connections` looks.
    """

    body: int = 4_000_000
    texts: int = 2048
    characters: int = 1_000_000
    requests: int = 128
    connections: int = 1000
    seconds: float = 30.0

    def check(self, texts: Sequence[str], field: str) -> int:
        """Return the number of characters, or refuse so many texts of a field or so long ones."""
        if len(texts) > self.texts:
            why = f"{len(texts):,} texts: a request has at most {self.texts:,}."
            raise RefusedError(422, why, param=field, code="array_above_max_length")
        characters = sum(map(len, texts))
        if characters > self.characters:
            why = f"{characters:,} characters: all texts of a request have at most "
            why += f"{self.characters:,}."
            raise RefusedError(422, why, param=field, code="string_above_max_length")
        return characters

    async def read(self, chunks: AsyncIterator[bytes]) -> bytes:
        """Return the body of a request, or refuse one that is too long."""
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > self.body:
                why = f"the body is too long: it has at most {self.body:,} bytes."
                raise RefusedError(413, why)
        return bytes(body)

    async def drain(self, chunks: AsyncIterator[bytes]) -> None:
        """Drop what is left of a refused body: a client that still sends hears no answer."""
        length = 0
        async for chunk in chunks:
            length += len(chunk)
            if length > DRAINED * self.body:
                return


class Gate:
    """Lets so many requests in, and sends others away until one has left."""

    def __init__(self, limit: int) -> None:
        self.limit, self.taken = limit, 0

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Hold a place; the event loop alone calls this, so that there is no lock."""
        if self.taken >= self.limit:
            why = f"busy: {self.limit:,} requests at a time are taken. Try again in a second."
            raise RefusedError(429, why, {"Retry-After": "1"})
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1
