"""What systemd is told of a service of ``Type=notify``: that it serves, reloads, or stops.

The protocol is a datagram to the socket that ``NOTIFY_SOCKET`` names (see sd_notify(3)). Where the
variable is not set, nobody is told.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time


def ready() -> None:
    """Say that requests are answered, for the first time or again after a reload."""
    _send("READY=1")


def reloading() -> None:
    """Say that what is served is opened anew; `ready` ends it."""
    _send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")


def stopping() -> None:
    """Say that no more requests are taken."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # a name without a file
        address = "\0" + address[1:]
    # A manager that has gone is no reason to stop serving.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(1.0)
        manager.sendto(state.encode(), address)
