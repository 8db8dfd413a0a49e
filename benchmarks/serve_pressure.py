"""What `serve.py` says about pressure: `/health`, stops, nginx, clients that do not read.

Every function yields lines of the page. All load is bounded, and comes from this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from serve_load import Server, body_of, flood, pmeans, write_script, wrk_command

CONNECTIONS = 64
_NGINX = """
daemon off; master_process off; pid {place}/nginx.pid; error_log {place}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {place}/b; proxy_temp_path {place}/p;
  fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
  upstream pmeans {{ server 127.0.0.1:{port}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{here};
    location / {{
      proxy_pass http://pmeans; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host localhost;
    }}
  }}
}}
"""


def health(texts: list[str], seconds: int = 10) -> Iterator[str]:
    """Yield how long `/health` takes while the server is busy."""
    yield "\n## `/health` under load\n"
    yield (
        f"wrk sends 64 texts at a time on {CONNECTIONS} connections. Meanwhile `/health` is asked "
        "50 times a second, each time on a new connection."
    )
    yield "\n| workers | requests/s | processor, ms | `/health` p50, ms | p99, ms | largest, ms |"
    yield "|--:|--:|--:|--:|--:|--:|"
    bodies = [body_of(texts[i : i + 64], "float") for i in range(0, len(texts) - 63, 64)]
    with tempfile.TemporaryDirectory() as folder:
        script = write_script(Path(folder) / "load.lua", bodies)
        for workers in (1, 2):
            with pmeans(workers) as server:
                time.sleep(2)  # the second worker starts
                columns = _probed(server, script, seconds)
            yield f"| {workers} | {' | '.join(columns)} |"


def _probed(server: Server, script: Path, seconds: int) -> list[str]:
    before = server.processor()
    command = wrk_command(server, script, seconds, CONNECTIONS)
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(1)
    took = []
    while load.poll() is None:
        begin = time.perf_counter()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", "/health")
        connection.getresponse().read()
        connection.close()
        took.append(1e3 * (time.perf_counter() - begin))
        time.sleep(0.02)
    output = load.communicate()[0]
    n, microseconds = map(float, output.partition("RESULT ")[2].split()[:2])
    used = 1e3 * (server.processor() - before) / max(n, 1)
    took.sort()
    p50, p99 = took[len(took) // 2], took[int(0.99 * (len(took) - 1))]
    return [
        f"{n / microseconds * 1e6:,.0f}",
        f"{used:.2f}",
        *(f"{ms:.1f}" for ms in (p50, p99, took[-1])),
    ]


def stops(texts: list[str], times: int = 5) -> Iterator[str]:
    """Yield how many requests a stop costs."""
    yield "\n## Requests lost at SIGTERM\n"
    body = body_of(texts[:32], "base64", dimensions=8).encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    for workers in (1, 2):
        lost = total = 0
        for _ in range(times):
            with pmeans(workers) as server, contextlib.ExitStack() as stack:
                time.sleep(1)
                address = ("127.0.0.1", server.port)
                sent = []
                for _ in range(CONNECTIONS):
                    connection = socket.create_connection(address, timeout=60)
                    stack.callback(connection.close)
                    connection.sendall(head.encode() + body)
                    sent.append(connection)
                os.kill(server.pid, signal.SIGTERM)
                answers = [_first(connection) for connection in sent]
                lost += sum(answer[:12] != b"HTTP/1.1 200" for answer in answers)
                total += len(answers)
        yield (
            f"{workers} worker{'s' * (workers > 1)}: {CONNECTIONS} connections send a request "
            f"each, and the server gets SIGTERM at once, {times} times. Of {total} requests "
            f"{lost} were lost.\n"
        )


def _first(connection: socket.socket) -> bytes:
    with contextlib.suppress(OSError):
        return connection.recv(4096)
    return b""


def behind_nginx(texts: list[str], n: int = 2000) -> Iterator[str]:
    """Yield how many requests are lost between nginx and the server."""
    yield "\n## Behind nginx\n"
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        yield "Not measured: nginx is not installed."
        return
    body = body_of(texts[0], "base64", dimensions=8).encode()
    with pmeans(1) as server, tempfile.TemporaryDirectory() as folder:
        here = server.port + 2
        config = Path(folder) / "nginx.conf"
        config.write_text(_NGINX.format(here=here, port=server.port, place=folder))
        log = str(Path(folder) / "error.log")
        proxy = subprocess.Popen([program, "-p", folder, "-c", str(config), "-e", log])
        try:
            time.sleep(1)
            counts: Counter = Counter()
            for pause in (0, 4.9, 5.0, 5.1, 5.2):  # uvicorn's own time-out is 5 seconds
                time.sleep(pause)
                counts += asyncio.run(flood(here, body, CONNECTIONS, n // 5, 60))
        finally:
            proxy.terminate()
            proxy.wait(20)
    lost = counts.total() - counts[200]
    yield (
        f"nginx keeps {CONNECTIONS} connections to one worker. Of {counts.total():,} POST "
        f"requests, in five bursts about five seconds apart, {lost} got no answer or a 502."
    )


def unread(texts: list[str], clients: int = 40) -> Iterator[str]:
    """Yield what memory clients take that do not read."""
    yield "\n## Clients that do not read\n"
    body = body_of([texts[0]] * 2048, "float").encode()
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with pmeans(1) as server, contextlib.ExitStack() as stack:
        before, largest = server.memory(), 0.0
        for _ in range(clients):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            stack.callback(connection.close)
            connection.sendall(head.encode() + body)
        for _ in range(50):
            time.sleep(0.2)
            largest = max(largest, server.memory())
        yield (
            f"{clients} clients ask one worker for 2,048 rows each, and read nothing for 10 "
            f"seconds. Memory of the process alone: {before:.0f} MB before, {largest:.0f} MB at "
            f"most. Then `/health` says {server.get('/health')}."
        )
