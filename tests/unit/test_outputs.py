"""The one rule for outputs: inputs, devices, links and the files of others are never lost."""

import contextlib
import errno
import os
import socket
import stat
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, models, outputs
from pmeans.errors import InputError, StorageError
from pmeans.files import finish_replacing, locked, replacing, replacing_folder
from pmeans.jobs import embed_to_file
from pmeans.outputs import check_output, is_stream
from pmeans.spaces.export import to_text
from pmeans.tables import open_source

OURS = ("marker", "inner/*.txt")


def write(path, content=b"new", inputs=()):
    with replacing(path, inputs) as file:
        file.write(content)


def write_folder(folder, inputs=()):
    with replacing_folder(folder, "thing", OURS, inputs) as new:
        (new / "marker").touch()


@contextlib.contextmanager
def redirected(number, path, flags):
    """Open a file as one of the standard streams, as a shell does."""
    kept, opened = os.dup(number), os.open(path, flags)
    os.dup2(opened, number)
    try:
        yield
    finally:
        os.dup2(kept, number)
        os.close(kept)
        os.close(opened)


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture
def null(tmp_path):
    """A null device that may be lost."""
    try:
        os.mknod(tmp_path / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        (tmp_path / "null").write_bytes(b"")
    except OSError:
        pytest.skip("needs the right to make devices")
    return tmp_path / "null"


def test_what_standard_input_is_redirected_from_is_not_overwritten(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("text\n")
    check_output(path, ["-"])  # it is not what standard input is
    with redirected(0, path, os.O_RDONLY):
        for given in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            with pytest.raises(InputError, match=r"in\.csv' would overwrite"):
                check_output(path, [given])
            with pytest.raises(InputError, match="would overwrite"):
                check_output(tmp_path, [given])


def test_a_job_over_standard_input_does_not_write_over_it(tmp_path, toy):
    path = tmp_path / "in.txt"
    path.write_text("the cat\n")
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    with redirected(0, path, os.O_RDONLY), pytest.raises(InputError, match="standard input"):
        embed_to_file(encoder, open_source("-"), path, lang="en", format="npy")
    assert path.read_text() == "the cat\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_output_that_is_appended_to_an_input_is_refused(tmp_path, toy):
    path = tmp_path / "in.txt"
    path.write_text("the cat\n")
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    with open(path, "ab") as stream, pytest.raises(InputError, match="the output would overwrite"):
        embed_to_file(encoder, open_source(path), stream, lang="en")
    with (
        redirected(1, path, os.O_WRONLY | os.O_APPEND),
        pytest.raises(InputError, match="'/dev/stdout' would overwrite"),
    ):
        embed_to_file(encoder, open_source(path), "/dev/stdout", lang="en")
    assert path.read_text() == "the cat\n"


def test_a_device_is_written_to_and_stays_a_device(null, toy):
    write(null)
    to_text(toy, null, suffix=True)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert list(null.parent.iterdir()) == [null]


def test_a_full_device_is_our_error(tmp_path):
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"could not write .*full': No space left"):
        write(full)
    assert full.is_symlink()


def read_in_background(path):
    found = []
    thread = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    thread.start()
    return lambda: (thread.join(60), *found)[-1]


def test_a_pipe_gets_all_and_stays_a_pipe(pipe, toy):
    result = read_in_background(pipe)
    write(pipe, b"all of it")
    assert result() == b"all of it"
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    source = pipe.with_name("in.txt")
    source.write_text("the cat\nsat\n")
    result = read_in_background(pipe)
    assert embed_to_file(encoder, open_source(source), pipe, lang="en").rows == 2
    assert result().count(b'"embedding"') == 2
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert {path.name for path in pipe.parent.iterdir()} == {"in.txt", "pipe"}


def test_a_format_that_is_no_stream_is_not_written_to_a_pipe(pipe, toy):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    source, named = pipe.with_name("in.txt"), pipe.rename(pipe.with_name("out.npy"))
    source.write_text("the cat\n")
    with pytest.raises(InputError, match="npy cannot be written to a stream"):
        embed_to_file(encoder, open_source(source), named, lang="en")


def test_standard_output_is_gone_on_with_where_it_stands(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"before, ")
    with redirected(1, log, os.O_WRONLY | os.O_APPEND):
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            assert is_stream(name)
            write(name, b"then ")
        (tmp_path / "link").symlink_to("/dev/stdout")
        write(tmp_path / "link", b"end")
    assert log.read_bytes() == b"before, then then then end"


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("it")
        with pytest.raises(StorageError, match="cannot write 'it': it is a socket"):
            write("it")
    assert stat.S_ISSOCK((tmp_path / "it").stat().st_mode)


def test_a_disk_is_refused(tmp_path):
    try:
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    except OSError:
        pytest.skip("needs the right to make devices")
    with pytest.raises(StorageError, match="it is a disk"):
        write(tmp_path / "disk")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed_and_stays(tmp_path, there):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    if there:
        target.write_bytes(b"old")
    link.symlink_to(target)
    write(link)
    assert (link.readlink(), target.read_bytes()) == (target, b"new")
    assert list((tmp_path / "far").iterdir()) == [target]


def test_a_job_follows_a_link_too(tmp_path, toy):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    (tmp_path / "in.txt").write_text("the cat\n")
    (tmp_path / "far").mkdir()
    (tmp_path / "out.npy").symlink_to(tmp_path / "far" / "rows.npy")
    embed_to_file(encoder, open_source(tmp_path / "in.txt"), tmp_path / "out.npy",
                  lang="en")  # fmt: skip
    assert (tmp_path / "out.npy").is_symlink()
    assert np.load(tmp_path / "far" / "rows.npy").shape == (1, 9)


def test_a_link_to_a_folder_is_followed(tmp_path):
    write_folder(tmp_path / "far")
    (tmp_path / "link").symlink_to("far")
    with replacing_folder(tmp_path / "link", "thing", OURS) as new:
        (new / "marker").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "marker").read_text() == "new"


