"""What is sent to the socket of a service manager, and that nothing is sent without one."""

import re
import socket
import sys

import pytest

from pmeans.serve import notify

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no systemd")


@pytest.fixture(params=["file", "name"])
def manager(request, tmp_path, monkeypatch):
    if request.param == "name" and sys.platform != "linux":
        pytest.skip("sockets without a file are Linux's")
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path if request.param == "file" else "\0" + path)
        listening.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", path if request.param == "file" else "@" + path)
        yield listening


def test_each_state_is_a_datagram(manager):
    notify.ready()
    notify.reloading()
    notify.stopping()
    assert manager.recv(100) == b"READY=1"
    assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", manager.recv(100))
    assert manager.recv(100) == b"STOPPING=1"


@pytest.mark.parametrize("address", [None, "", "vsock:2:1", "/no/such/socket"])
def test_without_a_manager_nothing_happens(monkeypatch, address):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    if address is not None:
        monkeypatch.setenv("NOTIFY_SOCKET", address)
    notify.ready()
