"""The server keeps to its own description, under requests that schemathesis draws from it."""

import os
import subprocess
import sys

import pytest

from served import write_served
from serving import serving

pytest.importorskip("schemathesis", reason="pip install 'pmeans[integrations]'")
for module in ("starlette", "uvicorn", "httptools", "orjson"):
    pytest.importorskip(module, reason="pip install 'pmeans[serve]'")

pytestmark = pytest.mark.integrations

EXAMPLES = os.environ.get("PMEANS_EXAMPLES", "20")
"""Requests per path and kind; `make fuzz-serve` sends more."""


def test_every_answer_is_one_that_the_description_names(tmp_path):
    settings = write_served(tmp_path)
    model = settings.pop("model")
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    with serving(model, *options) as (_, port):
        command = [
            sys.executable, "-m", "schemathesis.cli", "run",
            f"http://127.0.0.1:{port}/openapi.json",
            # Which languages a model has is not in the description: some valid words are refused.
            "--checks", "all", "--exclude-checks", "positive_data_acceptance",
            "--max-examples", EXAMPLES, "--seed", "1",
            "--generation-database", "none", "--no-color",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
