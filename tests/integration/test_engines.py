"""Ray and Spark at work: the same bytes as from a file, also where workers are killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pmeans
from libraries import DE, EN, library
from pmeans.errors import LanguageError
from pmeans.integrations import ray as on_ray
from pmeans.integrations import spark as on_spark
from pmeans.tables.writers import coded_rows

psutil = pytest.importorskip("psutil", reason="pip install 'pmeans[integrations]'")
pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Tip. In future versions of Ray:FutureWarning"),
]
NEEDED = {"ray": "ray", "spark": "pyspark"}
WORKER = {"ray": "ray::", "spark": "pyspark.daemon"}
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
SENTENCES = [EN[0], DE[0], "", "qwrtz", *EN[1:], *DE[1:]]


@pytest.fixture
def files(tmp_path):
    """Three files, one of them larger than a part, with rows that cannot be read."""
    (tmp_path / "in").mkdir()
    texts = pa.array(SENTENCES * 10_000)
    bad = pa.array([b"\xed\xa0\x80", None, b"x" * 10_000_000]).view(pa.string())
    for name, column, first in (("a", texts, 0), ("b", texts[:7], 10**6), ("c", bad, 2 * 10**6)):
        table = pa.table({"n": range(first, first + len(column)), "text": column})
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    return tmp_path / "in"


def command(folder, *more):
    return [sys.executable, "-m", "pmeans", "embed", "default", f"{folder}/*.parquet", *more]


def vectors(path):
    """Return the vectors of a file or a folder, in the order of its files or of a column."""
    table = pq.read_table(path)
    table = table.sort_by("n") if "n" in table.column_names else table
    lists = table["embedding"].combine_chunks()
    return lists.values.to_numpy().reshape(-1, lists.type.list_size)


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_two_killed_workers_change_no_byte_and_bad_rows_are_counted(engine, files, tmp_path):
    library(NEEDED[engine], engine)
    out = tmp_path / "out"
    job = subprocess.Popen(
        command(files, "--engine", engine, "--out", out, "--on-error", "skip"),
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    killed = set()
    while job.poll() is None and len(killed) < 2:
        for process in psutil.Process(job.pid).children(recursive=True):
            # Only one that is at work: the temporary file of its part is open.
            if process.pid not in killed and is_at_work(process, engine, out):
                os.kill(process.pid, signal.SIGKILL)
                killed.add(process.pid)
                break
        time.sleep(0.01)
    _, told = job.communicate(timeout=300)
    assert job.returncode == 0, told
    assert len(killed) == 2
    assert "100,010 rows in 4 parts" in told
    assert "warning: could not read 2 rows: written as zeros" in told
    assert {path.suffix or path.name for path in out.iterdir()} == {".parquet", ".parts"}
    expected = []
    for file in sorted(files.iterdir()):
        to = tmp_path / f"{file.stem}.npy"
        one = [*command(files)[:-1], str(file), "--out", str(to), "--on-error", "skip"]
        subprocess.run(one, check=True, capture_output=True)
        expected.append(np.load(to))
    np.testing.assert_array_equal(vectors(out), np.concatenate(expected))


def is_at_work(process, engine, out):
    try:
        named = any(WORKER[engine] in word for word in process.cmdline())
        return named and any(Path(f.path).parent == out for f in process.open_files())
    except psutil.Error:
        return False


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier") / "topics"
    labels = ["play", "state", "car", "food"]
    pmeans.TransferClassifier(pmeans.load()).fit(EN * 3, labels * 3, lang="en").save(folder)
    return str(folder)


def listening():
    """Return the addresses at which this process and its children can be reached."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = [link for process in family for link in process.net_connections("inet")]
    return {link.laddr.ip for link in found if link.status == "LISTEN"}


def test_a_dataset_of_ray_gets_vectors_and_labels(topics):
    library("ray", "ray")
    ray = on_ray.available()
    with on_ray._started(ray):
        assert listening() <= LOOPBACK
        ray.data.DataContext.get_current().enable_progress_bars = False
        given = ray.data.from_arrow(pa.table({"text": [*DE, None], "lang": ["de"] * 5}))
        made = on_ray.embed(given, lang_column="lang", on_error="skip", normalize=True)
        rows = sorted(made.take_all(), key=lambda row: str(row["text"]))
        labels = on_ray.predict(given, classifier=topics, lang="de").take_all()
        unsure = on_ray.predict(given, classifier=topics, lang="de", unsure=1.0).take_all()
        codes = on_ray.embed(given, lang="de", on_error="skip", dtype="int8", column="codes")
        codes = {row["text"]: row["codes"] for row in codes.take_all()}
        with pytest.raises(LanguageError, match="no language 'xx'"):
            on_ray.embed(given, lang="xx")
    expected = pmeans.load().encode(sorted(DE), lang="de", normalize_embeddings=True)
    assert [row["embedding"] is None for row in rows if row["text"] is None] == [True]
    assert {row["label"] for row in unsure} == {None}
    wanted = coded_rows(pmeans.load().encode(DE, lang="de"), "int8")
    np.testing.assert_array_equal(np.array([codes[text] for text in DE]), wanted)
    found = [row["embedding"] for row in rows if row["text"] is not None]
    np.testing.assert_array_equal(np.array(found, dtype=np.float32), expected)
    assert {row["label"] for row in labels[:4]} <= {"play", "state", "car", "food"}


def test_a_frame_of_spark_gets_vectors_and_labels(topics):
    library("pyspark", "spark")
    with on_spark._started(on_spark.available()) as session:
        assert listening() <= LOOPBACK
        given = session.createDataFrame(
            [*((text, "de") for text in DE), (None, "de")], "text string, lang string"
        )
        made = on_spark.embed(given, lang_column="lang", on_error="skip", normalize=True)
        assert made.dtypes[-1] == ("embedding", "array<float>")
        rows = {row.text: row.embedding for row in made.collect()}
        labels = on_spark.predict(given, classifier=topics, lang="de").collect()
        unsure = on_spark.predict(given, classifier=topics, lang="de", unsure=1.0).collect()
        for dtype, kind in (("int8", "array<tinyint>"), ("float16", "array<float>")):
            made = on_spark.embed(given, lang="de", on_error="skip", dtype=dtype, column="a b")
            assert made.dtypes[-1] == ("a b", kind)
            coded = {row.text: row["a b"] for row in made.collect()}
            wanted = coded_rows(pmeans.load().encode(DE, lang="de"), dtype)
            np.testing.assert_array_equal(np.array([coded[text] for text in DE]), wanted)
    assert rows.pop(None) is None
    assert {row.label for row in unsure} == {None}
    expected = pmeans.load().encode(DE, lang="de", normalize_embeddings=True)
    np.testing.assert_array_equal(np.array([rows[t] for t in DE], dtype=np.float32), expected)
    assert {row.label for row in labels[:4]} <= {"play", "state", "car", "food"}
    assert {row.note for row in labels} <= {"", "no known word", "unsure"}
