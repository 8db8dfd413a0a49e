"""Kill real processes with SIGKILL, run them again, and compare bytes; and watch their memory."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pmeans

# A savepoint every few rows, and a word to the outside after each, so that the test can choose
# where to kill.
PROGRAM = """
import sys
from pmeans import models
from pmeans.jobs import embed_to_file
from pmeans.tables import open_source
model, source, out = sys.argv[1:]
options = {"lang": "en", "batch_size": 7, "save_every": 0}
report = lambda state: print(state.rows, flush=True)
embed_to_file(models.load(model), open_source(source), out, **options, report=report)
"""


PREDICTING = """
import sys
from pmeans import TransferClassifier
from pmeans.jobs import predict_to_file
from pmeans.tables import Fields, open_source
model, source, out = sys.argv[1:]
source = open_source(source, Fields(whole=True), format="txt")
options = {"lang": "en", "batch_size": 7, "save_every": 0}
report = lambda state: print(state.rows, flush=True)
predict_to_file(TransferClassifier.load(model), source, out, **options, report=report)
"""


@pytest.fixture
def classifier(tmp_path, model):
    texts = [f"w{i % 50} w{i % 7}" for i in range(60)]
    encoder = pmeans.load(model)
    trained = pmeans.TransferClassifier(encoder).fit(texts, ["a", "b", "b"] * 20, lang="en")
    trained.save(tmp_path / "classifier")
    return tmp_path / "classifier"


@pytest.fixture
def model(tmp_path):
    words = [f"w{i}" for i in range(50)]
    matrix = np.random.default_rng(0).normal(size=(50, 200)).astype(np.float32)
    space = pmeans.WordSpace.from_words("tiny", {"en": words}, matrix)
    pmeans.save_space(space, tmp_path / "tiny.safetensors")
    return tmp_path / "tiny.safetensors"


@pytest.fixture
def sentences(tmp_path):
    draw = random.Random(0)
    lines = [
        " ".join(f"w{draw.randrange(60)}" for _ in range(draw.randrange(6))) for _ in range(200)
    ]
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "in.txt"


def start(program, *args):
    command = [sys.executable, "-c", program, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("format_", ["npy", "jsonl", "parquet"])
def test_killed_again_and_again_a_job_ends_with_the_same_bytes(tmp_path, model, sentences, format_):
    kill_and_compare(PROGRAM, model, sentences, format_, tmp_path)


@pytest.mark.parametrize("format_", ["csv", "tsv", "jsonl", "parquet"])
def test_killed_again_and_again_predictions_end_with_the_same_bytes(
    tmp_path, classifier, sentences, format_
):
    kill_and_compare(PREDICTING, classifier, sentences, format_, tmp_path)


def kill_and_compare(program, model, sentences, format_, folder):
    whole, out = folder / f"whole.{format_}", folder / "runs" / f"out.{format_}"
    with start(program, model, sentences, whole) as uninterrupted:
        assert uninterrupted.communicate()[1] == b""
    draw = random.Random(format_)
    resumed_at = []
    for _ in range(4):
        with start(program, model, sentences, out) as job:
            resumed_at.append(int(job.stdout.readline()))
            for _ in range(draw.randrange(1, 7)):
                job.stdout.readline()
            job.send_signal(signal.SIGKILL)
            assert job.wait() == -signal.SIGKILL
    assert resumed_at == sorted(resumed_at)
    assert resumed_at[-1] > 0
    with start(program, model, sentences, out) as job:
        assert job.communicate()[1] == b""
    assert out.read_bytes() == whole.read_bytes()
    assert [path.name for path in out.parent.iterdir()] == [out.name]


# Not resource.getrusage, which answers with the size of the process that started this one, if
# that is larger.
MEASURED = """
import re, sys
from pmeans.cli.main import app
app(sys.argv[1:], standalone_mode=False)
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("format_", ["npy", "parquet"])
def test_memory_does_not_grow_with_the_input(tmp_path, model, format_):
    recipe = model.with_suffix(".toml")  # splitting at spaces is fast on every kernel
    recipe.write_text(f'tokenizer = "whitespace"\nparts = [{{space = "{model.name}"}}]\n')
    peaks = []
    for n_rows in (20_000, 60_000):
        path = tmp_path / f"{n_rows}.{'txt' if format_ == 'npy' else format_}"
        write_rows(path, n_rows)
        command = ["embed", recipe, path, "--out", tmp_path / f"out.{format_}"]
        command += ["--batch-size", "1000"]
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, *map(str, command)], capture_output=True, check=True
        )
        peaks.append(int(done.stdout))
    # The longer input has 80 MB more of text and gives 96 MB more of numbers; Arrow's allocator
    # takes up to 40 MB more before it levels off.
    assert peaks[1] - peaks[0] < 60_000, peaks  # kB


def write_rows(path, n_rows):
    lines = [f"w{i % 60} {i:0>2000}" for i in range(n_rows)]  # few words, many bytes
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": lines}), path, row_group_size=2000)
    else:
        path.write_text("\n".join(lines), encoding="utf-8")
