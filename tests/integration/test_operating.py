"""``pmeans serve`` as operators run it: logs, metrics, tokens, the environment."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

import pmeans
from serving import connect, get, servers, serving, wait_for

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations


@pytest.fixture
def model(tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    return tmp_path / "toy.safetensors"


def metric(port, name):
    (line,) = (
        line for line in get(port, "/metrics").decode().splitlines() if line.split()[0] == name
    )
    return float(line.split()[1])


def status(port, path, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_two_workers_log_whole_lines_to_standard_output(model, tmp_path):
    out = tmp_path / "access.jsonl"
    with (
        out.open("wb") as file,
        serving(model, "--workers", "2", "--access-log", "json", stdout=file) as (_, port),
    ):
        for n in range(40):
            assert status(port, "/info", **{"X-Request-Id": f"mine-{n}"}) == 200
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    mine = [line for line in lines if line["request_id"].startswith("mine-")]
    assert {line["request_id"] for line in mine} == {f"mine-{n}" for n in range(40)}
    assert {line["status"] for line in mine} == {200}


def test_nothing_is_logged_unless_it_is_asked_for(model, tmp_path):
    with (tmp_path / "out").open("wb") as file, serving(model, stdout=file) as (_, port):
        assert status(port, "/info") == 200
    assert (tmp_path / "out").read_bytes() == b""


def test_open_connections_are_counted(model):
    with serving(model) as (_, port), contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connect(port))
        wait_for(lambda: metric(port, "pmeans_open_connections") == 6)  # and the one that asks
        stack.close()
        wait_for(lambda: metric(port, "pmeans_open_connections") == 1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the processes of Linux")
def test_a_worker_that_is_killed_is_a_restart_in_the_metrics(model):
    with serving(model, "--workers", "2") as (process, port):
        wait_for(lambda: metric(port, "pmeans_workers") == 2)
        assert metric(port, "pmeans_worker_restarts_total") == 0
        os.kill(servers(process.pid)[0], signal.SIGKILL)
        wait_for(lambda: metric(port, "pmeans_worker_restarts_total") == 1)
        wait_for(lambda: metric(port, "pmeans_workers") == 2)


def test_tokens_are_rotated_without_a_restart(model, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("old\n# comes next\nnew\n")
    with serving(model, "--token-file", str(file)) as (_, port):
        for token in ("old", "new"):
            assert status(port, "/info", Authorization=f"bearer {token}") == 200
        file.write_text("new\n")
        wait_for(lambda: status(port, "/info", Authorization="Bearer old") == 401)
        assert status(port, "/info", Authorization="Bearer new") == 200


@pytest.fixture
def manager(tmp_path, monkeypatch):
    """Listen as systemd does, and return the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield listening


@pytest.mark.parametrize("workers", ["1", "2"])
def test_systemd_is_told_when_the_server_is_ready_and_when_it_stops(model, manager, workers):
    with serving(model, "--workers", workers) as (process, port):
        assert manager.recv(1000) == b"READY=1"
        assert status(port, "/health") == 200
        process.send_signal(signal.SIGTERM)
        assert manager.recv(1000) == b"STOPPING=1"
        process.wait(30)
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(1000)  # nobody else has spoken


def test_systemd_is_told_of_a_reload_and_its_end(model, manager):
    with serving(model, "--workers", "2") as (process, port):
        assert manager.recv(1000) == b"READY=1"
        process.send_signal(signal.SIGHUP)
        assert re.fullmatch(rb"RELOADING=1\nMONOTONIC_USEC=\d+", manager.recv(1000))
        assert manager.recv(1000) == b"READY=1"
        assert status(port, "/health") == 200


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--token-file", "no-such-file"), "no file 'no-such-file'"),
        (("--cors-origin", "example.org"), "is not the origin of a page"),
    ],
)
def test_what_cannot_work_is_one_line_at_the_start(model, options, why):
    done = subprocess.run(
        [sys.executable, "-m", "pmeans", "serve", str(model), "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


def test_the_environment_sets_options(model, monkeypatch):
    monkeypatch.setenv("PMEANS_SERVE_MAX_TEXTS", "3")
    with serving(model) as (_, port):
        assert json.loads(get(port, "/info"))["limits"]["texts"] == 3
