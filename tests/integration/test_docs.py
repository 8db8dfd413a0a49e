"""Every snippet in the README and the docs runs, and what a page names or links to exists.

The docs' snippets take minutes, and run with ``make test-integrations``.
"""

import contextlib
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import postgres
from snippets import FENCE, ROOT, run_snippets

DOCS = sorted((ROOT / "docs").glob("*.md"))
EVERY_PAGE = [
    *ROOT.glob("*.md"),
    *(
        p
        for d in ("benchmarks", "demo", "docs", "results")
        for p in sorted((ROOT / d).rglob("*.md"))
    ),
]
LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)#?([^)\s]*)\)")
NAMED = re.compile(r"`((?:src|tests|recipes|experiments|studies|benchmarks|docs)/[\w./-]+)`")
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
def test_the_snippets_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    for library in LIBRARIES.get(page.name, []):
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}: pip install 'pmeans[integrations]'")
    with contextlib.ExitStack() as servers:
        if "psycopg" in LIBRARIES.get(page.name, []):
            for name, value in servers.enter_context(postgres.served()).items():
                monkeypatch.setenv(name, value)
        run_snippets(page, tmp_path, sys.executable, *(HIDDEN if page.name in LIBRARIES else ()))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_or_links_to_exists(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    named = {path for path in NAMED.findall(text) if "NAME" not in path}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    for path, anchor in LINK.findall(text):
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {path}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {path}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are linked by, as GitHub makes it of them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
