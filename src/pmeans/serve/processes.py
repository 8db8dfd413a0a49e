"""The server's processes: one, or several that share a socket and the mapped pages of the model.

With several, this process serves nothing itself. It replaces workers that die, hands signals on,
and ends with a reason if workers cannot start. uvicorn's own supervisor starts them for ever.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from types import FrameType

from pmeans.errors import InputError, PmeansError
from pmeans.serve import notify
from pmeans.serve.access import Cors, Tokens
from pmeans.serve.application import counters
from pmeans.serve.metrics import Metrics
from pmeans.serve.server import BACKLOG, Terminal, open_server
from pmeans.serve.service import Service, Settings

TRIES = 3
"""Workers in a row that fail to start, before the server gives up."""

_LOG = logging.getLogger("pmeans.serve")
_spawn = multiprocessing.get_context("spawn")


def serve(
    settings: Settings,
    host: str,
    port: int,
    workers: int = 1,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve until SIGTERM or SIGINT; what was sent until then is answered.

    Args:
        settings: What to serve. SIGHUP opens it again.
        host: The address to listen at.
        port: The port; 0 takes one that is free.
        workers: How many processes. One that dies is replaced.
        ready: Called with the address once the socket listens.
    """
    metrics = counters(workers)
    server = open_server(settings, metrics) if workers == 1 else None
    if server is None:  # the workers open it each for itself; here, it tells what is wrong
        Service(settings)
        Cors(settings.cors_origins)
        if settings.token_file is not None:
            Tokens(settings.token_file)
    listening = _listen(host, port)
    ready(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
    if server is not None:
        server.when_started = notify.ready
        server.when_reloading = notify.reloading
        server.when_reloaded = lambda why: notify.ready()
        server.when_stopping = notify.stopping
        server.run(sockets=[listening])
    else:
        _Supervisor(settings, metrics, listening, workers).run()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen at {host}, port {port}: {why}.") from error


class _Worker:
    """A worker process, as its parent sees it."""

    def __init__(self, settings: Settings, metrics: Metrics, listening: socket.socket) -> None:
        self.pipe, its_end = _spawn.Pipe()
        arguments = (settings, metrics, listening, its_end)
        self.process = _spawn.Process(target=_work, args=arguments)
        self.process.start()
        its_end.close()
        self.started = False
        self.why = ""

    def messages(self) -> list[str]:
        """Return what it has said: nothing is a success, anything else the reason of a failure."""
        said = []
        try:
            while self.pipe.poll():
                said.append(self.pipe.recv())
        except (EOFError, OSError):
            pass  # it has ended
        return said

    def signal(self, number: int) -> None:
        """Send a signal, if the process is there."""
        if self.process.is_alive():
            os.kill(self.process.pid or 0, number)


def _work(
    settings: Settings, metrics: Metrics, listening: socket.socket, parent: Connection
) -> None:
    """Serve in a worker process."""
    try:
        server = open_server(settings, metrics)
    except Exception as error:
        parent.send(str(error) if isinstance(error, PmeansError) else repr(error))
        sys.exit(1)
    server.when_started = lambda: parent.send("")
    server.when_reloaded = parent.send
    server.is_orphan = parent.poll  # a parent says nothing: it can only have gone
    server.run(sockets=[listening])


class _Supervisor:
    """Keeps workers running."""

    def __init__(
        self, settings: Settings, metrics: Metrics, listening: socket.socket, n: int
    ) -> None:
        self.settings, self.metrics, self.listening, self.n = settings, metrics, listening, n
        self.workers: list[_Worker] = []
        self.to_reload: list[_Worker] = []
        self.reloading: _Worker | None = None
        self.failures = 0
        self.terminal = Terminal()
        self.stop = self.reload = False

    def run(self) -> None:
        """Run until a signal, or until workers fail to start."""
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._reload)
        why = ""
        try:
            while not self.stop and not why:
                while len(self.workers) < self.n:
                    self.workers.append(self._start())
                pipes = [worker.pipe for worker in self.workers]
                wait([*pipes, *(worker.process.sentinel for worker in self.workers)], timeout=0.1)
                why = self._look()
        finally:
            self._end()
        if why:
            raise PmeansError(f"{TRIES} workers in a row could not start. The last one: {why}")

    def _start(self) -> _Worker:
        return _Worker(self.settings, self.metrics, self.listening)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stop = True

    def _reload(self, number: int, frame: FrameType | None) -> None:
        if self.terminal.closed():
            self.stop = True
        else:
            self.reload = True

    def _look(self) -> str:
        """Hear the workers, and drop those that have died; return why no more are to be started."""
        for worker in [*self.workers]:
            ended = not worker.process.is_alive()
            for why in worker.messages():
                self._hear(worker, why)
            if ended:
                self._drop(worker)
                if self.failures >= TRIES:
                    return worker.why
        if self.reload:
            self.reload = False
            self.to_reload = [*self.workers]
            notify.reloading()
        if self.reloading is None and self.to_reload and self.to_reload[0].started:
            self.reloading = self.to_reload.pop(0)
            self.reloading.signal(signal.SIGHUP)
        return ""

    def _hear(self, worker: _Worker, why: str) -> None:
        """Take a message: of the start first, then of files that were opened again."""
        if not worker.started:
            worker.started, worker.why = not why, why
            self.failures = 0 if worker.started else self.failures
        elif worker is self.reloading:
            self.reloading = None
            if why:  # it goes on with what it had, and so do the others
                self.to_reload.clear()
        else:
            return
        if all(each.started for each in self.workers) and not self.to_reload:
            notify.ready()

    def _drop(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        code = worker.process.exitcode or 0
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        if not worker.started:
            self.failures += 1
            worker.why = worker.why or f"it ended with {how}."
            _LOG.error("worker %d could not start: %s", worker.process.pid, worker.why)
        else:
            _LOG.error("worker %d ended with %s: another is started.", worker.process.pid, how)
        if worker is self.reloading:
            self.reloading = None
        elif worker in self.to_reload:
            self.to_reload.remove(worker)

    def _end(self) -> None:
        """Close the socket, and have every worker answer what it has been sent."""
        notify.stopping()
        self.listening.close()
        for worker in self.workers:
            worker.signal(signal.SIGTERM)
        end = time.monotonic() + self.settings.limits.seconds + 5
        for worker in self.workers:
            worker.process.join(max(0, end - time.monotonic()))
            if worker.process.is_alive():
                _LOG.error("worker %d did not end in time, and is killed.", worker.process.pid)
                worker.process.kill()
                worker.process.join()