@pytest.mark.parametrize(
    "name", ["NOTES.txt", ".git/HEAD", "inner/notes.md", "inner/deeper/a.txt", "marker.txt"]
)
def test_a_folder_with_a_file_of_someone_else_is_not_replaced(tmp_path, name):
    write_folder(tmp_path / "it")
    other = tmp_path / "it" / name
    other.parent.mkdir(parents=True, exist_ok=True)
    other.write_text("mine")
    shown = {".git/HEAD": ".git/", "inner/deeper/a.txt": "inner/deeper/"}.get(name, name)
    with pytest.raises(InputError, match=rf"it' holds {shown} beside the files of its thing"):
        write_folder(tmp_path / "it")
    assert other.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_file_that_comes_while_the_new_folder_is_written_is_not_lost(tmp_path):
    write_folder(tmp_path / "it")
    writing = contextlib.ExitStack()
    new = writing.enter_context(replacing_folder(tmp_path / "it", "thing", OURS))
    (new / "marker").touch()
    (tmp_path / "it" / "NOTES.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds NOTES\.txt"):
        writing.close()
    assert (tmp_path / "it" / "NOTES.txt").read_text() == "mine"


def test_a_link_in_a_folder_is_someone_elses(tmp_path):
    write_folder(tmp_path / "it")
    (tmp_path / "far").mkdir()
    (tmp_path / "it" / "inner").symlink_to(tmp_path / "far")
    with pytest.raises(InputError, match="holds inner/ beside"):
        write_folder(tmp_path / "it")


def test_a_model_with_a_note_or_a_repository_in_it_is_not_replaced(tmp_path, toy):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    models.save(encoder, tmp_path / "enc")
    (tmp_path / "enc" / ".git").mkdir()
    with pytest.raises(InputError, match=r"holds \.git/ beside the files of its encoder"):
        models.save(encoder, tmp_path / "enc")
    assert (tmp_path / "enc" / ".git").is_dir()


