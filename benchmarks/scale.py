"""Many rows on Ray and on Spark, on this machine: the same bytes, what it costs, what is found.

    python benchmarks/scale.py                    # 2, 5 and 10 million rows: an hour, 45 GB
    python benchmarks/scale.py --rows 20000 --json /tmp/scale.json         # a few minutes
    python benchmarks/scale.py --section cost     # one of them, the others stay as they are

Needs `pip install 'pmeans[ray,search,spark]' psutil`, Java, and the data. Sentences are those of
the parallel and plain texts there, English, German and French, over again where there are not
enough. After each section the numbers are in a JSON file, and the page beside it is written anew.
"""

import argparse
import gzip
import itertools
import json
import lzma
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import pmeans
from pmeans.jobs import embed_parts, here
from pmeans.search import open_graph, open_index, top_k

ENGINES = ("ray", "spark")
WORKERS = {"ray": "ray::", "spark": "pyspark"}
K, SHARDS, QUERIES, ROUNDS = 10, 4, 200, 3
ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("PMEANS_DATA", ROOT.parent / "shared" / "data"))


def sentences() -> Iterator[tuple[str, str]]:
    """Yield texts with their languages: of pairs both sides in turn, and lines of plain text."""
    while True:
        for other in ("de", "fr"):
            for name in (f"en-{other}.tsv.gz", f"en-{other}.more.tsv.xz"):
                opened = gzip.open if name.endswith("gz") else lzma.open
                with opened(DATA / "parallel" / name, "rt", encoding="utf-8") as lines:
                    next(lines)  # the header
                    for line in lines:
                        _, english, foreign = line.rstrip("\n").split("\t")
                        yield english, "en"
                        yield foreign, other
        for path in sorted((DATA / "mono").glob("*.txt.xz")):
            with lzma.open(path, "rt", encoding="utf-8") as lines:
                yield from ((line.strip()[:500], path.name[:2]) for line in lines if line.strip())


def write_rows(path: Path, n_rows: int, found: Iterable[tuple[str, str]] | None = None) -> Path:
    """Write sentences as one Parquet file with the columns ``index``, ``text`` and ``lang``."""
    if not path.exists():
        found = iter(found or sentences())
        say(f"writing {n_rows:,} rows")
        schema = pa.schema([("index", pa.int64()), ("text", pa.string()), ("lang", pa.string())])
        with pq.ParquetWriter(path.with_suffix(".new"), schema) as writer:
            step = 65_536
            for start in range(0, n_rows, step):
                some = [next(found) for _ in range(min(step, n_rows - start))]
                texts, langs = zip(*some, strict=True)
                numbers = pa.array(range(start, start + len(some)), pa.int64())
                batch = [numbers, pa.array(texts), pa.array(langs)]
                writer.write_batch(pa.record_batch(batch, schema=schema))
        path.with_suffix(".new").rename(path)
    return path


