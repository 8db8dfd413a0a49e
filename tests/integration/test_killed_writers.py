"""Writers that are killed, interrupted or asked to end: what they leave, and what comes after."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, models

pytestmark = pytest.mark.integrations
PROGRAM = Path(__file__).with_name("killed_writers.py")


@pytest.mark.parametrize("how", ["exchange", "rename"])
@pytest.mark.parametrize("what", ["encoder", "file"])
def test_a_kill_before_or_after_any_call_leaves_the_old_or_the_new(tmp_path, what, how):
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, what, how],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= (5 if what == "file" else 15)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupted_command_removes_what_it_has_half_written(tmp_path, toy, number, code):
    models.save(PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy}), tmp_path / "m")
    (tmp_path / "fr.tsv").write_text("cat\tchat\n")
    os.mkfifo(tmp_path / "text")
    command = ["extend", "m", "--lang", "fr", "--dictionary", "fr.tsv", "--text", "text"]
    before = sorted(tmp_path.iterdir())
    with subprocess.Popen(
        [sys.executable, "-m", "pmeans", *command, "--out", "new"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        end = time.monotonic() + 60
        while not (tmp_path / ".new.pmeans-new").exists() and time.monotonic() < end:
            time.sleep(0.02)
        assert (tmp_path / ".new.pmeans-new").is_dir()
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in said
    assert sorted(tmp_path.iterdir()) == before
