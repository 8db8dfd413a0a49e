"""What MkDocs makes the site of: the pages of the whole project, under the paths they have in it.

So a link from docs/ to lab/results/ is the same on the site and in the repository. Two pages are
made here: the reference, of the public names, and the tour, of the notebook. A page that would
fetch anything from another host stops the build.
"""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path
from typing import Any

import nbconvert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pygments.formatters import HtmlFormatter

ROOT = Path(__file__).parents[1]
SHOWN = ("*.md", "*.svg", "*.toml", "LICENSE", "CITATION.cff", "deploy/*")
HIDDEN = ("packages/", "src/", "tests/", "lab/src/", "lab/tests/")
REFERENCE = (
    "pmeans", "pmeans.transfer", "pmeans.search", "pmeans.arrow", "pmeans.jobs", "pmeans.errors",
)  # fmt: skip
LOADED = re.compile(
    r"<(?:script|img|iframe|source|audio|video|embed|link(?![^>]*rel=\"canonical\"))\b[^>]*?"
    r"(?:src|href|srcset|data)=[\"']?((?:https?:)?//[^\"' >]+)"
    r"|(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)"
)
"""What a browser fetches by itself from another host; a link that a reader follows is not."""


def github_slug(heading: str, separator: str) -> str:
    """Return what a heading is linked by, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name headings as GitHub does, so that links to them hold in both places."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = github_slug
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of docs/ by those of the project, and add the pages that are made."""
    for file in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(file)
    listed = subprocess.check_output(["git", "ls-files", "--", *SHOWN], cwd=ROOT, text=True)
    for path in listed.splitlines():
        if not path.startswith(HIDDEN):
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    made: dict[str, str | bytes] = {
        "docs/api.md": reference(),
        "pygments.css": HtmlFormatter(style="default").get_style_defs(".codehilite"),
        **tour(),
    }
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def reference() -> str:
    """Return the page that mkdocstrings fills with the docstrings of every public name."""
    lines, seen = ["# API reference", ""], set()
    for name in REFERENCE:
        module = importlib.import_module(name)
        lines += [f"## {name}", ""]
        public = getattr(module, "__all__", None) or [
            each for each, value in vars(module).items() if getattr(value, "__module__", "") == name
        ]
        for each in public:
            value = getattr(module, each)
            module_of = getattr(value, "__module__", name)
            home = f"{module_of if module_of.startswith('pmeans') else name}.{each}"
            if not each.startswith("_") and home not in seen:
                seen.add(home)
                lines += [f"::: {home}", ""]
    return "\n".join(lines)


def tour() -> dict[str, str | bytes]:
    """Return the notebook as a page, with its pictures."""
    body, resources = nbconvert.MarkdownExporter().from_filename(str(ROOT / "docs/tour.ipynb"))
    pictures = {f"docs/{name}": content for name, content in resources["outputs"].items()}
    return {"docs/tour.md": body, **pictures}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link to the tour as a page."""
    return markdown.replace("tour.ipynb)", "tour.md)")


def on_post_build(config: MkDocsConfig) -> None:
    """Raise if a page or a style would fetch something from another host."""
    site = Path(config.site_dir)
    found = [
        f"{path.relative_to(site)}: {next(filter(None, match.groups()))}"
        for path in sorted((*site.rglob("*.html"), *site.rglob("*.css")))
        for match in LOADED.finditer(path.read_text(encoding="utf-8"))
    ]
    if found:
        raise PluginError("the site would ask other hosts: " + "; ".join(found))