def skewed(path: Path, folder: Path, n_rows: int) -> str:
    """Divide a file into one of half its rows, and ever smaller ones; return their pattern."""
    if not folder.exists():
        folder.mkdir()
        with pq.ParquetFile(path) as file:
            table = pa.Table.from_batches(file.iter_batches())
        start, i = 0, 0
        while start < n_rows:
            size = max((n_rows - start) // 2, min(1000, n_rows - start))
            pq.write_table(table.slice(start, size), folder / f"{i:02}.parquet")
            start, i = start + size, i + 1
    return f"{folder}/*.parquet"


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


class Watch:
    """The worker processes of a running command, and how much memory each has had."""

    def __init__(self, job: subprocess.Popen[str], engine: str | None, out: Path) -> None:
        self.job, self.engine, self.out = job, engine, out
        self.memory: list[list[int]] = []

    def at_work(self) -> list[psutil.Process]:
        """Return workers that have a part open."""
        found = []
        for process in psutil.Process(self.job.pid).children(recursive=True):
            try:
                named = any(WORKERS[self.engine or ""] in word for word in process.cmdline())
                if named and any(Path(f.path).parent == self.out for f in process.open_files()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def look(self) -> None:
        """Note the memory of each worker, in bytes, shared pages and all."""
        try:
            busy = self.at_work() if self.engine else [psutil.Process(self.job.pid)]
            self.memory.append([process.memory_info().rss for process in busy])
        except psutil.Error:
            return


def run(
    engine: str | None, files: str, out: Path, *more: str, kills: int = 0, n_parts: int = 0
) -> dict[str, Any]:
    """Run ``pmeans embed``, and return seconds, what it said, and the memory of its workers."""
    command = [sys.executable, "-m", "pmeans", "embed", "default", files, "--lang-column", "lang"]
    command += ["--out", str(out), *more, *(["--engine", engine] if engine else [])]
    begin, killed = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as told:
        job = subprocess.Popen(command, stderr=told, text=True, env=os.environ | {"COLUMNS": "80"})
        watch, due = Watch(job, engine, out), 0.0
        while job.poll() is None:
            if time.perf_counter() >= due:
                watch.look()
                due = time.perf_counter() + 1
            done = len(list(out.glob("*.parquet"))) if kills else 0
            if killed < kills and done >= (killed + 1) * n_parts // (kills + 2):
                for process in watch.at_work()[:1]:
                    os.kill(process.pid, signal.SIGKILL)
                    killed += 1
                    say(f"killed a worker of {engine}, with {done} of {n_parts} parts done")
            time.sleep(0.05)
        seconds = time.perf_counter() - begin
        told.seek(0)
        said = told.read()
    if job.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{said}")
    say(f"{engine or 'pmeans embed'}: {seconds:.1f} s")
    seen = [memory for memory in watch.memory if memory]
    quarters = seen[len(seen) // 4 : len(seen) // 2], seen[-len(seen) // 4 :]
    half = [statistics.mean(map(statistics.mean, part)) / 2**20 for part in quarters if part]
    peak = max((max(memory) for memory in seen), default=0) / 2**20
    return {"seconds": seconds, "killed": killed, "said": said, "MiB": half, "peak": peak}


def different(out: Path, rows: np.ndarray) -> tuple[int, int]:
    """Return how many rows of a folder are there, and how many differ, by the column ``index``."""
    n_rows = n_other = 0
    seen = np.zeros(len(rows), dtype=bool)
    for part in sorted(out.glob("*.parquet")):
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(columns=["index", "embedding"]):
                numbers = batch.column("index").to_numpy()
                known = numbers < len(rows)  # others are the poisoned ones
                found = batch.column("embedding").flatten().to_numpy().reshape(len(numbers), -1)
                same = found[known].view(np.uint8) == rows[numbers[known]].view(np.uint8)
                n_other += int(np.count_nonzero(~same.all(axis=1)))
                n_rows += int(known.sum())
                seen[numbers[known]] = True
    return n_rows, n_other + int(np.count_nonzero(~seen))


def one_file(folder: Path, n_rows: int) -> np.ndarray:
    """Return the rows of ``pmeans embed``, mapped."""
    out = folder / f"{n_rows}.npy"
    if not out.exists():
        run(None, str(write_rows(folder / f"{n_rows}.parquet", n_rows)), out)
    return np.load(out, mmap_mode="r")


def remove(out: Path) -> None:
    """Remove what a run wrote: the disk has room for one at a time."""
    if out.is_dir():
        for path in out.iterdir():
            path.unlink()
        out.rmdir()
    else:
        out.unlink(missing_ok=True)


def of_bytes(folder: Path, n: int) -> dict[str, Any]:
    expected, found = one_file(folder, n), {"rows": n}
    files = skewed(folder / f"{n}.parquet", folder / f"{n}", n)
    found["files"] = len(list((folder / f"{n}").iterdir()))
    for engine in ENGINES:
        out = folder / engine
        run(engine, files, out)
        found[engine] = different(out, expected)
        remove(out)
    return found


def of_killed(folder: Path, n: int) -> dict[str, Any]:
    expected, found = one_file(folder, n), {"rows": n}
    files = skewed(folder / f"{n}.parquet", folder / f"{n}", n)
    bad = pa.array([b"\xed\xa0\x80", None, b"x" * 10_000_000]).view(pa.string())
    poison = folder / f"{n}" / "poison.parquet"
    numbers = pa.array(range(n, n + 3), pa.int64())
    pq.write_table(pa.table({"index": numbers, "text": bad, "lang": ["en"] * 3}), poison)
    sizes = [pq.read_metadata(path).num_rows for path in (folder / f"{n}").iterdir()]
    n_parts = sum(-(-size // 65_536) for size in sizes)
    for engine in ENGINES:
        out = folder / engine
        done = run(engine, files, out, "--on-error", "skip", kills=2, n_parts=n_parts)
        told = re.search(r"([\d,]+) rows could not be read", done["said"])
        found[engine] = [*different(out, expected), done["killed"], int(told[1]) if told else 0]
        remove(out)
    poison.unlink()
    return found


def of_cost(folder: Path, n: int) -> dict[str, Any]:
    n = n * 5 // 2
    path = write_rows(folder / f"{n}.parquet", n)
    found: dict[str, Any] = {"rows": n, "pmeans": [], "ray": [], "spark": []}
    for engine in (None, *ENGINES) * ROUNDS:
        out = folder / (engine or "cost.npy")
        done = run(engine, str(path), out, "--dtype", "float16")
        found[engine or "pmeans"].append({key: done[key] for key in ("seconds", "MiB", "peak")})
        remove(out)
    return found


def of_core(folder: Path, n: int) -> dict[str, Any]:
    n //= 20
    path = write_rows(folder / f"{n}-even.parquet", n, itertools.islice(sentences(), 0, None, 20))
    found: dict[str, Any] = {"rows": n, "float32": [], "float16": [], "int8": []}
    for dtype in ("float32", "float16", "int8") * ROUNDS:
        out = folder / "core"
        begin = time.process_time()
        embed_parts(str(path), out, engine=here, lang_column="lang", dtype=dtype)
        taken = time.process_time() - begin
        size = sum(file.stat().st_size for file in out.iterdir())
        found[dtype].append([1e6 * taken / n, size / n])
        remove(out)
    with pq.ParquetFile(path) as file:
        words = [len(text.as_py().split()) for text in file.read(["text"])["text"]]
    return found | {"words": statistics.mean(words)}


def of_slope(folder: Path, n: int) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": [n // 20, n // 2, n * 5], "ray": [], "spark": []}
    # The same sentences over and over, drawn from all files, so that only the number differs.
    some = list(itertools.islice(sentences(), 0, n, 20))
    for rows, times in zip(found["rows"], (5, 3, 1), strict=True):
        path = write_rows(folder / f"{rows}-even.parquet", rows, itertools.cycle(some))
        taken: dict[str, list[float]] = {engine: [] for engine in ENGINES}
        for engine in ENGINES * times:  # how long one takes to start varies by a second
            out = folder / engine
            taken[engine].append(run(engine, str(path), out, "--dtype", "int8")["seconds"])
            found["bytes"] = sum(file.stat().st_size for file in out.iterdir()) / rows
            remove(out)
        for engine in ENGINES:
            found[engine].append(taken[engine])
    return found


def of_search(folder: Path, n: int) -> dict[str, Any]:
    path = write_rows(folder / f"{n}.parquet", n)
    vectors, index = folder / "vectors", folder / "index"
    run("ray", str(path), vectors, "--dtype", "int8")
    begin = time.perf_counter()
    command = ["index", str(vectors), "--shards", str(SHARDS), "--engine", "ray"]
    subprocess.run([sys.executable, "-m", "pmeans", *command, "--out", str(index)], check=True)
    built = time.perf_counter() - begin
    opened = open_index(index)
    graphs = open_graph(opened)
    # Sentences beyond those that are searched in, so that none is its own neighbour.
    with pq.ParquetFile(write_rows(folder / f"{n + QUERIES}.parquet", n + QUERIES)) as file:
        last = range(max(0, file.num_row_groups - 2), file.num_row_groups)
        table = file.read_row_groups(last)[-QUERIES:]
    texts, langs = table["text"].to_pylist(), table["lang"].to_pylist()
    queries = pmeans.load().encode(texts, lang=langs)
    speed: dict[str, float] = {}
    answers, memory = {}, {}
    asked: dict[str, Callable[[np.ndarray], Any]] = {
        "shards": lambda q: graphs.top_k(q, K), "exact": lambda q: top_k(q, opened.rows, K),
    }  # fmt: skip
    for name, ask in asked.items():
        ask(queries[:1])  # the first one reads the files
        single = queries[: QUERIES // 10] if name == "exact" else queries
        begin = time.perf_counter()
        for i in range(len(single)):
            ask(single[i : i + 1])
        speed[name] = len(single) / (time.perf_counter() - begin)
        begin = time.perf_counter()
        answers[name] = ask(queries)[1]
        speed[f"{name}, {QUERIES} at once"] = QUERIES / (time.perf_counter() - begin)
        status = Path("/proc/self/status").read_text()
        memory[name] = {
            kind: int(found) / 2**10
            for kind, found in re.findall(r"Rss(Anon|File):\s+(\d+)", status)
        }
    # Sentences occur more than once: a row as near as the tenth is as good.
    recall = float((answers["shards"] >= answers["exact"][:, -1:]).mean())
    size = sum(file.stat().st_size for file in index.iterdir())
    remove(vectors)
    remove(index)
    return {"rows": n, "recall": recall, "speed": speed, "built": built, "bytes": size / n,
            "shards": len(opened.rows.shards), "MiB": memory["shards"]}  # fmt: skip


SECTIONS = {
    "bytes": of_bytes, "killed": of_killed, "cost": of_cost, "core": of_core, "slope": of_slope,
    "search": of_search,
}  # fmt: skip


def page(found: dict[str, Any]) -> str:
    """Render the numbers."""
    from scale_page import render

    return render(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--section", choices=SECTIONS, action="append")
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "scale.json")
    parser.add_argument("--folder", type=Path, help="for rows; a temporary one, if not given")
    given = parser.parse_args()
    found = json.loads(given.json.read_text()) if given.json.exists() else {}
    with tempfile.TemporaryDirectory(prefix="scale-", ignore_cleanup_errors=True) as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.section or SECTIONS:
            say(f"section {name}")
            begin, load = time.perf_counter(), os.getloadavg()[0]
            found[name] = SECTIONS[name](folder, given.rows)
            found[name] |= {"took": time.perf_counter() - begin, "load": load}
            found["cores"] = len(os.sched_getaffinity(0))
            given.json.write_text(json.dumps(found, indent=1) + "\n")
            given.json.with_suffix(".md").write_text(page(found), encoding="utf-8")
    print(page(found))


if __name__ == "__main__":
    main()
