"""A server of the page, and what a browser shows of it."""

import contextlib
import subprocess
import sys

INDEXED = [
    "Die Bahn fährt heute pünktlich.",
    "Kinder unter sechs Jahren zahlen nichts.",
    "Die Suppe war leider kalt.",
]


@contextlib.contextmanager
def serving(*options):
    """Give the address of a server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pmeans", "serve", *map(str, options), "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            line = next((said for said in process.stderr if "serving at" in said), "")
            assert line, "the server did not start"
            yield line.split()[-1] + "/"
        finally:
            process.terminate()
            process.wait(30)


def said(page, name, pattern):
    """Wait until a part of the page says something, and return it."""
    place = page.locator(f"#{name}-message")
    page.wait_for_function(
        "([id, pattern]) => new RegExp(pattern).test(document.getElementById(id).textContent)",
        arg=[f"{name}-message", pattern],
    )
    return place.inner_text()


def until(page, condition):
    """Wait for a condition. As a function, which needs no eval in the page."""
    page.wait_for_function(f"() => {condition}")


def ready(page):
    said(page, "compare", "compared")
    said(page, "teach", "Learned")
    for name in ("classify", "search"):
        until(page, f"document.querySelector('#{name}[hidden], #{name}-message:not(:empty)')")
    return page


def compare(page, lines):
    page.fill("#sentences", "\n".join(lines))
    said(page, "compare", f"^{len(lines)} sentences? compared")
    page.wait_for_function(
        "text => document.querySelector('#neighbours tbody th').textContent === text", arg=lines[0]
    )


def cells(page, table):
    rows = page.locator(f"{table} tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def cosines(page):
    rows = page.locator("#matrix tbody tr").all()
    return [
        [float(text.replace("−", "-")) for text in row.locator("td").all_inner_texts()]
        for row in rows
    ]


def code(page, kind):
    page.check(f"input[value={kind}]")
    return page.locator("#code").inner_text()
