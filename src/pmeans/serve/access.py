"""Who may ask: the tokens that are let in, and the sites whose pages may read answers (CORS)."""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import time
from collections.abc import Sequence
from pathlib import Path

from pmeans.errors import InputError, PmeansError
from pmeans.files import reading

_BEARER = re.compile(rb"bearer +(.+?) *", re.IGNORECASE)
_SECONDS = 1.0  # between two looks at the file
_LOG = logging.getLogger("pmeans.serve")
Headers = list[tuple[bytes, bytes]]
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id",
    "Access-Control-Max-Age": "600",
}
"""What else a browser is told that asks whether a page may ask."""
_EXPOSED = (b"access-control-expose-headers", b"Retry-After, X-Request-Id")


class Tokens:
    """The tokens of a file, one per line; empty lines and lines that begin with ``#`` are skipped.

    A file that has changed is read again, at most a second later. If it cannot be read then, or has
    no token, those of before stay in force and the log says why.
    """

    def __init__(self, file: str | Path) -> None:
        """Read the file, or say what is wrong with it."""
        self._file = Path(file)
        self._version = _version(self._file)
        self._digests = _read(self._file)
        self._looked = time.monotonic()

    def admit(self, authorization: bytes) -> bool:
        """Tell whether a header has one of the tokens, in the same time whichever it is."""
        self._refresh()
        bearer = _BEARER.fullmatch(authorization)
        sent = _digest(bearer[1] if bearer else b"")
        matches = [hmac.compare_digest(sent, digest) for digest in self._digests]
        return bearer is not None and any(matches)

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked < _SECONDS:
            return
        self._looked = now
        version = _version(self._file)
        if version == self._version:
            return
        self._version = version
        try:
            self._digests = _read(self._file)
        except PmeansError as error:
            _LOG.error("the tokens of before stay in force: %s", error)


def _version(file: Path) -> tuple[int, int, int] | None:
    """Return what differs between two versions of a file, or None if there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(file: Path) -> list[bytes]:
    with reading(file):
        lines = [line.strip() for line in file.read_bytes().splitlines()]
    tokens = [line for line in lines if line and not line.startswith(b"#")]
    for token in tokens:
        if not re.fullmatch(rb"[ -~]+", token):
            raise InputError(f"{str(file)!r} has a token that is not plain ASCII.")
    if not tokens:
        raise InputError(f"{str(file)!r} has no token: write one into it, or one per line.")
    return [_digest(token) for token in tokens]


def _digest(token: bytes) -> bytes:
    """Return a digest, whose length tells nothing about that of the token."""
    return hashlib.sha256(token).digest()


class Cors:
    """The origins whose pages may read answers; none by default, and ``*`` is any."""

    def __init__(self, origins: Sequence[str] = ()) -> None:
        """Check the origins, as browsers send them."""
        for origin in origins:
            if origin != "*" and not re.fullmatch(r"https?://[^/\s]+", origin):
                raise InputError(
                    f"{origin!r} is not the origin of a page: write it as https://example.org, "
                    "without a path, or * for any."
                )
        self._origins = frozenset(origin.encode() for origin in origins)

    def admit(self, origin: bytes | None) -> bool:
        """Tell whether pages of an origin may read answers."""
        return origin is not None and (origin in self._origins or b"*" in self._origins)

    def headers(self, origin: bytes | None) -> Headers:
        """Return what every answer to a page of this origin says."""
        vary: Headers = [(b"vary", b"Origin")] if self._origins else []
        if origin is None or not self.admit(origin):
            return vary
        return [*vary, (b"access-control-allow-origin", origin), _EXPOSED]
