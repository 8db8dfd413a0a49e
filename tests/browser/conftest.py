"""A real ``pmeans serve`` and a real Chromium."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pmeans
from served_page import INDEXED, serving

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "build" / "screenshots"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-quic",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")  # its event loop must not run in other tests
def browser():
    """Start Debian's Chromium, or skip and say what installs it."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="pip install 'pmeans[integrations]'"
    )
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium (or make browser)")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Write a classifier and an index of the default model."""
    place = tmp_path_factory.mktemp("served")
    with open(ROOT / "demo" / "sample" / "train.en.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:150]
    encoder = pmeans.load()
    classifier = pmeans.TransferClassifier(encoder)
    texts, labels = ([row[name] for row in rows] for name in ("text", "label"))
    classifier.fit(texts, labels, lang="en").save(place / "classifier")
    np.save(place / "index.npy", encoder.encode(INDEXED, lang="de"))
    (place / "texts.txt").write_text("\n".join(INDEXED) + "\n", encoding="utf-8")
    (place / "token").write_text("secret'token\n", encoding="ascii")
    return place


@pytest.fixture(scope="session")
def url(folder):
    """Serve all there is, by two workers."""
    options = ["--classifier", folder / "classifier", "--workers", 2]
    with serving(*options, "--index", folder / "index.npy", "--texts", folder / "texts.txt") as at:
        yield at


@pytest.fixture
def visit(browser):
    """Return how to open a page, whose console and requests must be clean in the end."""
    complaints, asked, contexts = [], [], []

    def opened(url, expected=(), prepare=lambda page: None, **options):
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 960}, **options})
        contexts.append(context)
        context.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " (event) => console.error('violated: ' + event.violatedDirective));"
        )
        page = context.new_page()

        def hear(message):
            if message.type in ("error", "warning") and not any(
                each in message.text for each in expected
            ):
                complaints.append(message.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append((url, request.url)))
        prepare(page)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert [other for own, other in asked if not other.startswith(own)] == []


@pytest.fixture
def shot():
    """Return how to keep a picture."""

    def take(page, name):
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True)

    return take


@pytest.fixture
def run_code(tmp_path):
    """Return how to run a program that the page wrote, and what it prints."""

    def run(kind, code, **environment):
        command = {"curl": ["sh", "-eu"], "python": [sys.executable, "-W", "error"]}[kind]
        done = subprocess.run(
            [*command, "/dev/stdin"],
            input=code,
            text=True,
            capture_output=True,
            cwd=tmp_path,
            env=os.environ | environment,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
