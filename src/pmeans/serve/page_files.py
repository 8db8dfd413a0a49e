"""The page at ``/``: its files, read once, and the headers they go out with.

What is served is this table. No path of a request is ever joined to a folder.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class PageFile:
    """One file of the page, as it goes out."""

    path: str
    content: bytes
    media_type: str

    @property
    def etag(self) -> str:
        """What a browser names the content by that it has."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'

    async def respond(self, request: Request) -> Response:
        """Answer with the file, or say that the browser has it."""
        headers = {**_HEADERS, "ETag": self.etag}
        if request.headers.get("if-none-match") == self.etag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, headers=headers, media_type=self.media_type)


def page_files() -> list[PageFile]:
    """Read the files of the page."""
    files = []
    for file in sorted((Path(__file__).parent / "page").iterdir()):
        if file.suffix in _TYPES:
            path = "/" if file.name == "index.html" else f"/page/{file.name}"
            files.append(PageFile(path, file.read_bytes(), _TYPES[file.suffix]))
    return files
