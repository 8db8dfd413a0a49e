"""``pmeans serve`` as a process of its own, and raw connections to it."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path


@contextlib.contextmanager
def serving(model, *options, stdout=None):
    """Give the process of a server and its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pmeans", "serve", str(model), "--port", "0", *options],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            line = process.stderr.readline()
            assert line.startswith("serving at http://127.0.0.1:"), line + process.stderr.read()
            port = int(line.rsplit(":", 1)[1])
            wait_for(lambda: get(port, "/health") == b'{"status":"ok"}')
            yield process, port
        finally:
            process.terminate()
            process.wait(30)


def wait_for(true, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if true():
                return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        return answer.read()


def head(length):
    return f"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def rest(connection):
    """Return all that is still sent on a connection, until its end."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def connect(port):
    return contextlib.closing(socket.create_connection(("127.0.0.1", port), timeout=20))


def maps(worker):
    """Return what a process has mapped: the model is shared, and there once a worker serves."""
    return Path(f"/proc/{worker}/maps").read_text()


def servers(parent):
    """Return the worker processes of a server, without the helper of multiprocessing."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    named = {child: Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [int(child) for child, line in named.items() if b"spawn_main" in line]
