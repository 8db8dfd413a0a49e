"""Every snippet in the README and the docs runs, and what a page names or links to exists."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from snippets import FENCE, ROOT, run_snippets

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
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
    "tables.md": ["datasets", "duckdb", "gensim", "model2vec", "pandas", "polars", "spacy"],
}
"""What pages need beside the extra [dev]: their snippets run with the tests of integrations."""
# What Python hides from users: other libraries warn each other of what is old or absent.
HIDDEN = ("-W", "ignore::DeprecationWarning", "-W", "ignore::ImportWarning")


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p.name not in LIBRARIES], ids=lambda p: p.name
)
def test_the_snippets_of_a_page_run_one_after_the_other(page, tmp_path):
    run_snippets(page, tmp_path, sys.executable)


@pytest.mark.integrations
@pytest.mark.parametrize("page", [p for p in PAGES if p.name in LIBRARIES], ids=lambda p: p.name)
def test_the_snippets_of_a_page_about_other_libraries_run(page, tmp_path):
    for library in LIBRARIES[page.name]:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"needs {library}: pip install 'pmeans[integrations]'")
    run_snippets(page, tmp_path, sys.executable, *HIDDEN)


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
