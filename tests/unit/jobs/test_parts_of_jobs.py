"""Folders of parts, made by an engine that has everything done here, one task after the other."""

import json
import os
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from embedding_jobs import make_encoder
from typer.testing import CliRunner

import pmeans
from pmeans import TransferClassifier, jobs
from pmeans.cli.main import app
from pmeans.errors import FormatError, InputError, LanguageError, PmeansError, StorageError
from pmeans.files import locked
from pmeans.jobs import embed_to_file, here
from pmeans.tables import Fields, open_source
from pmeans.tables.writers import vector_writer

TEXTS = ["a house", "the dog", "zzz", "", "house dog house", "dog", "ein hund", "a", "haus"]
NOT_UTF8 = pa.array([b"the dog", b"\xed\xa0\x80", b"a"]).view(pa.string())  # half a character


def table(texts, first=0, **more):
    return pa.table({"n": range(first, first + len(texts)), "text": texts, **more})


@pytest.fixture
def model(tmp_path):
    pmeans.save(make_encoder(), tmp_path / "model")
    return str(tmp_path / "model")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files, the rows of which make three parts."""
    monkeypatch.setattr("pmeans.jobs.pieces.ROWS", 4)
    (tmp_path / "in").mkdir()
    pq.write_table(table(TEXTS[:6]), tmp_path / "in" / "a.parquet", row_group_size=5)
    pq.write_table(table(TEXTS[6:], 6), tmp_path / "in" / "b.parquet")
    return tmp_path / "in"


def embed(folder, out, model, **options):
    options = {"engine": here, "model": model, "lang": "en", **options}
    return jobs.embed_parts(f"{folder}/*.parquet", out, **options)


def rows(out):
    """Return all rows of a folder, in the order of their number."""
    return pq.read_table(out).sort_by("n")


def vectors(found):
    lists = found["embedding"].combine_chunks()
    return lists.values.to_numpy().reshape(-1, lists.type.list_size)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_the_vectors_are_those_of_the_job_over_a_file(tmp_path, folder, model, dtype):
    done = embed(folder, tmp_path / "out", model, dtype=dtype)
    found = rows(tmp_path / "out")
    assert found["text"].to_pylist() == TEXTS
    assert (done.parts, done.found, done.rows, done.skipped) == (3, 0, 9, 0)
    pq.write_table(table(TEXTS), tmp_path / "one.parquet")
    source, out = open_source(tmp_path / "one.parquet"), tmp_path / "one.npy"
    state = embed_to_file(pmeans.load(model), source, out, lang="en", dtype=dtype)
    np.testing.assert_array_equal(vectors(found), np.load(out))
    assert vectors(found).dtype == dtype
    assert done.empty == state.empty > 0


@pytest.mark.parametrize(("group", "sizes"), [(3, [4] * 15), (40, [10] * 6), (60, [15] * 4)])
def test_large_row_groups_are_cut_into_fewer_pieces(tmp_path, folder, model, group, sizes):
    for path in folder.iterdir():
        path.unlink()
    pq.write_table(table(["a house"] * 60), folder / "c.parquet", row_group_size=group)
    embed(folder, tmp_path / "out", model)
    assert [pq.read_metadata(path).num_rows for path in (tmp_path / "out").glob("[!.]*")] == sizes
    assert rows(tmp_path / "out")["n"].to_pylist() == list(range(60))


def test_finished_parts_are_kept_and_only_those_of_a_changed_file_are_made_again(
    tmp_path, folder, model
):
    out = tmp_path / "out"
    embed(folder, out, model)
    times = {path: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    next(iter(times)).unlink()
    asked = []
    done = embed(folder, out, model, engine=lambda tasks: here(asked.extend(tasks) or tasks))
    assert (len(asked), done.found, done.rows) == (1, 2, 9)
    assert sum(path.stat().st_mtime_ns == time for path, time in times.items()) == 2
    done = embed(folder, out, model, engine=None)  # nothing is left to do
    assert (done.found, done.rows, done.empty) == (3, 9, embed(folder, out, model).empty)
    pq.write_table(table(TEXTS[:2], 9), folder / "c.parquet")
    assert embed(folder, out, model).parts == 4
    pq.write_table(table(["dog"], 9), folder / "c.parquet")
    with pytest.raises(InputError, match=r"holds 1 part made of other inputs.*restart=True"):
        embed(folder, out, model)
    with pytest.raises(InputError, match="4 parts made of"):
        embed(folder, out, model, normalize=True)
    assert embed(folder, out, model, restart=True).found == 0
    assert rows(out).num_rows == 10


def test_a_row_that_cannot_be_read_is_named_or_zero_and_counted(tmp_path, folder, model):
    out = tmp_path / "out"
    pq.write_table(table(NOT_UTF8, 9), folder / "c.parquet")
    pq.write_table(table([None, "x" * 10_000_000], 12), folder / "d.parquet")
    with pytest.raises(FormatError, match=r"c.parquet, row 2: not valid UTF-8.*on_error=\"skip\""):
        embed(folder, out, model)
    assert [path.name for path in out.iterdir() if path.name.startswith(".")] == [".parts"]
    done = embed(folder, out, model, on_error="skip")
    assert (done.found, done.rows, done.skipped) == (3, 14, 2)  # what came before is kept
    found = vectors(pq.read_table(out, columns=["n", "embedding"]).sort_by("n"))
    assert found.any(axis=1)[9:].tolist() == [True, False, True, False, False]
    pq.write_table(table(NOT_UTF8), tmp_path / "one.parquet")
    source = open_source(tmp_path / "one.parquet", Fields(on_error="skip"))
    embed_to_file(pmeans.load(model), source, tmp_path / "one.npy", lang="en")
    np.testing.assert_array_equal(found[9:12], np.load(tmp_path / "one.npy"))
    with pytest.raises(FormatError, match=r"d.parquet, row 1: the text is NoneType"):
        embed(folder, out, model, restart=True, engine=lambda tasks: here(tasks[-1:]))


def test_after_an_error_no_task_is_begun(tmp_path, folder, model):
    pq.write_table(table(pa.array([None], pa.string())), folder / "0.parquet")
    outcomes = []
    with pytest.raises(FormatError, match="row 1"):
        embed(folder, tmp_path / "out", model,
              engine=lambda tasks: outcomes.extend(here(tasks)) or outcomes)  # fmt: skip
    assert [json.loads(each) for each in outcomes[1:]] == [{}] * 3
    assert list((tmp_path / "out").iterdir()) == []


def test_labels_are_the_classifiers_and_counted(tmp_path, folder):
    texts, labels = ["house", "a house", "dog", "the dog"] * 3, ["h", "h", "d", "d"] * 3
    classifier = TransferClassifier(make_encoder(), unsure=0.6).fit(texts, labels, lang="en")
    classifier.save(tmp_path / "classifier")
    done = jobs.predict_parts(
        str(folder), tmp_path / "out", engine=here, classifier=tmp_path / "classifier", lang="en"
    )
    found = rows(tmp_path / "out")
    assert found["label"].to_pylist() == classifier.classify(TEXTS, lang="en").labels
    assert done.unsure == found["label"].null_count
    assert (done.rows, done.empty) == (9, found["note"].to_pylist().count("no known word"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"text": "txt"}, FormatError, r"a.parquet: no column 'txt'. Did you mean 'text'"),
        ({"text": "n"}, FormatError, r"a.parquet: the column 'n' holds int64, not strings"),
        ({"lang": "xx"}, LanguageError, "no language 'xx'"),
        ({"model": "nowhere"}, StorageError, "no encoder 'nowhere'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    tmp_path, folder, model, options, error, message
):
    with pytest.raises(error, match=message):
        embed(folder, tmp_path / "out", **{"model": model, "engine": None, **options})
    assert not (tmp_path / "out").exists()


def test_a_column_that_is_there_already_is_refused(tmp_path, folder, model):
    pq.write_table(table(["dog"], embedding=[1]), folder / "c.parquet")
    with pytest.raises(InputError, match="a column 'embedding' already"):
        embed(folder, tmp_path / "out", model)


@pytest.mark.parametrize(
    ("given", "message"),
    [("nothing/*.parquet", "no file"), ("in/x*.parquet", "no file"), ("in/x.parquet", "no file")],
)
def test_files_that_are_not_there_are_named(tmp_path, folder, model, given, message):
    with pytest.raises(StorageError, match=message):
        jobs.embed_parts(str(tmp_path / given), tmp_path, engine=None, model=model, lang="en")


def test_a_pattern_goes_into_folders_and_never_beyond_a_slash(tmp_path, folder, model):
    (folder / "lang=en").mkdir()
    pq.write_table(table(["dog"], 9), folder / "lang=en" / "c.parquet")
    options = {"engine": here, "model": model, "lang": "en"}
    assert jobs.embed_parts(f"{folder}/*/*.parquet", tmp_path / "1", **options).rows == 1
    assert jobs.embed_parts(f"{folder}/*.parquet", tmp_path / "2", **options).rows == 9
    assert jobs.embed_parts(f"{folder}/[b].parquet", tmp_path / "3", **options).rows == 3
    assert jobs.embed_parts(f"{folder}/a.parquet", tmp_path / "4", **options).rows == 6


def test_a_damaged_file_is_named(tmp_path, folder, model):
    (folder / "c.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match=r"c.parquet: cannot be read as Parquet"):
        embed(folder, tmp_path / "out", model)


def test_a_file_that_shrinks_meanwhile_is_told(tmp_path, folder, model):
    def engine(tasks):
        pq.write_table(table(["dog"]), folder / "b.parquet")
        return here(tasks)

    with pytest.raises(StorageError, match=r"b.parquet has changed since the job began"):
        embed(folder, tmp_path / "out", model, engine=engine)


def test_a_folder_in_use_by_another_job_is_refused_and_untouched(tmp_path, folder, model):
    out = tmp_path / "out"
    with locked(out / ".lock"), pytest.raises(StorageError, match="another job is writing to"):
        embed(folder, out, model)
    embed(folder, out, model)
    assert {path.suffix or path.name for path in out.iterdir()} == {".parquet", ".parts"}


def test_a_folder_with_files_of_others_is_refused_even_to_restart(tmp_path, folder, model):
    with pytest.raises(InputError, match=r"would overwrite '.*a.parquet', which is read"):
        jobs.embed_parts(f"{folder}/a.parquet", folder, engine=here, model=model, lang="en")
    (tmp_path / "out").mkdir()
    shutil.copy(folder / "a.parquet", tmp_path / "out" / "mine.parquet")
    for restart in (False, True):
        with pytest.raises(InputError, match=r"holds 'mine.parquet', which is not part"):
            embed(folder, tmp_path / "out", model, restart=restart)
    with pytest.raises(InputError, match="name a folder that all workers see"):
        embed(folder, "s3://bucket/out", model)
    with pytest.raises(StorageError, match="is a file: name a folder"):
        embed(folder, tmp_path / "out" / "mine.parquet", model)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_restart_does_not_remove_what_is_read(tmp_path, folder, model):
    out = tmp_path / "out"
    embed(folder, out, model)
    before = contents(out)
    for pattern in (out, f"{out}/*.parquet", f"file://{out}"):
        for restart in (False, True):
            with pytest.raises(InputError, match="which is read"):
                jobs.index_parts(str(pattern), out, engine=here, shards=1, restart=restart)
            with pytest.raises(PmeansError):
                embed(pattern, out, model, restart=restart)
    assert contents(out) == before


@pytest.mark.parametrize("restart", [False, True])
def test_a_restart_does_not_remove_the_parts_of_another_kind_of_job(
    tmp_path, folder, model, restart
):
    out, vectors = tmp_path / "out", tmp_path / "vectors"
    embed(folder, out, model)
    embed(folder, vectors, model)
    before = contents(out)
    with pytest.raises(InputError, match=r"another kind of job \(embed, not index\)"):
        jobs.index_parts(str(vectors), out, engine=here, shards=1, restart=restart)
    assert contents(out) == before


@pytest.mark.parametrize("restart", [False, True])
def test_a_restart_removes_only_what_the_record_lists(tmp_path, folder, model, restart):
    out = tmp_path / "out"
    embed(folder, out, model)
    (out / "0123456789abcdef.parquet").write_bytes(b"named as a part is")
    before = contents(out)
    with pytest.raises(InputError, match=r"holds '0123456789abcdef\.parquet', which is not part"):
        embed(folder, out, model, restart=restart)
    assert contents(out) == before


@pytest.mark.parametrize(
    "record", [b"", b"[]", b'{"kind": "embed", "parts": ["../in/a.parquet"]}', b"my list"]
)
def test_a_record_that_is_not_ours_is_left_alone(tmp_path, folder, model, record):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".parts").write_bytes(record)
    for restart in (False, True):
        with pytest.raises(FormatError, match="is damaged, or not of pmeans"):
            embed(folder, out, model, restart=restart)
    assert contents(out) == {".parts": record}
    assert (folder / "a.parquet").exists()


def test_hidden_files_of_someone_else_stay(tmp_path, folder, model):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".lock").write_text("mine")
    embed(folder, out, model)
    assert (out / ".lock").read_text() == "mine"
    (out / ".failed").write_text("mine")
    with pytest.raises(InputError, match=r"holds '\.failed', which is not part"):
        embed(folder, out, model)
    assert (out / ".failed").read_text() == "mine"


def test_what_a_killed_worker_left_is_removed(tmp_path, folder, model):
    out = tmp_path / "out"
    embed(folder, out, model)
    part = next(out.glob("*.parquet"))
    part.rename(out / f".{part.name}.pmeans-0")
    (out / ".0123456789abcdef.mine").touch()
    embed(folder, out, model)
    hidden = [path.name for path in out.iterdir() if path.name.startswith(".")]
    assert sorted(hidden) == [".0123456789abcdef.mine", ".parts"]
    assert rows(out).num_rows == 9


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("Traceback\n  File x\nOSError: the disk is gone.\n", "OSError: the disk is gone"),
        ("Error at z:\n: a.b.SomeException: dead\n\tat c\nCaused by: EOF\n\t... 2 more",
         "a.b.SomeException: dead"),
        ("It died.", "It died"),
        ("", "RuntimeError"),
    ],
)  # fmt: skip
def test_what_an_engine_gives_up_at_is_one_line(told, why):
    error = jobs.gave_up("Ray", RuntimeError(told))
    assert type(error) is PmeansError
    assert str(error).startswith(f"Ray gave up: {why}. Finished parts are kept")


@pytest.fixture
def no_bucket():
    """A server that speaks as S3 does of a bucket that does not exist; the requests it had."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = b"<Error><Code>NoSuchBucket</Code><Message>no such bucket</Message></Error>"
            self.send_response(404)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1", asked
    server.shutdown()
    server.server_close()


