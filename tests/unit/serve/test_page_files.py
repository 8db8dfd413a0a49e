"""The page at ``/``: what is served of it, and how."""

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="pip install 'pmeans[serve]'")

FOLDER = Path(__file__).parents[3] / "src" / "pmeans" / "serve" / "page"
FILES = sorted(file.name for file in FOLDER.iterdir())


def path_of(name):
    return "/" if name == "index.html" else f"/page/{name}"


@pytest.mark.parametrize("name", FILES)
def test_every_file_of_the_page_is_served_with_strict_headers(client, name):
    answer = client.get(path_of(name))
    assert answer.status_code == 200
    assert answer.content == (FOLDER / name).read_bytes()
    policy = dict(
        part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert {policy[kind] for kind in ("script-src", "style-src", "connect-src", "img-src")} == {
        "'self'"
    }
    for kind in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[kind] == "'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-cache"


def test_a_browser_that_has_a_file_is_told_so(client):
    first = client.get("/page/main.js")
    again = client.get("/page/main.js", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "Content-Security-Policy" in again.headers
    other = client.get("/page/main.js", headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/page",
        "/page/",
        "/page/index.html",
        "/page/../service.py",
        "/page/%2e%2e/service.py",
        "/page/..%2fservice.py",
        "/page/%2e%2e%2f%2e%2e%2f_version.py",
        "/page//etc/passwd",
        "/page/main.js/",
        "/page/main.js%00.html",
        "/page/..\\service.py",
        "/page/MAIN.JS",
        "/index.html",
    ],
)
def test_no_other_path_has_a_file(client, path):
    assert client.get(path).status_code == 404


def test_the_page_takes_no_other_method_than_tei(client):
    answer = client.put("/", json={})
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_the_page_is_open_and_what_it_asks_for_is_not(start):
    client = start(token="secret")
    assert all(client.get(path_of(name)).status_code == 200 for name in FILES)
    assert client.get("/info").status_code == 401


def test_info_tells_the_page_what_it_can_offer(start):
    info = start(model="default", index=None, texts=None).get("/info").json()
    assert info["finds_languages"] is True
    assert info["parts"][:2] == [["taught", [1]], ["bivcd", ["-inf", 1, "inf"]]]
    assert (info["znorm"], info["mapped"]) == ("per_language", True)


def test_the_page_names_its_own_files_alone():
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        named = re.findall(r'(?:src|href)="(?!#)([^"]*)"', text) if name == "index.html" else []
        named = [path.removeprefix("page/") for path in named if path != "openapi.json"]
        named += re.findall(r'from "\./([^"]*)"', text)
        assert set(named) <= set(FILES), name
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), name


def test_no_file_makes_html_of_text_or_has_code_in_attributes():
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"<style|\sstyle=|\son\w+=\"|<script(?! type=\"module\" src)", text)
        assert len(text.splitlines()) <= 300
