"""Signals to ``pmeans serve``: nothing that was sent is lost, and files are opened again."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import WordSpace
from serving import connect, get, head, maps, rest, servers, serving, wait_for

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="reads processes of Linux"),
]

BODY = json.dumps({"inputs": ["cat"], "lang": "en", "normalize": False}).encode()
REQUEST = head(len(BODY)) + BODY


def save(path, value):
    """Write a model whose one word has a vector of this value."""
    rows = np.full((1, 3), value, np.float32)
    pmeans.save_space(WordSpace.from_words("toy", {"en": ["cat"]}, rows), path)
    return path


@pytest.fixture
def model(tmp_path):
    return save(tmp_path / "toy.safetensors", 1.0)


def embed(port, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/embed", BODY, headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def ask(connection):
    """Return the answer to a request on an open connection."""
    connection.sendall(REQUEST)
    answer = b""
    while not answer.endswith(b"]]"):
        part = connection.recv(4096)
        assert part, answer
        answer += part
    return answer


def started(process, n):
    """Wait for the worker processes, and return them; one alone is the server itself."""
    if n == 1:
        return [process.pid]
    wait_for(lambda: len(servers(process.pid)) == n)
    workers = servers(process.pid)
    wait_for(lambda: all("toy.safetensors" in maps(worker) for worker in workers))
    return workers


def status_of(worker):
    return Path(f"/proc/{worker}/status").read_text()


@contextlib.contextmanager
def asleep(workers):
    """Stop processes, so that all that is sent meanwhile waits in the kernel."""
    for worker in workers:
        os.kill(worker, signal.SIGSTOP)
    wait_for(lambda: all("State:\tT" in status_of(worker) for worker in workers))
    try:
        yield
    finally:
        for worker in workers:
            os.kill(worker, signal.SIGCONT)


def told_to_stop(worker):
    """Tell whether SIGTERM waits for a process that is asleep."""
    pending = re.search(r"ShdPnd:\s+(\w+)", status_of(worker))[1]
    return bool(int(pending, 16) & 1 << (signal.SIGTERM - 1))


@pytest.mark.parametrize("n", [1, 2])
def test_a_stop_answers_all_that_was_sent(model, n):
    with serving(model, "--workers", str(n)) as (process, port), contextlib.ExitStack() as stack:
        workers = started(process, n)
        opened = [stack.enter_context(connect(port)) for _ in range(32)]
        for connection in opened:
            assert ask(connection).startswith(b"HTTP/1.1 200 OK\r\n")
        with asleep(workers):
            waiting = [stack.enter_context(connect(port)) for _ in range(32)]
            for connection in (*opened, *waiting):
                connection.sendall(REQUEST)
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: all(told_to_stop(worker) for worker in workers))
        answers = [rest(connection) for connection in (*opened, *waiting)]
        lost = [answer for answer in answers if not answer.startswith(b"HTTP/1.1 200 OK\r\n")]
        assert not lost, f"{len(lost)} of {len(answers)}"
        assert process.wait(40) == 0


def test_a_server_that_stops_lives_and_is_not_ready(model):
    with serving(model) as (process, port), contextlib.ExitStack() as stack:
        assert get(port, "/ready") == b'{"status":"ready"}'
        begun = {path: stack.enter_context(connect(port)) for path in ("/health", "/ready")}
        for path, connection in begun.items():
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode())
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: not reachable(port))
        for connection in begun.values():
            connection.sendall(b"\r\n")
        answers = {path: rest(connection) for path, connection in begun.items()}
        assert answers["/health"].startswith(b"HTTP/1.1 200 ")
        assert answers["/ready"].startswith(b"HTTP/1.1 503 ")
        assert process.wait(40) == 0


def reachable(port):
    with contextlib.suppress(ConnectionRefusedError), connect(port):
        return True
    return False


@pytest.mark.parametrize("n", [1, 2])
def test_a_hangup_opens_the_model_again_and_loses_no_request(model, n):
    with serving(model, "--workers", str(n)) as (process, port), connect(port) as connection:
        started(process, n)
        assert set(embed(port)[0]) == {1.0}
        save(model, 2.0)
        process.send_signal(signal.SIGHUP)

        def all_new():
            assert ask(connection).startswith(b"HTTP/1.1 200 OK\r\n")  # always the same one
            return all(set(embed(port)[0]) == {2.0} for _ in range(20))

        wait_for(all_new)


def test_a_hangup_reads_the_token_again(model, tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")
    with serving(model, "--token-file", str(token)) as (process, port):
        assert embed(port, "old")
        token.write_text("new\n")
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: accepts(port, "new"))
        assert not accepts(port, "old")


def accepts(port, token):
    with contextlib.suppress(urllib.error.HTTPError):
        return bool(embed(port, token))
    return False


@pytest.mark.parametrize("n", [1, 2])
def test_what_cannot_be_opened_again_leaves_the_old(model, n):
    with serving(model, "--workers", str(n)) as (process, port):
        started(process, n)
        model.rename(model.with_suffix(".old"))
        process.send_signal(signal.SIGHUP)
        line = process.stderr.readline()
        assert line.startswith("cannot open again what is served, and go on with what there was:")
        assert all(set(embed(port)[0]) == {1.0} for _ in range(20))


def test_workers_that_cannot_start_end_the_server_with_their_reason(model):
    with serving(model, "--workers", "2") as (process, port):
        workers = started(process, 2)
        assert embed(port)
        model.unlink()
        os.kill(workers[0], signal.SIGKILL)
        assert process.wait(120) == 1
        last = process.stderr.read().splitlines()[-1]
        assert last.startswith("error: 3 workers in a row could not start. The last one: ")
        assert "toy.safetensors" in last


def test_workers_end_with_their_parent(model):
    with serving(model, "--workers", "2") as (process, port):
        workers = started(process, 2)
        process.kill()
        wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
        assert not reachable(port)


@pytest.mark.parametrize("n", [1, 2])
def test_a_closed_terminal_stops_the_server(model, n):
    # The program below becomes the server, and the leader of the terminal.
    command = [sys.executable, "-m", "pmeans", "serve", str(model), "--port", "0"]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], [*command, "--workers", str(n)])
    try:
        said = b""
        while b"\n" not in said:
            said += os.read(terminal, 1000)
        port = int(said.split(b"\n")[0].rsplit(b":", 1)[1])
        wait_for(lambda: get(port, "/health") == b'{"status":"ok"}')
        os.close(terminal)
        wait_for(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid)
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        raise
    assert not reachable(port)


def test_one_thread_of_blas_serves_a_request(model):
    program = (
        "import sys; from pmeans.serve import Settings; from threadpoolctl import threadpool_info;"
        "from pmeans.serve.application import counters;"
        "from pmeans.serve.server import open_server;"
        "open_server(Settings(sys.argv[1]), counters());"
        "print([pool['num_threads'] for pool in threadpool_info()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(model)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "4"},
    )
    assert set(json.loads(done.stdout)) == {1}