def test_a_bucket_that_does_not_exist_is_told_without_many_tries(tmp_path, model, no_bucket):
    how, asked = no_bucket
    address = f"s3://key:secret@nowhere/x/*.parquet?{how}"
    with pytest.raises(StorageError, match=r"nowhere/x/\*.parquet.*[Bb]ucket"):
        jobs.embed_parts(address, tmp_path / "out", engine=here, model=model, lang="en")
    assert 0 < len(asked) < 5


@pytest.mark.parametrize(("engine", "library"), [("ray", "ray"), ("spark", "pyspark")])
@pytest.mark.parametrize("command", ["embed", "predict"])
def test_an_engine_that_is_absent_is_named_with_its_extra(monkeypatch, engine, library, command):
    monkeypatch.setitem(sys.modules, library, None)
    done = CliRunner().invoke(app, [*command.split(), "x", "y", "--engine", engine, "--out", "z"])
    assert done.exit_code == 1
    assert f"pip install 'pmeans[{engine}]'" in done.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--format", "npy"], "--format does not go with --engine"),
        (["--n-threads", "2"], "--n-threads does not go with --engine"),
        (["--out", "-"], "'-' is neither"),
    ],
)
def test_options_for_files_are_refused_with_an_engine(more, message):
    command = ["embed", "default", "x.parquet", "--engine", "ray", "--out", "z", *more]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert message in done.output


