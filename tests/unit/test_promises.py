"""Every promise of SECURITY.md names tests that there are."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (
    (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## Promises and their tests")[2]
)
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", TABLE)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_named_test_is_there(path, name):
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"def {name or 'test_'}" in text


def test_every_promise_names_a_test():
    rows = [line for line in TABLE.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert all("`tests/" in row for row in rows)
