"""An HTTP server that cuts, lies and forgets as it is told, for the tests of downloads."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import numpy as np

CONTENT = bytes(np.random.default_rng(1).integers(0, 256, 50_000, dtype=np.uint8))


@dataclass
class Site:
    """What the server has, how it misbehaves at the next requests, and what it was asked."""

    content: bytes = CONTENT
    etag: str = '"one"'
    modified: str = ""
    ranges: bool = True
    script: list[dict] = field(default_factory=list)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""

    @property
    def ranges_asked(self) -> list[str | None]:
        return [range_ for _, range_ in self.asked]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site = self.server.site
        site.asked.append((self.path, self.headers["Range"]))
        how = site.script.pop(0) if site.script else {}
        for name, value in how.get("site", {}).items():
            setattr(site, name, value)
        self.close_connection = True
        if "status" in how:
            self.answer(how["status"], {"Content-Length": "0", **how.get("headers", {})}, b"")
            return
        start, status, headers = 0, 200, {}
        same = self.headers["If-Range"] in (site.etag, site.modified)
        if site.ranges and self.headers["Range"] and same:
            start, status = int(self.headers["Range"][6:-1]) + how.get("shift", 0), 206
        body = site.content[start:]
        if status == 206:
            last = len(site.content) - 1
            headers["Content-Range"] = f"bytes {start}-{last}/{len(site.content)}"
        if site.etag:
            headers["ETag"] = site.etag
        if site.modified:
            headers["Last-Modified"] = site.modified
        sent = body[: how.get("cut", len(body))]
        if how.get("chunked"):
            headers["Transfer-Encoding"] = "chunked"
            sent = b"%x\r\n%s" % (len(body), sent)
        else:
            headers["Content-Length"] = str(how.get("length", len(body)))
        self.answer(status, headers, sent)

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