def test_codes_take_a_byte_each_in_parquet(tmp_path):
    codes = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    writer = vector_writer(tmp_path / "v.parquet", 8, dtype="int8")
    with open(tmp_path / "v.partial", "w+b") as file:
        writer.begin(file, ())
        writer.append(file, codes, 0)
        writer.finish(file, tmp_path / "v.partial", tmp_path / "v.parquet", len(codes))
    with pq.ParquetFile(tmp_path / "v.parquet") as file:
        sizes = [file.metadata.row_group(i).column(1).total_compressed_size for i in range(3)]
    assert sum(sizes) < 1.3 * codes.size  # lists cost a bit more


@pytest.mark.parametrize("counts", [b"{", b"[1]", b'{"rows": "x"}', b'{"rows": [1]}'])
def test_a_part_with_damaged_counts_is_refused(tmp_path, folder, model, counts):
    embed(folder, tmp_path / "out", model)
    part = next((tmp_path / "out").glob("*.parquet"))
    pq.write_table(pq.read_table(part).replace_schema_metadata({"pmeans": counts}), part)
    with pytest.raises(FormatError, match=r"is damaged: begin anew with restart=True"):
        embed(folder, tmp_path / "out", model)


def test_a_pipe_in_the_place_of_a_part_is_refused_and_not_waited_for(tmp_path, folder, model):
    embed(folder, tmp_path / "out", model)
    part = next((tmp_path / "out").glob("*.parquet"))
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(StorageError, match="is a folder, a pipe or a device"):
        embed(folder, tmp_path / "out", model)
