"""Targets that search: matrices, Parquet files and folders of shards, damaged or replaced."""

import os
import tempfile
import warnings
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.damage import damaged
from pmeans import jobs
from pmeans.encoder.identity import ModelIdentity
from pmeans.errors import MissingTextsWarning
from pmeans.search import open_graph, open_index, top_k
from pmeans.search.finding import Index, ParquetVectors

_ROWS = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
_TEXTS = [f"text {i}" for i in range(len(_ROWS))]
_TIME = 1_700_000_000_000_000_000  # of every file, so that an input does not depend on the clock
_PLACE = b"/place/of/the/index"


def matrix(rng: Random, folder: Path) -> None:
    """Search a damaged matrix, perhaps with a graph, and a damaged file of texts."""
    files = {"x.npy": _seeds()["x.npy"], "x.npy.usearch": _seeds()["x.npy.usearch"]}
    _damage(rng, folder, files)
    texts = "\n".join(_TEXTS).encode()
    (folder / "x.txt").write_bytes(damaged(rng, texts) if rng.random() < 0.2 else texts)
    _use(rng, open_index(folder / "x.npy", texts=rng.choice((None, folder / "x.txt"))))


def parquet(rng: Random, folder: Path) -> None:
    """Search a damaged Parquet file."""
    _damage(rng, folder, {"x.parquet": _seeds()["parts/0.parquet"]})
    _use(rng, open_index(folder / "x.parquet", text=rng.choice((None, "text", "other"))))


def shards(rng: Random, folder: Path) -> None:
    """Search an index in shards of which some files are damaged, gone, or no files."""
    files = {
        name: data.replace(_PLACE, folder.as_posix().encode()) if name.endswith("json") else data
        for name, data in _seeds().items()
        if "/" in name
    }
    _damage(rng, folder, files)
    warnings.simplefilter("ignore", MissingTextsWarning)
    _use(rng, open_index(folder / "index", text=rng.choice((None, None, "text", "other"))))


def _use(rng: Random, index: Index) -> None:
    queries = _ROWS[:2] if index.rows.shape[1] == 4 else np.ones((1, index.rows.shape[1]))
    asked = [lambda: top_k(queries, index.rows, 5)]
    if not isinstance(index.rows, ParquetVectors):
        asked.append(lambda: open_graph(index).top_k(queries, 5))
    for ask in rng.sample(asked, len(asked)):
        found, scores = ask()
        assert found.max(initial=-1) < index.rows.shape[0]
        assert not np.isnan(scores).any()
        index.texts_of(found.ravel().tolist())


def _damage(rng: Random, folder: Path, files: dict[str, bytes]) -> None:
    """Write files, one or two of them damaged, or replaced by what is none."""
    hurt = rng.sample(list(files), min(len(files), rng.choice((1, 1, 1, 2))))
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        kind = rng.random() if name in hurt else 1.0
        if kind < 0.03:
            continue
        if kind < 0.06:
            os.mkfifo(path)
        elif kind < 0.08:
            path.mkdir()
        elif kind < 0.1:
            path.symlink_to("/dev/zero")
        else:
            path.write_bytes(data if name not in hurt else _changed(rng, name, data, files))
            os.utime(path, ns=(_TIME, _TIME))


def _changed(rng: Random, name: str, data: bytes, files: dict[str, bytes]) -> bytes:
    """Damage a file; of a matrix or a graph often what comes before its numbers, or they alone."""
    others = [other for known, other in files.items() if Path(known).suffix == Path(name).suffix]
    begin = 256 if name.endswith("usearch") else 128
    where = rng.random()
    if name.endswith(("usearch", "npy")) and where < 0.3:
        return damaged(rng, data[:begin], others) + data[begin:]
    if name.endswith(("usearch", "npy")) and where < 0.6:
        return data[:begin] + damaged(rng, data[begin:], others)
    return damaged(rng, data, others)


@cache
def _seeds() -> dict[str, bytes]:
    """Return the files of a matrix with its graph, and of an index of two shards."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "parts").mkdir()
        for i, start in enumerate(range(0, len(_ROWS), 8)):
            rows = pa.FixedSizeListArray.from_arrays(pa.array(_ROWS[start : start + 8].ravel()), 4)
            table = pa.table({"text": _TEXTS[start : start + 8], "embedding": rows})
            about = ModelIdentity("tiny", "0123456789ab").metadata()
            path = folder / "parts" / f"{i}.parquet"
            pq.write_table(table.replace_schema_metadata(about), path, row_group_size=3)
            os.utime(path, ns=(_TIME, _TIME))
        jobs.index_parts(str(folder / "parts"), folder / "index", engine=jobs.here, shards=2)
        np.save(folder / "x.npy", _ROWS)
        for path in (folder / "x.npy", *(folder / "index").glob("*.npy")):
            os.utime(path, ns=(_TIME, _TIME))
            open_graph(open_index(path))  # whose header tells the time
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
        place_now = folder.as_posix().encode()
        return {name: path.read_bytes().replace(place_now, _PLACE) for name, path in found.items()}
