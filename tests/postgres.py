"""A PostgreSQL with pgvector for one test: in a folder of its own, on the loopback interface."""

import contextlib
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

INSTALL = "apt-get install postgresql postgresql-NN-pgvector, or pip install pgserver"


def programs() -> Path:
    """Return the folder with the programs of one that has pgvector, or skip the test."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    packed = importlib.util.find_spec("pgserver")  # a wheel with both
    if packed and packed.origin:
        found.append(Path(packed.origin).parent / "pginstall" / "bin")
    for folder in found:
        config = [str(folder / "pg_config"), "--sharedir"]
        if not Path(config[0]).exists():
            config[0] = shutil.which("pg_config") or ""
        told = subprocess.run(config, capture_output=True, text=True) if config[0] else None
        if told and (Path(told.stdout.strip()) / "extension" / "vector.control").exists():
            return folder
    pytest.skip(f"needs PostgreSQL with pgvector: {INSTALL}")


@contextlib.contextmanager
def served() -> Iterator[dict[str, str]]:
    """Run a server; give the environment by which clients find it."""
    folder = programs()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    # It refuses to be run by root.
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="pg-") as home:
        if user:
            shutil.chown(home, "nobody")
        data = f"{home}/data"

        def run(*command: str) -> None:
            program, *rest = command
            subprocess.run([folder / program, *rest], cwd=home, stdout=subprocess.DEVNULL,
                           check=True, **user)  # fmt: skip

        run("initdb", "-D", data, "-U", "pmeans", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        how = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {home}"
        run("pg_ctl", "-D", data, "-w", "-l", f"{home}/log", "-o", how, "start")
        try:
            yield {
                "PGHOST": "127.0.0.1",
                "PGPORT": port,
                "PGUSER": "pmeans",
                "PGDATABASE": "postgres",
            }
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "fast", "stop")
