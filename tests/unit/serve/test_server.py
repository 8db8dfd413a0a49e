"""Signals that come at a bad moment."""

import asyncio
import signal

import pytest

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")


def test_a_stop_is_not_lost_while_the_server_looks_for_its_parent(folder):
    from pmeans.serve import Settings
    from pmeans.serve.observed import create_app
    from pmeans.serve.server import DrainingServer

    server = DrainingServer(create_app(Settings(model=str(folder / "model"))))

    def stopped_meanwhile():
        server.handle_exit(signal.SIGTERM, None)
        return False

    server.is_orphan = stopped_meanwhile
    assert asyncio.run(server.on_tick(1))
