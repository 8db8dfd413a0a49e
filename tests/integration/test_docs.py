"""Every snippet in the README and the docs runs and prints what the page shows.

What a page names or links to exists. The docs' snippets take minutes, and run with ``make
test-integrations``. After a wanted change, ``make outputs`` writes what they print into the pages,
and the difference is read before it is committed.
"""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

import postgres
from snippets import FENCE, ROOT, run_page, run_snippets, write_outputs

DOCS = sorted((ROOT / "docs").glob("*.md"))
EVERY_PAGE = [
    *ROOT.glob("*.md"),
    *(p for d in ("benchmarks", "demo", "docs", "lab") for p in sorted((ROOT / d).rglob("*.md"))),
]
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)")
FOLDERS = "src|tests|recipes|experiments|studies|benchmarks|docs|lab|results"
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
LIBRARIES = {
    "integrations.md": ["bertopic", "keybert", "langchain_core", "mteb", "sentence_transformers"],
    "scale.md": ["faiss", "lance", "pgvector", "psycopg", "pyspark", "qdrant_client", "ray"],
    "tables.md": ["datasets", "duckdb", "gensim", "model2vec", "pandas", "polars", "spacy"],
}
"""What pages need beside the extra [dev]."""
# What Python hides from users: other libraries warn each other of what is old or absent.
HIDDEN = (
    *("-W", "ignore::DeprecationWarning", "-W", "ignore::ImportWarning"),
    *("-W", "ignore::ResourceWarning", "-W", "ignore::FutureWarning"),
)


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *(pytest.param(p, marks=pytest.mark.integrations) for p in DOCS)],
    ids=lambda page: page.name,
)
def test_the_snippets_of_a_page_print_what_it_shows(page, tmp_path):
    for library in LIBRARIES.get(page.name, []):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}: pip install 'pmeans[integrations]'")
    with servers_of(page):
        run_snippets(page, tmp_path, sys.executable, *options_of(page))


@contextlib.contextmanager
def servers_of(page: Path) -> Iterator[None]:
    """Start the database that a page needs, if it does."""
    if "psycopg" not in LIBRARIES.get(page.name, []):
        yield
        return
    with postgres.served() as settings, patch.dict(os.environ, settings):
        yield


def options_of(page: Path) -> tuple[str, ...]:
    return HIDDEN if page.name in LIBRARIES else ()


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_or_links_to_exists(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    named = {path for path in NAMED.findall(text) if "NAME" not in path}
    # Pages of the laboratory name what lies in it by its path there.
    bases = (ROOT, ROOT / "lab") if "lab" in page.relative_to(ROOT).parts else (ROOT,)
    assert [each for each in sorted(named) if not any((b / each).exists() for b in bases)] == []
    for path, anchor in LINK.findall(text):
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are linked by, as GitHub makes it of them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _write(pages: list[Path]) -> None:
    for page in pages:
        with servers_of(page), tempfile.TemporaryDirectory() as folder:
            write_outputs(page, run_page(page, Path(folder), sys.executable, *options_of(page)))


if __name__ == "__main__":
    _write([Path(name) for name in sys.argv[1:]] or [ROOT / "README.md", *DOCS])