def test_an_empty_folder_is_a_fine_place(tmp_path, monkeypatch):
    (tmp_path / "it").mkdir()
    write_folder(tmp_path / "it")
    assert (tmp_path / "it" / "marker").exists()
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(outputs, "_exchange", lambda one, other: False)
    write_folder(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it", "other"]


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch, exchange):
    def fail(*names):
        raise OSError(errno.EBUSY, "Device or resource busy")

    write_folder(tmp_path / "it")
    (tmp_path / "it" / "marker").write_text("old")
    if exchange:
        monkeypatch.setattr(outputs, "_exchange", fail)
    else:
        real = outputs.Path.rename
        monkeypatch.setattr(outputs, "_exchange", lambda one, other: False)
        monkeypatch.setattr(
            outputs.Path, "rename", lambda a, b: fail() if "new" in a.name else real(a, b)
        )
    with pytest.raises(StorageError, match=r"busy\. What was there before is untouched"):
        write_folder(tmp_path / "it")
    assert (tmp_path / "it" / "marker").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_two_processes_do_not_write_one_folder(tmp_path):
    with (
        locked(tmp_path / ".it.pmeans-lock"),
        pytest.raises(StorageError, match=r"another process is writing .*it'"),
    ):
        write_folder(tmp_path / "it")


def test_two_writers_of_one_file_do_not_mix(tmp_path):
    with replacing(tmp_path / "file") as one, replacing(tmp_path / "file") as two:
        one.write(b"one")
        two.write(b"two")
    assert (tmp_path / "file").read_bytes() == b"one"  # which ended last
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_killed_writers_left_is_removed_and_what_living_ones_write_is_not(tmp_path):
    for number in (0, 2, 3):
        (tmp_path / f".file.pmeans-{number}").write_bytes(b"half of it, and more")
    with locked(tmp_path / ".file.pmeans-3"):
        write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".file.pmeans-3", "file"]


def test_a_link_in_the_place_of_a_temporary_file_is_not_written_through(tmp_path):
    (tmp_path / "secret").write_bytes(b"mine")
    (tmp_path / ".file.pmeans-0").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", tmp_path / ".file.pmeans-1")
    write(tmp_path / "file")
    assert (tmp_path / "secret").read_bytes() == b"mine"
    assert (tmp_path / "file").read_bytes() == b"new"


def test_on_a_disk_without_locks_files_and_folders_are_written_all_the_same(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    write(tmp_path / "file")
    for _ in range(2):
        write_folder(tmp_path / "it")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "it"]


@pytest.mark.parametrize("name", [".", "", "/", "x" * 250, "x" * 300, "a\0b"])
def test_odd_names_are_looked_up_as_before(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finish_replacing(Path(name))


def test_library_functions_do_not_write_over_what_they_read(tmp_path, toy):
    pmeans.save_space(toy, tmp_path / "toy.safetensors")
    before = (tmp_path / "toy.safetensors").read_bytes()
    space = pmeans.open_space(tmp_path / "toy.safetensors")
    encoder = pmeans.load(tmp_path / "toy.safetensors")
    models.save(encoder, tmp_path / "enc")
    for write_over in (
        lambda: pmeans.save_space(space, tmp_path / "toy.safetensors"),
        lambda: to_text(space, tmp_path / "toy.safetensors", suffix=True),
        lambda: models.save(encoder, tmp_path),
        lambda: models.save(models.load(tmp_path / "enc"), tmp_path / "enc"),
        lambda: models.save(models.load(tmp_path / "enc"), tmp_path / "enc" / "inner"),
    ):
        with pytest.raises(InputError, match="which is read"):
            write_over()
    assert (tmp_path / "toy.safetensors").read_bytes() == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps names")
def test_this_machine_swaps_folders_in_one_step(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    assert outputs._exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one" / "other").exists()
