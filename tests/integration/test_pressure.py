"""Clients that send slowly, do not read, or are too many: the server goes on for the others."""

import contextlib
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import WordSpace
from pmeans.serve import Limits
from serving import connect, get, head, rest, serving, wait_for

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

BODY = json.dumps({"inputs": ["cat"], "lang": "en"}).encode()
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    rows = np.random.default_rng(0).standard_normal((1, 100)).astype(np.float32)
    path = tmp_path_factory.mktemp("pressed") / "toy.safetensors"
    pmeans.save_space(WordSpace.from_words("toy", {"en": ["cat"]}, rows), path)
    return path


def status(port, path="/embed", body=BODY, **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


def test_slow_bodies_take_no_places(model):
    many = json.dumps({"inputs": ["cat"] * 100, "lang": "en"}).encode()  # which need a place
    with serving(model, "--max-requests", "4") as (_, port), contextlib.ExitStack() as stack:
        for _ in range(16):
            stack.enter_context(connect(port)).sendall(head(len(BODY)) + BODY[:5])
        get(port, "/health")  # what was sent before it has been read
        assert [status(port, body=many) for _ in range(8)] == [200] * 8


def test_large_bodies_that_do_not_end_leave_room_for_small_ones(model):
    options = ("--max-body", "1000000", "--max-bodies", "1000000", "--max-seconds", "3")
    large = b'{"lang":"en","inputs":"' + b"x" * 500_000 + b'"}'
    with serving(model, *options) as (_, port), contextlib.ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connect(port)).sendall(head(1_000_000) + b"x" * 400_000)
        wait_for(lambda: status(port, body=large) == 429)
        assert status(port) == 200
        wait_for(lambda: status(port, body=large) == 200)  # the others were late


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory on Linux")
def test_answers_that_nobody_reads_take_bounded_memory(model):
    many = json.dumps({"inputs": ["cat"] * 2000, "lang": "en"}).encode()  # 6 MB of numbers
    options = ("--max-answers", "10000000", "--max-seconds", "4")
    with serving(model, *options) as (process, port), contextlib.ExitStack() as stack:
        assert status(port, body=many) == 200
        before = memory(process.pid)
        for _ in range(40):
            connection = stack.enter_context(connect(port))
            connection.sendall(head(len(many)) + many)
        wait_for(lambda: status(port, "/ready", None) == 503)
        assert status(port) == 503
        assert memory(process.pid) - before < 80_000  # kB; all answers would be 240,000
        assert status(port, "/health", None) == 200
        wait_for(lambda: status(port) == 200)  # the answers were dropped


def memory(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", text)[1])


def test_a_server_with_too_many_connections_lives_and_says_it_is_full(model):
    with serving(model, "--max-connections", "3") as (_, port), contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connect(port)).sendall(b"POST /embed HTTP/1.1\r\n")
        wait_for(lambda: status(port) == 503)
        assert status(port, "/health", None) == 200
        assert status(port, "/ready", None) == 503


def test_an_idle_connection_makes_room_for_a_new_one(model):
    with serving(model, "--max-connections", "3") as (_, port), contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(port)) for _ in range(3)]
        for connection in idle:
            connection.sendall(HEALTH)
            wait_until_answered(connection)
        wait_for(lambda: status(port) == 200)  # once they have waited long enough
        ended = select.select(idle, [], [], 20)[0]
        assert [rest(connection) for connection in ended] == [b""]  # one, and that is enough


def wait_until_answered(connection):
    answer = b""
    while not answer.endswith(b'{"status":"ok"}'):
        answer += connection.recv(4096)


