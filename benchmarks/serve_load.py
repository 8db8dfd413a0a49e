"""Servers to measure, and two clients: wrk for speed, and one that keeps account of every request.

All of it is bounded, and every server is stopped at the end of its ``with``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 8
"""Of wrk."""

HERE = Path(__file__).parent
_LUA = """\
local bodies = {%s}
local i = 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  i = i %% #bodies + 1
  return wrk.format(nil, nil, nil, bodies[i])
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %%d %%d %%f %%f %%d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99),
    e.status + e.connect + e.read + e.write + e.timeout))
end
"""


@dataclass(frozen=True)
class Server:
    """A running server."""

    pid: int
    port: int

    def workers(self) -> list[int]:
        """Return the worker processes; the process itself if it has none."""
        found = []
        for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split():
            with contextlib.suppress(FileNotFoundError):  # it has just ended
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
        return found or [self.pid]

    def processor(self) -> float:
        """Return the seconds of processor time that all workers have taken."""
        ticks = 0
        for pid in self.workers():
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the megabytes of all workers that belong to each alone, not mapped from files."""
        kilobytes = 0
        for pid in self.workers():
            status = Path(f"/proc/{pid}/status").read_text()
            kilobytes += int(re.search(r"RssAnon:\s+(\d+)", status)[1])  # type: ignore[index]
        return kilobytes / 1024

    def get(self, path: str) -> str:
        """Return what is at a path."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def answered(self) -> int:
        """Return how many embeddings the server says it has answered."""
        found = re.findall(
            r'_total{path="/v1/embeddings",status="200"} (\d+)', self.get("/metrics")
        )
        return sum(map(int, found))


@contextlib.contextmanager
def started(command: Sequence[str], port: int, **environment: str) -> Iterator[Server]:
    """Give a running server, and stop it."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, cwd=HERE)
    server = Server(process.pid, port)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError):
                server.get("/health")
                break
            if process.poll() is not None:
                raise SystemExit(f"the server ended: {' '.join(command)}")
            time.sleep(0.2)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def pmeans(workers: int, port: int = 8471) -> AbstractContextManager[Server]:
    """Start ours."""
    options = ["--port", str(port), "--workers", str(workers)]
    return started([sys.executable, "-m", "pmeans", "serve", *options], port)


def fastapi(workers: int, model: Path, port: int = 8472) -> AbstractContextManager[Server]:
    """Start the other one: on uvloop and httptools, as `fastapi[standard]` brings them."""
    options = ["--port", str(port), "--workers", str(workers), "--log-level", "warning"]
    command = [sys.executable, "-m", "uvicorn", "serve_peer:app", "--no-access-log", *options]
    return started(command, port, PEER_MODEL=str(model))


@dataclass(frozen=True)
class Measured:
    """What a server did in some seconds."""

    per_second: float
    p50: float
    p99: float
    processor: float
    errors: int


def write_script(path: Path, bodies: Sequence[str]) -> Path:
    """Write what wrk sends, these bodies in turn."""
    path.write_text(_LUA % ",\n".join(f"[==[{body}]==]" for body in bodies), encoding="utf-8")
    return path


def wrk_command(
    server: Server, script: Path, seconds: int, connections: int = CONNECTIONS
) -> list[str]:
    """Return the command that sends requests, one after another on each connection."""
    if shutil.which("wrk") is None:
        raise SystemExit("this needs wrk: apt-get install wrk")
    url = f"http://127.0.0.1:{server.port}/v1/embeddings"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "--script"]
    return [*command, str(script), url]


def wrk(server: Server, script: Path, seconds: int) -> Measured:
    """Send requests for some seconds."""
    command = wrk_command(server, script, seconds)
    before = server.processor()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = done.stdout.partition("RESULT ")[2].split()
    n, microseconds, p50, p99, errors = map(float, result)
    used = (server.processor() - before) / max(n, 1)
    return Measured(n / microseconds * 1e6, p50 / 1e3, p99 / 1e3, 1e3 * used, int(errors))


async def flood(port: int, body: bytes, connections: int, n: int | None, seconds: float) -> Counter:
    """Send n requests, or all that fit into the seconds, and count statuses; "lost" got none."""
    head = f"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    request = head.encode() + body
    counts: Counter = Counter()
    end = time.monotonic() + seconds
    left = n

    async def client() -> None:
        nonlocal left
        writer = None
        while (left is None or left > 0) and time.monotonic() < end:
            left = None if left is None else left - 1
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(request)
                answer = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(re.search(rb"content-length: (\d+)", answer)[1])  # type: ignore[index]
                await reader.readexactly(length)
                counts[int(answer[9:12])] += 1
                closed = b"connection: close" in answer
            except (OSError, asyncio.IncompleteReadError):
                counts["lost"] += 1
                closed = True
            if closed and writer is not None:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    async with asyncio.timeout(seconds + 60):
        await asyncio.gather(*(client() for _ in range(connections)))
    return counts


def body_of(texts: Sequence[str] | str, encoding: str, **more: object) -> str:
    """Return a request for embeddings."""
    return json.dumps({"input": texts, "encoding_format": encoding, **more}, ensure_ascii=False)
