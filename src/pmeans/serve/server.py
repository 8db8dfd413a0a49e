"""One process that serves: it loses no request when it stops, and opens its files again on SIGHUP.

STOPPING. SIGTERM or SIGINT: connections that wait to be accepted are accepted, then the socket is
closed. Every request that has been sent is answered, with ``Connection: close``. Idle connections
end after a moment, in which a request on its way arrives. uvicorn would drop all of these.

OPENING AGAIN. SIGHUP: what is served is opened anew beside the old, which then leaves. Requests and
connections do not notice. If it cannot be opened, the old stays. A terminal that is closed sends
SIGHUP as well, and means a stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import warnings
from collections.abc import Callable, Iterator
from types import FrameType

from uvicorn import Server

from pmeans.errors import PmeansError
from pmeans.languages.resolution import DoubtfulLanguageWarning
from pmeans.serve.connections import LimitedConfig
from pmeans.serve.metrics import Metrics
from pmeans.serve.observed import Observed, create_app
from pmeans.serve.service import Settings

BACKLOG = 2048
"""Connections that wait to be accepted."""

_LOG = logging.getLogger("pmeans.serve")


def open_server(settings: Settings, metrics: Metrics) -> DrainingServer:
    """Open what is to be served; errors of ours say why it cannot be."""
    from threadpoolctl import threadpool_limits

    # Who doubts a language asks /detect; the log would fill with warnings that texts cause.
    warnings.simplefilter("ignore", DoubtfulLanguageWarning)
    app = create_app(settings, metrics)
    threadpool_limits(1)  # of BLAS: a request is worked on by one thread
    return DrainingServer(app)


class Terminal:
    """The terminal that the process was started from, if it was."""

    def __init__(self) -> None:
        """See whether there is one."""
        self.had_one = self._is_there()

    def closed(self) -> bool:
        """Tell whether there was one and it is gone."""
        return self.had_one and not self._is_there()

    @staticmethod
    def _is_there() -> bool:
        try:
            os.close(os.open("/dev/tty", os.O_RDONLY))
        except OSError:
            return False
        return True


class DrainingServer(Server):
    """uvicorn's server, with our signals."""

    def __init__(self, app: Observed) -> None:
        limits = app.app.limits
        super().__init__(
            LimitedConfig(
                app,
                backlog=BACKLOG,
                timeout_keep_alive=limits.idle,
                timeout_graceful_shutdown=int(limits.seconds) + 1,
                ws="none",
                log_level="error",  # what clients cause, at the rate that they do, fills no log
                access_log=False,
                server_header=False,
                proxy_headers=False,
            )
        )
        self.app = app.app
        self.when_started: Callable[[], object] = lambda: None
        self.when_reloading: Callable[[], object] = lambda: None
        self.when_reloaded: Callable[[str], object] = lambda why: None
        self.when_stopping: Callable[[], object] = lambda: None
        self.is_orphan: Callable[[], bool] = lambda: False
        self._terminal = Terminal()
        self._reload = False
        self._reloading: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Listen to signals; unlike uvicorn, raise none of them again at the end."""
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGTERM: self.handle_exit,
            signal.SIGINT: self.handle_exit,
        }
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = self.handle_reload
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_reload(self, number: int, frame: FrameType | None) -> None:
        """Remember that what is served is to be opened again, or that nobody is there any more."""
        if self._terminal.closed():
            self.should_exit = True
        else:
            self._reload = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Take connections."""
        await super().startup(sockets)
        self.when_started()

    async def on_tick(self, counter: int) -> bool:
        """Look for signals, ten times a second."""
        if self._reload and (self._reloading is None or self._reloading.done()):
            self._reload = False
            self._reloading = asyncio.create_task(self.reload())
        if self.is_orphan():  # and never set to False here: a signal may come in between
            self.should_exit = True
        return await super().on_tick(counter)

    async def reload(self) -> None:
        """Open what is served again, and say what came of it."""
        why = ""
        self.when_reloading()
        try:
            await self.app.reload()
        except PmeansError as error:
            why = str(error)
        except Exception as error:
            _LOG.exception("error while opening again")
            why = repr(error)
        if why:
            _LOG.error("cannot open again what is served, and go on with what there was: %s", why)
        self.when_reloaded(why)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, and wait until all that was sent is answered."""
        self.app.traffic.draining = True
        self.when_stopping()
        waiting = [listening.dup() for listening in sockets or ()]
        for server in self.servers:
            server.close()
        for listening in waiting:
            await self._accept_waiting(listening)
        await super().shutdown(sockets)

    async def _accept_waiting(self, listening: socket.socket) -> None:
        """Accept what waits to be accepted, and close the socket."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        listening.listen(0)  # from now on, hardly any more
        accepted = []
        with contextlib.suppress(OSError):  # there are none left
            while True:
                accepted.append(listening.accept()[0])
        listening.close()
        for connection in accepted:
            with contextlib.suppress(OSError):  # it has left
                await loop.connect_accepted_socket(self._connection, connection)

    def _connection(self) -> asyncio.Protocol:
        return self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=asyncio.get_running_loop(),
        )
