"""Which pages of other sites may ask this server, and what their browsers are told (CORS)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pmeans.errors import InputError

Headers = list[tuple[bytes, bytes]]

PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, HEAD, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-Request-Id",
    "Access-Control-Max-Age": "600",
}
"""What else a browser is told that asks whether a page may ask."""

_EXPOSED = (b"access-control-expose-headers", b"Retry-After, X-Request-Id")


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
