"""The files in deploy/: nginx and systemd read theirs, and the image's is true to the project."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import pmeans
from serving import serving, wait_for

for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
BODY = json.dumps({"inputs": ["cat"], "lang": "en"}).encode()


def program(name):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed: apt-get install {name}")
    return name


@pytest.fixture
def configured(tmp_path):
    """Return how to write nginx's configuration for a server at a port, with a certificate."""
    if NGINX is None:
        pytest.skip("nginx is not installed: apt-get install nginx-light")
    subprocess.run(
        [program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", "/CN=localhost", "-keyout", tmp_path / "privkey.pem",
         "-out", tmp_path / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def write(upstream):
        text = (DEPLOY / "nginx.conf").read_text()
        for old, new in (
            ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
            ("/etc/ssl/pmeans/", f"{tmp_path}/"),
        ):
            assert old in text
            text = text.replace(old, new)
        folders = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""  # or it cannot write into the folder
        (tmp_path / "nginx.conf").write_text(
            f"{user}pid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/error.log;\ndaemon off;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{folders}{text}}}\n"
        )
        return [NGINX, "-e", tmp_path / "error.log", "-c", tmp_path / "nginx.conf"], port

    return write


def test_nginx_takes_its_configuration(configured):
    command, _ = configured(8000)
    done = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


def ask(port, path, body=None):
    """Return status, headers and body of an answer over TLS."""
    context = ssl._create_unverified_context()
    url = f"https://127.0.0.1:{port}{path}"
    try:
        with urllib.request.urlopen(url, body, timeout=20, context=context) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_requests_go_through_nginx_with_tls_and_keep_their_ids(configured, tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    with serving(tmp_path / "toy.safetensors") as (_, upstream):
        command, port = configured(upstream)
        with subprocess.Popen(command) as process:
            try:
                wait_for(lambda: ask(port, "/health")[0] == 200)
                status, headers, rows = ask(port, "/embed", BODY)
                assert (status, len(json.loads(rows))) == (200, 1)
                assert re.fullmatch("[0-9a-f]{32}", headers["X-Request-Id"])  # nginx's own
                # pmeans says what is too long, up to what nginx lets through
                assert ask(port, "/embed", b"x" * 4_050_000)[0] == 413
                assert b"at most 4,000,000 bytes" in ask(port, "/embed", b"x" * 4_050_000)[2]
                assert ask(port, "/metrics")[0] == 403
            finally:
                process.terminate()


@pytest.fixture
def unit(tmp_path):
    """Return the unit with a program that is there."""
    text = (DEPLOY / "pmeans.service").read_text()
    assert "/opt/pmeans/bin/pmeans" in text
    (tmp_path / "pmeans.service").write_text(text.replace("/opt/pmeans/bin/pmeans", sys.executable))
    return tmp_path / "pmeans.service"


def test_systemd_takes_the_unit(unit):
    command = [program("systemd-analyze"), "verify", "--man=no", unit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = [line for line in done.stderr.splitlines() if "pmeans.service" in line]
    assert done.returncode == 0, done.stderr
    assert not said


def test_systemd_finds_little_to_harden(unit):
    command = [program("systemd-analyze"), "security", "--offline=true", "--threshold=20", unit]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    # Exposure of 2.0 or less, of 10.
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def instructions():
    """Return the instructions of the Dockerfile with their arguments."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


def test_the_image_runs_without_root_and_can_be_asked_how_it_is():
    names = [name for name, _ in instructions()]
    last = dict(instructions())
    assert last["USER"] == "pmeans"
    assert names.index("USER") > max(i for i, name in enumerate(names) if name == "RUN")
    assert {"HEALTHCHECK", "STOPSIGNAL", "EXPOSE"} <= set(names)
    assert not re.search(r"\blatest\b|\bsudo\b|ADD ", (DEPLOY / "Dockerfile").read_text())


def test_what_the_image_copies_is_there_and_is_all_that_the_build_reads():
    shown = {
        line[1:]
        for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    }
    assert all((ROOT / path).exists() for path in shown)
    for name, arguments in instructions():
        if name == "COPY" and "--from" not in arguments:
            assert all((ROOT / source).exists() for source in arguments.split()[:-1])
        if name == "RUN":
            files = re.findall(r"(?:--constraint|find) (\S+)", arguments)
            assert all(any(file.startswith(path) for path in shown) for file in files)


def test_the_images_command_is_an_entry_point_and_its_variables_are_options():
    last = dict(instructions())
    assert json.loads(last["ENTRYPOINT"]) == ["/opt/pmeans/bin/pmeans", "serve"]
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^pmeans = "pmeans\.cli', text, flags=re.MULTILINE)
    from typer.main import get_command

    from pmeans.cli.main import app

    params = get_command(app).commands["serve"].params
    options = {f"PMEANS_SERVE_{each.name.upper()}" for each in params}
    assert set(re.findall(r"PMEANS_SERVE_\w+", last["ENV"])) <= options


def test_the_images_health_check_and_variables_work(tmp_path, toy, monkeypatch):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    check = dict(instructions())["HEALTHCHECK"]
    _, *code = json.loads(check[check.index("[") :])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    monkeypatch.setenv("PMEANS_SERVE_PORT", port)

    def healthy():
        return subprocess.run([sys.executable, *code], stderr=subprocess.DEVNULL).returncode == 0

    assert not healthy()
    monkeypatch.setenv("PMEANS_SERVE_MODEL", str(tmp_path / "toy.safetensors"))
    command = [sys.executable, "-m", "pmeans", "serve"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as server:
        try:
            assert port in server.stderr.readline().decode()
            wait_for(healthy)
        finally:
            server.terminate()


def test_packs_beside_the_dockerfile_are_installed_and_none_is_fine(tmp_path):
    (command,) = (line for name, line in instructions() if name == "RUN" and "deploy/packs" in line)
    (tmp_path / "deploy/packs").mkdir(parents=True)
    log = tmp_path / "log"
    pip = tmp_path / "pip"
    pip.write_text(f'#!/bin/sh\necho "$@" >> {log}\n')
    pip.chmod(0o755)
    command = command.replace("/opt/pmeans/bin/pip", str(pip))
    subprocess.run(["sh", "-ec", command], check=True, cwd=tmp_path, timeout=30)
    assert not log.exists()
    (tmp_path / "deploy/packs/a_pack-1.0-py3-none-any.whl").touch()
    subprocess.run(["sh", "-ec", command], check=True, cwd=tmp_path, timeout=30)
    assert log.read_text().endswith("deploy/packs/a_pack-1.0-py3-none-any.whl\n")
