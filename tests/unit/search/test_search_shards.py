"""An index in shards: what is found is what one index over all rows finds."""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace, jobs
from pmeans.cli.main import app
from pmeans.errors import (
    FormatError,
    InputError,
    MissingTextsWarning,
    PmeansError,
    StorageError,
)
from pmeans.mapped import file_of
from pmeans.search import open_graph, open_index, top_k
from pmeans.search.texts import ParquetTexts, SourceFile

pytest.importorskip("usearch", reason="pip install 'pmeans[search]'")
ROWS = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)


@pytest.fixture
def files(tmp_path):
    """Five files of very different lengths."""
    (tmp_path / "parts").mkdir()
    for i, (start, stop) in enumerate([(0, 10), (10, 150), (150, 160), (160, 299), (299, 300)]):
        values = pa.array(ROWS[start:stop].astype(np.float16).reshape(-1))
        lists = pa.FixedSizeListArray.from_arrays(values, 8)
        texts = [f"text {n}" for n in range(start, stop)]
        table = pa.table({"text": texts, "embedding": lists})
        pq.write_table(table, tmp_path / "parts" / f"{i}.parquet")
    return tmp_path / "parts"


@pytest.fixture
def index(files, tmp_path):
    done = jobs.index_parts(str(files), tmp_path / "index", engine=jobs.here, shards=3)
    assert done.rows == 300
    return tmp_path / "index"


@pytest.mark.parametrize(("shards", "made"), [(1, 1), (2, 2), (4, 3), (9, 3)])
def test_shards_together_find_what_all_rows_have(files, tmp_path, shards, made):
    out = tmp_path / "index"
    # An engine of others builds a graph by one thread, so that it is the same each time.
    jobs.index_parts(str(files), out, engine=lambda tasks: jobs.here(tasks), shards=shards)
    assert len(list(out.glob("*.npy"))) == made
    opened, queries = open_index(out), ROWS[::50]
    expected = top_k(queries, ROWS.astype(np.float16), 10)
    for found in (top_k(queries, opened.rows, 10), open_graph(opened).top_k(queries, 10)):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    assert file_of(opened.rows.matrices[0].array) is not None


def test_texts_are_read_from_the_files_as_long_as_they_are_there(index, files):
    opened = open_index(index)
    assert opened.texts_of([299, 0, 12]) == {0: "text 0", 12: "text 12", 299: "text 299"}
    (files / "1.parquet").unlink()
    assert opened.texts_of([299, 13]) == {299: "text 299", 13: "text 13"}  # it was read before
    with pytest.warns(MissingTextsWarning, match="1 of the files with the texts of"):
        opened = open_index(index)
    assert opened.texts_of([299, 12]) == {299: "text 299"}
    (files / "2.parquet").unlink()
    assert opened.texts_of([155]) == {}


def test_shards_that_are_there_are_not_built_again(index, files):
    def never(tasks):
        raise AssertionError

    assert jobs.index_parts(str(files), index, engine=never, shards=3).found == len(
        list(index.glob("*.json"))
    )
    last = max(index.glob("*.json"), key=lambda path: json.loads(path.read_bytes())["first"])
    last.unlink()
    with pytest.raises(InputError, match="parts made of other inputs"):
        jobs.index_parts(str(files), index, engine=never, shards=1)
    done = jobs.index_parts(str(files), index, engine=jobs.here, shards=3)
    assert (done.rows, done.parts - done.found) == (300, 1)


def test_an_index_without_one_of_its_shards_is_refused(index):
    first = min(index.glob("*.json"), key=lambda path: json.loads(path.read_bytes())["first"])
    first.unlink()
    with pytest.raises(FormatError, match=r"not a complete index.*restart=True"):
        open_index(index)


def test_files_without_vectors_are_refused(tmp_path, files):
    pq.write_table(pa.table({"text": ["a"]}), files / "x.parquet")
    with pytest.raises(FormatError, match=r"x.parquet: no column 'embedding'"):
        jobs.index_parts(str(files), tmp_path / "out", engine=jobs.here, shards=1)
    pq.write_table(pa.table({"embedding": [[1.0]]}), files / "x.parquet")
    with pytest.raises(FormatError, match="not of vectors alone"):
        jobs.index_parts(str(files), tmp_path / "out", engine=jobs.here, shards=1)
    with pytest.raises(InputError, match="at least 1"):
        jobs.index_parts(str(files), tmp_path / "out", engine=jobs.here, shards=0)


