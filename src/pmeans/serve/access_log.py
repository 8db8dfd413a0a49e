"""The access log: a line per answered request, on standard output.

A thread writes, so that a reader who is slow, or has stopped reading, never holds up an answer.
Lines that wait are bounded. Those that had to be dropped are counted, and the log says how many.
"""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Literal

import orjson

Form = Literal["plain", "json"]

WAITING = 10_000
"""Lines that wait to be written, at most."""

_LONGEST = 300  # characters of a path, so that a line is far shorter than a piece
_PIECE = 4096  # bytes that a pipe takes as a whole
_PAUSE = 0.1  # seconds in which lines gather


@dataclass(frozen=True, slots=True)
class Entry:
    """What is logged of a request.

    Attributes:
        time: When it came, in seconds since 1970.
        client: The address it came from; that of a proxy if there is one.
        method: Of the request.
        path: As it was sent, without what follows a question mark.
        status: Of the answer; None if the client left before there was one.
        bytes: Of the answer's body.
        seconds: Until the answer began.
        texts: How many were worked on.
        request_id: The name of the request, which the answer has as well.
    """

    time: float
    client: str
    method: str
    path: str
    status: int | None
    bytes: int
    seconds: float
    texts: int
    request_id: str


_FIELDS = tuple(field.name for field in dataclasses.fields(Entry))


class AccessLog:
    """Writes entries to a file descriptor, as lines for people or as JSON."""

    def __init__(self, form: Form, descriptor: int = 1) -> None:
        """Start the thread that writes."""
        self._json, self._descriptor = form == "json", descriptor
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._dropped = 0
        self._thread = Thread(target=self._run, name="pmeans access log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Have an entry written, or drop it if too many wait."""
        if self._queue.qsize() < WAITING:
            self._queue.put(entry)
        else:
            self._dropped += 1

    def close(self, seconds: float = 2.0) -> None:
        """Write what waits, for as long as this may take."""
        self._queue.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        waiting: list[Entry | None] = []
        try:
            while None not in waiting:
                waiting = [self._queue.get()]
                if waiting[0] is not None:
                    time.sleep(_PAUSE)  # to wake up per request would cost as much as to answer it
                while not self._queue.empty():
                    waiting.append(self._queue.get())
                self._write([self._line(entry) for entry in waiting if entry is not None])
        except OSError:  # nobody reads it any more: the rest is dropped
            return

    def _write(self, lines: list[bytes]) -> None:
        """Write whole lines, in pieces that those of other processes do not cut."""
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            lines.append(self._lost(dropped))
        piece = b""
        for line in lines:
            if len(piece) + len(line) > _PIECE:
                os.write(self._descriptor, piece)
                piece = b""
            piece += line
        if piece:
            os.write(self._descriptor, piece)

    def _line(self, entry: Entry) -> bytes:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(entry.time))
        stamp += f".{int(entry.time % 1 * 1000):03d}Z"
        path, seconds = entry.path[:_LONGEST], round(entry.seconds, 6)
        if self._json:
            shown = {"time": stamp, "path": path, "seconds": seconds}
            fields = {name: shown.get(name, getattr(entry, name)) for name in _FIELDS}
            return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
        status = "-" if entry.status is None else entry.status
        return (
            f'{stamp} {entry.client} "{entry.method} {path}" {status} {entry.bytes} B '
            f"{seconds:.6f} s {entry.texts} texts {entry.request_id}\n"
        ).encode("utf-8", "backslashreplace")

    def _lost(self, dropped: int) -> bytes:
        if self._json:
            return orjson.dumps({"dropped": dropped}, option=orjson.OPT_APPEND_NEWLINE)
        return f"{dropped} lines were dropped: nobody read them.\n".encode()