@pytest.mark.parametrize("path", [b"/nope", b"/embed", b"/health"])
def test_the_rest_of_a_refused_body_is_not_the_next_request(model, path):
    method = b"GET" if path == b"/health" else b"POST"
    first = method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n"
    with serving(model) as (_, port), connect(port) as connection:
        connection.sendall(first + b"Content-Encoding: gzip\r\n\r\n" + b"x")
        for length in (100_000, 100_000, 99_999):
            time.sleep(0.1)  # so that it comes in pieces
            connection.sendall(b"x" * length)
        with contextlib.suppress(OSError):
            connection.sendall(HEALTH)
            connection.shutdown(socket.SHUT_WR)
        answer = rest(connection)
        refusal = {b"/nope": 404, b"/embed": 415, b"/health": 200}[path]
        # A refusal may end the connection, but what follows is never taken for something else.
        assert statuses(answer) in ([refusal, 200], [refusal])
        assert len(statuses(answer)) == 2 or b"connection: close" in answer


def test_a_body_without_end_is_refused_once_and_ends_the_connection(model):
    with serving(model, "--max-body", "100000") as (_, port), connect(port) as connection:
        connection.sendall(head(100_000_000))
        with contextlib.suppress(OSError):
            for _ in range(100):
                connection.sendall(b"x" * 1_000_000)
            connection.sendall(HEALTH)
        assert statuses(rest(connection)) in ([413], [])  # none if it had still to send


def test_other_sites_cannot_post_and_ones_own_page_can(model):
    with serving(model) as (_, port):
        plain = {"Content-Type": "text/plain"}
        assert status(port, **plain) == 200
        assert status(port, **plain, Origin="http://evil.example") == 415
        assert status(port, **plain, Origin=f"http://127.0.0.1:{port}") == 200
        assert status(port) == 200  # as curl sends it


def test_a_connection_waits_longer_than_nginx_does():
    assert Limits().idle > 75


@pytest.fixture
def nginx(tmp_path):
    """Give how to start nginx before a server; it keeps its connections for a minute."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    with contextlib.ExitStack() as stack:

        def start(port):
            here = free_port()
            config = tmp_path / "nginx.conf"
            config.write_text(NGINX.format(here=here, port=port, place=tmp_path))
            process = subprocess.Popen(
                [program, "-p", str(tmp_path), "-c", str(config), "-e", str(tmp_path / "error.log")]
            )
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)
            wait_for(lambda: get(here, "/health"))
            return here

        yield start


NGINX = """
daemon off; master_process off; pid {place}/nginx.pid; error_log {place}/error.log;
events {{}}
http {{
  access_log off; client_body_temp_path {place}/body; proxy_temp_path {place}/proxy;
  fastcgi_temp_path {place}/f; uwsgi_temp_path {place}/u; scgi_temp_path {place}/s;
  upstream pmeans {{ server 127.0.0.1:{port}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{here};
    location / {{
      proxy_pass http://pmeans; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host localhost;
    }}
  }}
}}
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def sent_to_a_sleeping_server(process, here, seconds, meanwhile=lambda: None):
    """Return the answer to a request that arrives, by nginx, while the server sleeps."""
    os.kill(process.pid, signal.SIGSTOP)
    try:
        time.sleep(seconds)
        with connect(here) as connection:
            connection.sendall(head(len(BODY)) + BODY)
            time.sleep(0.5)  # nginx hands it on
            meanwhile()
            os.kill(process.pid, signal.SIGCONT)
            return connection.recv(100)
    finally:
        os.kill(process.pid, signal.SIGCONT)


def test_nginx_loses_no_request_on_a_connection_that_is_about_to_end(model, nginx):
    with serving(model, "--keep-alive", "1") as (process, port):
        here = nginx(port)
        assert status(here) == 200
        assert sent_to_a_sleeping_server(process, here, 1.5).startswith(b"HTTP/1.1 200 ")


def test_nginx_loses_no_request_when_the_server_stops(model, nginx):
    with serving(model) as (process, port):
        here = nginx(port)
        assert [status(here) for _ in range(100)] == [200] * 100
        answer = sent_to_a_sleeping_server(process, here, 0.2, process.terminate)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert process.wait(40) == 0
