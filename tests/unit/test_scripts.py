"""Programs that no other test runs import names that exist."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(
    path for place in ("benchmarks", "demo", "tools") for path in ROOT.glob(f"{place}/*.py")
)


def missing(path):
    """Yield what a program imports of pmeans and pmeans does not have."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "pmeans":
            module = import_module(node.module)
            for name in (each.name for each in node.names):
                if not hasattr(module, name) and not find_spec(f"{node.module}.{name}"):
                    yield f"{node.module}.{name}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_program_imports_what_there_is(path):
    assert list(missing(path)) == []


def test_a_name_that_is_gone_is_noticed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from pmeans import tables, rows\nfrom pmeans.tables import Fields\n")
    assert list(missing(script)) == ["pmeans.rows"]
