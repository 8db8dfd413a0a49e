"""Downloads from a server on the loopback interface that misbehaves on demand."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import os
import socket
import threading
import zipfile
from collections import namedtuple
from dataclasses import replace
from http.server import ThreadingHTTPServer

import numpy as np
import pytest
from misbehaving_server import CONTENT, Handler, Site

from pmeans.errors import FormatError, StorageError
from pmeans.spaces import http
from pmeans.spaces.catalogue import Entry
from pmeans.spaces.download import download, fetch
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import open_space


@pytest.fixture
def site(monkeypatch):
    monkeypatch.setattr(http, "_PAUSE", 0)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.site = Site(url=f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.site
        server.shutdown()
        thread.join()


@pytest.fixture
def entry(site) -> Entry:
    return Entry(
        name="tiny", url=(f"{site.url}/tiny.bin",), bytes=len(CONTENT), licence="CC0-1.0",
        homepage="", languages=("en",), case="lower", format="text",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )  # fmt: skip


@pytest.fixture
def unchecked(entry) -> Entry:
    return replace(entry, sha256="", approximate=True)


def test_a_file_arrives_whole_and_leaves_nothing_else_behind(entry, tmp_path):
    assert download(entry, tmp_path).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.bin"]


def test_progress_is_told_bytes_here_and_in_all(entry, tmp_path):
    seen = []
    download(entry, tmp_path, lambda have, total: seen.append((have, total)))
    assert seen[-1] == (len(CONTENT), len(CONTENT))


def test_a_cut_connection_is_resumed_where_it_broke(site, unchecked, tmp_path):
    site.script = [{"cut": 20_000}, {"cut": 10_000}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, "bytes=20000-", "bytes=30000-"]


def test_a_cut_chunked_answer_is_resumed(site, unchecked, tmp_path):
    site.script = [{"chunked": True, "cut": 20_000}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, "bytes=20000-"]


def test_a_later_call_resumes_what_an_earlier_one_left(site, unchecked, tmp_path):
    site.script = [{"cut": 20_000}, *[{"status": 503}] * 4]
    with pytest.raises(StorageError, match=r"20\.0 kB of it are kept, and the same command goes"):
        download(unchecked, tmp_path)
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked[-1] == "bytes=20000-"


def test_a_partial_file_that_is_complete_is_not_asked_for_again(site, unchecked, tmp_path):
    # The process is killed between the last byte and the rename.
    with pytest.raises(KeyboardInterrupt):
        download(unchecked, tmp_path, progress=interrupt_at_end)
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert len(site.asked) == 1


def interrupt_at_end(have: int, total: int) -> None:
    if have == total:
        raise KeyboardInterrupt


def test_a_server_without_ranges_is_read_from_the_start(site, unchecked, tmp_path):
    site.ranges = False
    site.script = [{"cut": 20_000}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
def test_without_a_strong_validator_nothing_is_resumed(site, unchecked, tmp_path, etag):
    site.etag = etag
    site.script = [{"cut": 20_000}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, None]


def test_a_date_will_do_for_an_etag(site, unchecked, tmp_path):
    site.etag, site.modified = 'W/"weak"', "Tue, 14 Nov 2023 10:00:00 GMT"
    site.script = [{"cut": 20_000}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, "bytes=20000-"]


def test_a_file_that_changes_between_tries_is_not_spliced(site, unchecked, tmp_path):
    new = CONTENT[::-1] + b"longer"
    site.script = [{"cut": 20_000}, {"site": {"content": new, "etag": '"two"'}, "cut": 30_000}]
    assert download(unchecked, tmp_path).read_bytes() == new
    assert site.ranges_asked == [None, "bytes=20000-", "bytes=30000-"]


def test_another_range_than_asked_for_is_not_appended(site, unchecked, tmp_path):
    site.script = [{"cut": 20_000}, {"shift": 7}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT


def test_a_range_that_the_server_finds_too_long_begins_anew(site, unchecked, tmp_path):
    site.script = [{"cut": 20_000}, {"status": 416}]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, "bytes=20000-", None]


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_wrong_checksum_is_named_and_the_bytes_are_deleted(unchecked, tmp_path, kind):
    wrong = replace(unchecked, **{kind: "ab" * 16})
    got = hashlib.new(kind, CONTENT).hexdigest()
    with pytest.raises(StorageError, match=f"its {kind} is {got}, expected {'ab' * 16}"):
        download(wrong, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_asked_for_once(site, entry, tmp_path):
    site.script = [{"status": 404}]
    with pytest.raises(StorageError, match=r"tiny\.bin: HTTP 404 Not Found\."):
        download(entry, tmp_path)
    assert len(site.asked) == 1


def test_a_failure_says_what_is_needed_and_where_to_put_it(site, entry, tmp_path):
    site.script = [{"status": 404}]
    with pytest.raises(StorageError) as caught:
        download(entry, tmp_path)
    assert "'tiny' (50.0 kB)" in str(caught.value)
    assert f"get {entry.url[0]} elsewhere, put it at '{tmp_path}/tiny.bin'" in str(caught.value)


def test_a_busy_server_is_asked_again(site, entry, tmp_path):
    site.script = [{"status": 503}, {"status": 429}]
    assert download(entry, tmp_path).read_bytes() == CONTENT


def test_pauses_double(site, entry, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(http, "_PAUSE", 1)
    monkeypatch.setattr(http.time, "sleep", pauses.append)
    site.script = [{"status": 503}] * 3
    download(entry, tmp_path)
    assert pauses == [1, 2, 4]


def test_a_server_that_announces_too_much_is_given_up(site, unchecked, tmp_path):
    site.ranges = False
    site.script = [{"length": len(CONTENT) + 9}] * 9
    with pytest.raises(StorageError, match="after 50,000 of 50,009 bytes, at the last of 5 tries"):
        download(unchecked, tmp_path)
    assert len(site.asked) == 5


def test_a_file_of_another_size_is_refused_before_it_is_downloaded(entry, tmp_path):
    other = replace(entry, bytes=49_999)
    seen = []
    with pytest.raises(StorageError, match="50,000 bytes there, 49,999 in the catalogue"):
        download(other, tmp_path, lambda *numbers: seen.append(numbers))
    assert seen == []


def test_the_next_mirror_is_asked(site, entry, tmp_path):
    site.script = [{"status": 404}]
    two = replace(entry, url=(f"{site.url}/tiny.bin", f"{site.url}/mirror/tiny.bin"))
    assert download(two, tmp_path).read_bytes() == CONTENT
    assert [path for path, _ in site.asked] == ["/tiny.bin", "/mirror/tiny.bin"]


def test_what_one_mirror_sent_is_not_continued_from_another(site, entry, tmp_path):
    site.script = [{"cut": 20_000}, {"status": 404}]
    two = replace(entry, url=(f"{site.url}/tiny.bin", f"{site.url}/mirror/tiny.bin"))
    assert download(two, tmp_path).read_bytes() == CONTENT
    assert site.ranges_asked == [None, "bytes=20000-", None]


def test_a_redirect_is_followed_with_the_range(site, unchecked, tmp_path):
    moved = {"status": 302, "headers": {"Location": "/elsewhere"}}
    site.script = [{"cut": 20_000}, moved]
    assert download(unchecked, tmp_path).read_bytes() == CONTENT
    assert site.asked[-1] == ("/elsewhere", "bytes=20000-")


def test_redirects_end_somewhere(site, entry, tmp_path):
    site.script = [{"status": 302, "headers": {"Location": f"/{i}"}} for i in range(20)]
    with pytest.raises(StorageError, match="HTTP 302"):
        download(entry, tmp_path)
    assert len(site.asked) == 6


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/tiny.bin"])
def test_a_redirect_away_from_http_is_refused(site, entry, tmp_path, target):
    site.script = [{"status": 302, "headers": {"Location": target}}]
    with pytest.raises(StorageError, match=r"'(ftp|file)' is not followed|not allowed"):
        download(entry, tmp_path)


def test_a_redirect_from_https_to_http_is_refused():
    with pytest.raises(http.UselessError, match="'http' is not followed"):
        http._check_scheme("https://a.example/x", "http://a.example/x")


def test_a_url_that_is_not_http_is_refused(entry, tmp_path):
    with pytest.raises(StorageError, match="'file' is not followed"):
        download(replace(entry, url=("file:///etc/passwd",)), tmp_path)


def test_a_host_that_cannot_be_found_is_tried_once(entry, tmp_path, monkeypatch):
    asked = []

    def offline(*args, **_):
        asked.append(args)
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", offline)
    with pytest.raises(StorageError, match="Temporary failure in name resolution"):
        download(replace(entry, url=("http://nowhere.invalid/tiny.bin",)), tmp_path)
    assert len(asked) == 1


def test_the_proxies_of_the_environment_are_used(site, entry, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", site.url)
    url = "http://nowhere.invalid/tiny.bin"
    assert download(replace(entry, url=(url,)), tmp_path).read_bytes() == CONTENT
    assert site.asked == [(url, None)]


def test_a_file_put_there_by_hand_needs_no_network(site, entry, tmp_path):
    (tmp_path / "tiny.bin").write_bytes(CONTENT)
    assert download(entry, tmp_path) == tmp_path / "tiny.bin"
    assert site.asked == []


def test_a_wrong_file_put_there_by_hand_is_refused_and_kept(entry, tmp_path):
    (tmp_path / "tiny.bin").write_bytes(CONTENT[::-1])
    with pytest.raises(StorageError, match=f"expected {entry.sha256}. Remove it, or put the right"):
        download(entry, tmp_path)
    assert (tmp_path / "tiny.bin").exists()


def test_a_full_disk_is_noticed_before_the_download(site, unchecked, tmp_path, monkeypatch):
    usage = namedtuple("usage", "total used free")(10**9, 10**9 - 70_000, 70_000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(StorageError, match=r"needs about 100\.0 kB more in .* 70\.0 kB are free"):
        download(unchecked, tmp_path)


def test_a_folder_that_cannot_be_made_is_a_storage_error(entry, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=f"cannot write .*: {os.strerror(errno.ENOTDIR)}"):
        download(entry, tmp_path / "file" / "downloads")


def test_two_processes_do_not_write_one_file(entry, tmp_path):
    with open(tmp_path / "tiny.bin.partial", "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StorageError, match="another process is downloading"):
            download(entry, tmp_path)


def reader(path, **options):
    """Stand in for `read_space`: a space whose one word tells what was read, and how."""
    words = {"en": [path.read_bytes()[:5].hex()]}
    return WordSpace.from_words(options["name"], words, np.ones((1, 2), np.float32)), options


@pytest.fixture
def listed(entry, monkeypatch):
    """Put entries into the catalogue in place of its own."""

    def put(**changes) -> Entry:
        changed = replace(entry, **changes)
        monkeypatch.setattr("pmeans.spaces.catalogue.entries", lambda: (changed,))
        return changed

    return put


def test_fetch_installs_a_space_with_its_source_and_licence(listed, tmp_path):
    entry = listed()
    space = open_space(fetch("tiny", library=tmp_path, read=reader))
    assert list(space.words("en")) == [CONTENT[:5].hex()]
    assert (space.source, space.licence) == (entry.url[0], "CC0-1.0")
    assert list((tmp_path / "downloads").iterdir()) == []


def test_fetch_tells_the_reader_what_the_catalogue_knows(listed, tmp_path):
    listed()
    reports = []
    fetch("tiny", library=tmp_path, read=reader, report=reports.append, limit=7)
    assert reports == [
        {"format": "text", "name": "tiny", "lang": "en", "case": "lower", "limit": 7}
    ]


def test_files_of_several_languages_are_read_as_such(listed, tmp_path):
    listed(languages=("en", "de"))
    reports = []
    fetch("tiny", library=tmp_path, read=reader, report=reports.append)
    assert reports[0]["lang"] == "mul"


def test_an_installed_space_is_left_alone(site, listed, tmp_path):
    listed()
    assert fetch("tiny", library=tmp_path, read=reader) == fetch("tiny", library=tmp_path)
    assert len(site.asked) == 1


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def test_the_wanted_member_of_an_archive_is_unpacked_and_removed(site, listed, tmp_path):
    site.content = zipped(small=b"small", large=b"large")
    listed(member="large", sha256="", approximate=True)
    space = open_space(fetch("tiny", library=tmp_path, read=reader))
    assert list(space.words("en")) == [b"large".hex()]
    assert list((tmp_path / "downloads").iterdir()) == []


@pytest.mark.parametrize("content", [zipped(other=b""), b"no archive"])
def test_an_archive_without_the_member_is_refused(site, listed, tmp_path, content):
    site.content = content
    listed(member="large", sha256="", approximate=True)
    with pytest.raises(FormatError, match="no archive with 'large' in it"):
        fetch("tiny", library=tmp_path, read=reader)


def test_what_cannot_be_read_is_kept_and_named(listed, tmp_path):
    def refuse(path, **_):
        raise FormatError("line 1: no vector.")

    listed()
    with pytest.raises(FormatError, match=r"no vector\. The download is kept as .*; remove it"):
        fetch("tiny", library=tmp_path, read=refuse)
    assert (tmp_path / "downloads" / "tiny.bin").read_bytes() == CONTENT
