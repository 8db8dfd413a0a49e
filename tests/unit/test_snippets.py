"""What a page shows as output is compared with what its snippets print."""

import sys

import pytest

from snippets import run_page, run_snippets, write_outputs

PAGE = """
```python
print("0.8568 of", 3)
```

```text
{}
```

The next block is not an output, as a sentence stands before it.

```text
anything
```
"""


@pytest.fixture
def page(tmp_path):
    def write(shown):
        file = tmp_path / "page.md"
        file.write_text(PAGE.format(shown), encoding="utf-8")
        return file

    return write


@pytest.mark.parametrize(
    "shown",
    ["0.8568 of 3", "0.8567 of 3", "0.857  of 3", "… of 3", "0.8568 …", "…", "0.8568 of 3\n…"],
)
def test_what_is_printed_may_be_shown(shown, page, tmp_path):
    run_snippets(page(shown), tmp_path, sys.executable)


@pytest.mark.parametrize(
    "shown",
    ["0.8548 of 3", "0.8568 of 4", "0.8568 off 3", "0.8568 of", "0.8568 of 3\nmore", "… by 3", ""],
)
def test_what_is_not_printed_is_named(shown, page, tmp_path):
    with pytest.raises(AssertionError, match=r"page\.md shows what is not printed"):
        run_snippets(page(shown), tmp_path, sys.executable)


def test_the_right_output_is_written_into_the_page(page, tmp_path):
    file = page("0.9 of 3")
    write_outputs(file, run_page(file, tmp_path, sys.executable))
    assert file.read_text(encoding="utf-8") == PAGE.format("0.8568 of 3")


def test_a_true_output_and_its_wildcards_stay(page, tmp_path):
    file = page("0.856… of 3")
    write_outputs(file, run_page(file, tmp_path, sys.executable))
    assert file.read_text(encoding="utf-8") == PAGE.format("0.856… of 3")


def test_a_shortened_output_stays_short(page, tmp_path):
    file = page("0.9 of 3\n…")
    write_outputs(file, run_page(file, tmp_path, sys.executable))
    assert file.read_text(encoding="utf-8") == PAGE.format("0.8568 of 3\n…")


def test_cells_between_tabs_are_written_as_columns(page, tmp_path):
    file = page("")
    code = file.read_text(encoding="utf-8").replace('"0.8568 of", 3', r'"a\tb\nlonger\tc\nend"')
    file.write_text(code, encoding="utf-8")
    write_outputs(file, run_page(file, tmp_path, sys.executable))
    assert "```text\na       b\nlonger  c\nend\n```" in file.read_text(encoding="utf-8")
    run_snippets(file, tmp_path, sys.executable)
