"""The server's processes: one, or several that share a socket and the mapped pages of the model."""

from __future__ import annotations

import signal
import socket
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import FrameType

from starlette.types import ASGIApp
from uvicorn import Server
from uvicorn.supervisors import Multiprocess

from pmeans.errors import InputError
from pmeans.identifier import DoubtfulLanguageWarning
from pmeans.serve import notify
from pmeans.serve.application import counters, create_app
from pmeans.serve.connections import LimitedConfig
from pmeans.serve.cors import Cors
from pmeans.serve.metrics import Metrics
from pmeans.serve.service import Service, Settings
from pmeans.serve.tokens import Tokens


def serve(
    settings: Settings,
    host: str,
    port: int,
    workers: int = 1,
    ready: Callable[[str], object] = lambda address: None,
) -> None:
    """Serve until SIGTERM or SIGINT; what was accepted until then is answered.

    Args:
        settings: What to serve.
        host: The address to listen at.
        port: The port; 0 takes one that is free.
        workers: How many processes. One that dies is replaced.
        ready: Called with the address once the socket listens.
    """
    limits = settings.limits
    Service(settings)  # the workers open it each for itself; here, it tells what is wrong
    if settings.token_file is not None:
        Tokens(settings.token_file)
    Cors(settings.cors_origins)
    metrics = counters(workers)
    config = LimitedConfig(
        partial(_app, settings, metrics),
        factory=True,
        workers=workers,
        limits=limits,
        metrics=metrics,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
        timeout_worker_healthcheck=30,
        ws="none",
        log_level="error",  # what clients cause, at the rate that they do, fills no log
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    # uvicorn raises the signal again once it has stopped, by which the process would die unclean.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    listening = _listen(host, port)
    ready(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
    if workers > 1:
        _Workers(config, sockets=[listening]).run()
    else:
        _Server(config).run(sockets=[listening])


class _Server(Server):
    """The only process, which tells systemd how it is."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        if self.started:
            notify.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take no more requests."""
        notify.stopping()
        super().handle_exit(sig, frame)


class _Workers(Multiprocess):
    """The parent of several processes, which tells systemd how they are."""

    def init_processes(self) -> None:
        """Start the workers."""
        super().init_processes()
        seconds = self.config.timeout_worker_healthcheck
        if all(process.wait_until_ready(seconds, self.should_exit) for process in self.processes):
            notify.ready()

    def handle_hup(self) -> None:
        """Replace the workers one by one."""
        notify.reloading()
        super().handle_hup()
        notify.ready()

    def terminate_all(self) -> None:
        """Have the workers take no more requests."""
        notify.stopping()
        super().terminate_all()


def _app(settings: Settings, metrics: Metrics) -> ASGIApp:
    # Who doubts a language asks /detect; the log would fill with warnings that texts cause.
    warnings.simplefilter("ignore", DoubtfulLanguageWarning)
    return create_app(settings, metrics)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen at {host}, port {port}: {why}.") from error
    listening.set_inheritable(True)
    return listening
