"""One file over HTTP, in as many tries as it takes.

The files are gigabytes long and links break, so what has arrived stays in ``FILE.partial``, and
the next try, of this process or a later one, asks for the rest alone. pooch, the usual library
for downloads, begins anew after every cut; urllib can resume, and respects the proxies of the
environment.

A rest is asked for with ``If-Range`` and the ETag or date that the beginning came with (kept in
``FILE.partial.json``): where the file has changed meanwhile, the server sends all of it, and two
versions are never spliced. A server that names neither, or ignores ranges, is read from the start.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from pmeans.files import replacing

Progress = Callable[[int, int], None]
"""Called with the bytes that are here and the bytes in all, 0 if that is unknown."""

_TRIES = 5
_PAUSE = 1.0  # seconds before the second try; twice as long before each further one
_TIMEOUT = 30.0
_BLOCK = 1 << 20
_WORTH_ANOTHER_TRY = (408, 425, 429, 500, 502, 503, 504)


class UselessError(Exception):
    """This URL will not do."""


class _BrokenError(Exception):
    """A try failed in a way that another may not."""


@dataclass(frozen=True)
class Transfer:
    """One URL on its way into a file.

    Attributes:
        url: Where the bytes come from.
        out: Where they go: open at its end, after what earlier tries brought.
        partial: The path of ``out``.
        accept: Called with the bytes here and in all before any are written; may raise.
        progress: Called with the same numbers as bytes come.
    """

    url: str
    out: IO[bytes]
    partial: Path
    accept: Progress
    progress: Progress | None = None

    @property
    def note(self) -> Path:
        """Where it is kept which version of the file the bytes are from."""
        return self.partial.with_name(self.partial.name + ".json")

    def complete(self) -> None:
        """Try a few times, with pauses that double, until all bytes are there."""
        count = 0
        while True:
            try:
                return self._go_on()
            except _BrokenError as failure:
                count += 1
                if count == _TRIES:
                    raise UselessError(f"{failure}, at the last of {count} tries") from failure
            time.sleep(_PAUSE * 2 ** (count - 1))

    def discard(self) -> None:
        """Forget what has arrived."""
        self.out.seek(0)
        self.out.truncate()
        self.note.unlink(missing_ok=True)

    def _go_on(self) -> None:
        have, validator, total = self._begun()
        if have and have == total:
            return
        headers = {"Range": f"bytes={have}-", "If-Range": validator} if have else {}
        with self._answer(headers) as response:
            if response.status == 206 and have:
                start, total = _content_range(response)
                if start != have:
                    self.discard()
                    raise _BrokenError("the server sent another range than it was asked for")
                self.accept(have, total)
            elif response.status == 200:
                have, total = 0, response.length or 0
                self.discard()
                self.accept(have, total)
                self._write_note(response, total)
            else:
                raise UselessError(f"HTTP {response.status}, where 200 was expected")
            have = self._receive(response, have, total)
        if total and have != total:
            if have > total:
                self.discard()
            raise _BrokenError(f"the answer ended after {have:,} of {total:,} bytes")

    def _begun(self) -> tuple[int, str, int]:
        """Return the bytes here, the validator they came with and the bytes in all."""
        try:
            note = json.loads(self.note.read_text("utf-8"))
            url, validator, total = str(note["url"]), str(note["validator"]), int(note["total"])
        except (OSError, ValueError, KeyError, TypeError):
            return 0, "", 0
        here = self.out.seek(0, os.SEEK_END)
        return (here if url == self.url and validator else 0), validator, total

    def _write_note(self, response: Any, total: int) -> None:
        etag = response.headers.get("ETag", "")
        # A weak ETag promises the same meaning, not the same bytes.
        validator = "" if etag.startswith("W/") else etag
        validator = validator or response.headers.get("Last-Modified", "")
        note = {"url": self.url, "validator": validator, "total": total}
        with replacing(self.note) as file:
            file.write(json.dumps(note).encode())

    def _answer(self, headers: dict[str, str]) -> Any:
        _check_scheme(self.url, self.url)
        request = urllib.request.Request(self.url, headers={"User-Agent": "pmeans", **headers})
        try:
            return urllib.request.build_opener(_Redirects).open(request, timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            error.close()
            message = f"HTTP {error.code} {error.reason}"
            if error.code == 416:  # fewer bytes there than here
                self.discard()
            if error.code in (416, *_WORTH_ANOTHER_TRY):
                raise _BrokenError(message) from error
            raise UselessError(message) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, socket.gaierror | ssl.SSLCertVerificationError):
                raise UselessError(str(reason)) from error
            raise _BrokenError(str(reason) or type(reason).__name__) from error

    def _receive(self, response: Any, have: int, total: int) -> int:
        """Append the answer's bytes; return how many are here then."""
        while not total or have < total:
            try:
                # Unlike read, read1 loses nothing of a chunk that is cut.
                block = response.read1(min(_BLOCK, total - have) if total else _BLOCK)
            except (OSError, http.client.HTTPException) as error:
                raise _BrokenError(str(error) or type(error).__name__) from error
            if not block:
                break
            self.out.write(block)
            have += len(block)
            if self.progress:
                self.progress(have, total)
        self.out.flush()
        return have


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        try:
            _check_scheme(req.full_url, newurl)
        except UselessError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_scheme(begun: str, url: str) -> None:
    """Refuse what is not HTTP, and a redirect from HTTPS to plain HTTP."""
    scheme = urlsplit(url).scheme
    allowed = ("https",) if urlsplit(begun).scheme == "https" else ("http", "https")
    if scheme not in allowed:
        raise UselessError(f"leads to {url!r}, and {scheme!r} is not followed from here")


def _content_range(response: Any) -> tuple[int, int]:
    """Return the first byte and the bytes in all, 0 if unknown, of a partial answer."""
    span = re.match(r"bytes (\d+)-\d+/(\d+|\*)$", response.headers.get("Content-Range", ""))
    if not span:
        return -1, 0
    return int(span[1]), 0 if span[2] == "*" else int(span[2])