def test_the_command_builds_and_another_searches_with_texts(tmp_path):
    words = ["dog", "cat", "soup"]
    space = WordSpace.from_words("toy", {"en": words}, np.eye(3, dtype=np.float32))
    recipe = Recipe((Part("toy", (1,)),), tokenizer="words")
    pmeans.save(PowerMeanEncoder(recipe, {"toy": space}), tmp_path / "model")
    pq.write_table(pa.table({"text": ["the soup", "a dog", "dog cat"]}), tmp_path / "a.parquet")
    model, out = str(tmp_path / "model"), str(tmp_path / "vectors")
    jobs.embed_parts(str(tmp_path / "a.parquet"), out, engine=jobs.here, model=model)
    run = CliRunner().invoke(app, ["index", out, "--out", str(tmp_path / "index")])
    assert (run.exit_code, "3 rows in 1 part in" in run.output) == (0, True), run.output
    for more in ([], ["--approximate"]):
        command = ["search", str(tmp_path / "index"), "dog", "--model", model, "-k", "1", *more]
        done = CliRunner().invoke(app, command)
        assert done.stdout == "1\t1.0000\t1\ta dog\n", done.output


def write_part(path, texts, vectors, **more):
    """Write a Parquet file of texts and vectors, with small row groups."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
    table = pa.table({"text": texts, "embedding": lists})
    pq.write_table(table, path, row_group_size=4, **more)


def rewrite(path, text):
    """Give a file other texts of the same length, and its old time of change."""
    table, stat = pq.read_table(path), path.stat()
    texts = pa.array([text] * table.num_rows, pa.string())
    changed = table.set_column(table.schema.get_field_index("text"), "text", texts)
    pq.write_table(changed, path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def test_texts_of_a_file_that_has_changed_are_refused_and_never_shown(index, files):
    path = files / "1.parquet"
    rewrite(path, "a text of another size")
    with pytest.raises(FormatError, match=r"1.parquet' has changed since it was indexed.*restart"):
        open_index(index)


def test_a_file_with_another_time_is_compared_by_its_bytes(index, files):
    path, content = files / "1.parquet", (files / "1.parquet").read_bytes()
    os.utime(path, ns=(0, 12345))
    assert open_index(index).texts_of([10]) == {10: "text 10"}
    path.write_bytes(content.replace(b"text 10", b"text xx"))  # as many bytes as before
    with pytest.raises(FormatError, match=r"1.parquet' has changed since it was indexed"):
        open_index(index)


def test_files_that_have_changed_places_are_refused(index, files):
    (files / "0.parquet").rename(files / "x")
    (files / "2.parquet").rename(files / "0.parquet")
    (files / "x").rename(files / "2.parquet")
    with pytest.raises(FormatError, match=r"0.parquet' has changed since it was indexed"):
        open_index(index)


def test_a_file_that_changes_while_the_index_is_open_gives_no_text(index, files):
    opened = open_index(index)
    assert opened.texts_of([0]) == {0: "text 0"}
    write_part(files / "1.parquet", ["another"] * 140, ROWS[:140])
    with pytest.raises((StorageError, FormatError), match=r"1.parquet"):
        opened.texts_of([12])


def first_shard(index):
    return min(index.glob("*.json"), key=lambda path: json.loads(path.read_bytes())["first"])


@pytest.mark.parametrize("rows", [9, 151, 0])
def test_a_matrix_of_other_rows_than_were_written_is_refused(index, rows):
    np.save(first_shard(index).with_suffix(".npy"), ROWS[:rows].astype(np.float16))
    with pytest.raises(FormatError, match=rf"has {rows} rows of 8 numbers.*restart=True"):
        open_index(index)


@pytest.mark.parametrize("change", [lambda m: m[:, :7], lambda m: m.astype(np.float32)])
def test_a_matrix_of_other_numbers_than_were_written_is_refused(index, change):
    path = first_shard(index).with_suffix(".npy")
    np.save(path, np.ascontiguousarray(change(np.load(path))))
    with pytest.raises(FormatError, match=r"were written.*restart=True"):
        open_index(index)


RECORDS = {
    "nothing": b"",
    "cut short": lambda data: data[:40],
    "no object": b"[1, 2]",
    "another version": b'{"address": "/x", "files": [["/a", 3]], "first": 0, "rows": 3}',
    "a text for a number": lambda data: data.replace(b'"first": 0', b'"first": "0"'),
    "true for a number": lambda data: data.replace(b'"first": 0', b'"first": true'),
    "NaN for a number": lambda data: data.replace(b'"first": 0', b'"first": NaN'),
    "a file too large": lambda data: data.replace(b'"rows": 10,', b'"rows": 1' + b"0" * 30 + b","),
    "too many digits": lambda data: data.replace(b'"rows": 10,', b'"rows": ' + b"9" * 9999 + b","),
    "fewer than none": lambda data: data.replace(b'"rows": 10,', b'"rows": -10,'),
    "no bytes of text": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "a path with a zero": lambda data: data.replace(b"0.parquet", b"0\\u0000.parquet"),
    "half a character": lambda data: data.replace(b"0.parquet", b"0\\ud800.parquet"),
    "an unknown address": lambda data: data.replace(b'"address": "', b'"address": "nowhere://'),
}


@pytest.mark.parametrize("damage", RECORDS)
def test_a_damaged_record_is_refused_by_our_error(index, damage):
    path, change = first_shard(index), RECORDS[damage]
    before = path.read_bytes()
    after = change(before) if callable(change) else change
    assert after != before
    path.write_bytes(after)
    with pytest.raises(PmeansError):
        open_index(index)


@pytest.mark.parametrize("ending", [".json", ".npy", ".npy.usearch"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "nothing"])
def test_what_is_no_file_in_the_folder_is_refused_and_not_waited_for(index, ending, kind):
    path = first_shard(index)
    path = path.with_name(path.stem + ending)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    if (ending, kind) == (".npy.usearch", "nothing"):
        assert open_graph(open_index(index)).top_k(ROWS[:1], 1)[0].tolist() == [[0]]  # built anew
        return
    with pytest.raises((StorageError, FormatError)):
        open_graph(open_index(index))


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_source_that_is_no_file_any_more_is_refused_and_not_waited_for(index, files, kind):
    path = files / "0.parquet"
    path.unlink()
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(StorageError, match=r"0.parquet' is a folder or a device"):
        open_index(index)


def test_a_row_that_is_not_finite_is_named_by_its_number_in_all_shards(index):
    firsts = {json.loads(path.read_bytes())["first"]: path for path in index.glob("*.json")}
    first = sorted(firsts)[1]
    path = firsts[first]
    matrix = np.lib.format.open_memmap(path.with_suffix(".npy"), mode="r+")
    stat = path.with_suffix(".npy").stat()
    matrix[2] = np.nan
    matrix.flush()
    os.utime(path.with_suffix(".npy"), ns=(stat.st_atime_ns, stat.st_mtime_ns))  # keeps its graph
    opened = open_index(index)
    for ask in (open_graph(opened).top_k, lambda q, k: top_k(q, opened.rows, k)):
        with pytest.raises(FormatError, match=f"row {first + 2} of the index has a number"):
            ask(ROWS[first + 2 : first + 3], 5)


def test_vectors_of_two_types_are_not_mixed_in_a_shard(files, tmp_path):
    write_part(files / "x.parquet", ["a"], ROWS[:1])  # float32 beside float16
    with pytest.raises(FormatError, match=r"\(float32\) among others of 8 \(float16\)"):
        jobs.index_parts(str(files), tmp_path / "out", engine=jobs.here, shards=1)


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_texts_are_those_of_their_rows_in_large_and_small_groups(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("pmeans.search.texts._BATCH", 400)
    monkeypatch.setattr("pmeans.search.texts._CACHE", 2000)
    texts = [f"text {n} {'long' * (n % 7)}" for n in range(100)]
    table = pa.table({"a": [{"b": 1, "c": 2}] * 100, "text": pa.array(texts).cast(kind)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=30)
    held = ParquetTexts([SourceFile.of_path(tmp_path / "a.parquet", 100)])
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = rng.integers(0, 100, 5).tolist()
        assert held.of(rows) == {row: texts[row] for row in rows}
        assert held._cache._size <= 2000


def test_a_text_that_is_missing_or_no_utf8_is_empty(tmp_path):
    texts = pa.array([b"a", b"\xff", None]).view(pa.string())
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    held = ParquetTexts([SourceFile.of_path(tmp_path / "a.parquet", 3)])
    assert held.of([0, 1, 2]) == {0: "a", 1: "", 2: ""}


def test_a_column_of_texts_that_is_asked_for_must_be_there(index, tmp_path):
    with pytest.raises(FormatError, match="its files have no column 'other'"):
        open_index(index, text="other")
    with pytest.raises(FormatError, match="'embedding' holds fixed_size_list"):
        open_index(index, text="embedding")


def test_eight_threads_get_the_answers_of_one(index, monkeypatch):
    monkeypatch.setattr("pmeans.search.texts._CACHE", 3000)  # so that it is always full
    opened = open_index(index)
    graph = open_graph(opened)
    begin = threading.Barrier(8)

    def answers(opened, graph, start):
        found = []
        for i in range(start, start + 40):
            k = 1 + i % 60  # how far a search looks depends on it
            rows, scores = graph.top_k(ROWS[i : i + 1], k)
            found.append((rows.tolist(), scores.tolist(), opened.texts_of(rows[0].tolist())))
        return found

    def at_once(start):
        begin.wait(60)
        return answers(opened, graph, start)

    starts = [0, 30, 60, 90, 120, 150, 180, 210]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(at_once, starts))
    assert together == [answers(open_index(index), graph, start) for start in starts]


def test_a_graph_is_searched_by_one_thread_at_a_time(index):
    graph = open_graph(open_index(index))._graphs[0]
    inside, most = [], []

    class Watched:
        ndim = 8

        def __len__(self):
            return 10_000

        def search(self, code, n):
            inside.append(self.expansion_search)
            most.append(len(inside))
            time.sleep(0.0005)  # so that others come meanwhile
            assert inside.pop() == max(n, 512)
            return type("Found", (), {"keys": np.arange(3, dtype=np.uint64)})

    graph._graph = Watched()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda k: graph.top_k(ROWS[:3], k), [1, 400] * 20))
    assert max(most) == 1
