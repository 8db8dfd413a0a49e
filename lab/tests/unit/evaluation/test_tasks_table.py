"""A user's own tasks: TOML rows over CSV, TSV and JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmeans.errors import ConfigError, FormatError, InputError
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.dataset import Dataset

BOTH = "text,label,lang\nIt's good,yes,en\nEs ist gut,yes,de\nIt's bad,no,en\nSchlecht,no,de\n"
ONE_FILE = 'languages = ["en", "de"]\nfiles = [{ path = "a.csv" }]'
ENGLISH = 'languages = ["en"]\nfiles = [{ path = "%s", lang = "en" }]'
SPLIT = """
languages = ["en", "de"]
files = [
  { path = "train.csv", lang = "en", part = "train" },
  { path = "test.csv", lang = "en", part = "test" },
  { path = "de.csv", lang = "de", part = "test" },
]
"""


def own(folder: Path, row: str) -> tasks.Task:
    (folder / "own.toml").write_text(f'[[tasks]]\nname = "own"\n{row}\n')
    return tasks.from_toml(folder / "own.toml")[0]


def load(folder: Path, row: str, *languages: str) -> Dataset:
    return tasks.load(own(folder, row), Path("elsewhere"), languages or ["en"])


def test_one_file_with_a_language_column(tmp_path: Path):
    (tmp_path / "a.csv").write_text(BOTH)
    dataset = load(tmp_path, ONE_FILE, "en", "de")
    assert dataset.classes == ("no", "yes")
    assert dataset.rows["en"]["all"].sentences == ("It 's good", "It 's bad")
    assert dataset.rows["de"]["all"].sentences == ("Es ist gut", "Schlecht")
    assert dataset.rows["de"]["all"].labels.tolist() == [1, 0]


def test_only_the_languages_asked_for_are_kept(tmp_path: Path):
    (tmp_path / "a.csv").write_text(BOTH)
    assert load(tmp_path, ONE_FILE, "de").languages == ("de",)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", '\ufefftext,label\n"a, ""b""\nc",x\n\nd,1\n'),
        ("a.tsv", 'id\ttext\tlabel\r\n1\ta , "b" c\tx\r\n2\td\t1\r\n'),
        ("a.jsonl", '{"text": "a, \\"b\\" c", "label": "x"}\n\n{"text": "d", "label": 1}\n'),
    ],
)
def test_each_format_gives_the_same_rows(tmp_path: Path, name: str, content: str):
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    dataset = load(tmp_path, ENGLISH % name)
    assert dataset.rows["en"]["all"].sentences == ('a , " b " c', "d")
    assert dataset.classes == ("1", "x")


def test_whitespace_leaves_the_tokens_of_a_text(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,label\nIt's  a,1\nb,0\n")
    dataset = load(tmp_path, ENGLISH % "a.csv" + '\ntokenizer = "whitespace"')
    assert dataset.rows["en"]["all"].sentences == ("It's a", "b")


def test_columns_may_have_other_names(tmp_path: Path):
    (tmp_path / "a.csv").write_text("q,topic\na,1\nb,0\n")
    dataset = load(tmp_path, ENGLISH % "a.csv" + '\ntext = "q"\nlabel = "topic"')
    assert dataset.classes == ("0", "1")


def test_a_test_language_needs_no_training_rows(tmp_path: Path):
    for name in ("train.csv", "test.csv", "de.csv"):
        (tmp_path / name).write_text("text,label\na,1\nb,0\n")
    dataset = load(tmp_path, SPLIT, "en", "de")
    assert {lang: list(parts) for lang, parts in dataset.rows.items()} == {
        "en": ["train", "test"],
        "de": ["test"],
    }


def test_a_training_language_needs_training_rows(tmp_path: Path):
    (tmp_path / "de.csv").write_text("text,label\na,1\nb,0\n")
    with pytest.raises(InputError, match="language 'de' has no rows of the part 'train'"):
        load(tmp_path, SPLIT, "de")


@pytest.mark.parametrize("name", ["test.csv", "de.csv"])
def test_a_label_that_training_lacks_is_named_with_its_line(tmp_path: Path, name: str):
    for each in ("train.csv", "test.csv", "de.csv"):
        (tmp_path / each).write_text("text,label\na,yes\nb,no\n")
    (tmp_path / name).write_text("text,label\na,yes\nb,yess\n")
    with pytest.raises(InputError, match=rf"{name}, line 3: the label 'yess' .* mean 'yes'\?"):
        load(tmp_path, SPLIT, "en", "de")


@pytest.mark.parametrize(
    ("german", "message"),
    [
        ("a,1\n", "has 2 rows in 'en' and 1 in 'de'"),
        ("a,1\nb,1\n", r"en\.csv, line 3 has the label '0' and .*de\.csv, line 3 has '1'"),
    ],
)
def test_parallel_rows_must_match(tmp_path: Path, german: str, message: str):
    (tmp_path / "en.csv").write_text("text,label\na,1\nb,0\n")
    (tmp_path / "de.csv").write_text("text,label\n" + german)
    files = 'files = [{ path = "en.csv", lang = "en" }, { path = "de.csv", lang = "de" }]'
    with pytest.raises(InputError, match=message):
        load(tmp_path, f'parallel = true\nlanguages = ["en", "de"]\n{files}', "en", "de")


def test_a_language_without_rows_is_an_error(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,label,lang\na,1,en\nb,0,en\n")
    with pytest.raises(FormatError, match="no rows of language 'de' in "):
        load(tmp_path, ONE_FILE, "en", "de")


def test_a_language_that_the_task_does_not_list_is_an_error(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,label,lang\na,1,en\nb,0,xyz\n")
    with pytest.raises(FormatError, match="line 3: no language 'xyz' among en, de"):
        load(tmp_path, ONE_FILE, "en", "de")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "txt,label\na,1\n", r"line 1: no column 'text'\. Did you mean 'txt'\?"),
        ("a.csv", "text,label,text\na,1,b\n", "two columns are called 'text'"),
        ("a.csv", "text,label\na,1\nb\n", "line 3: 1 columns, and the header has 2"),
        ("a.csv", 'text,label\n"a" b,1\n', "line 2: not valid"),
        ("a.csv", "text,label\na,\n", "line 2: '' is not a label"),
        ("a.csv", "text,label\n  ,1\n", "line 2: a text without words"),
        ("a.tsv", "text\tlabel\na,1\n", "line 2: 1 columns, and the header has 2"),
        ("a.jsonl", '{"text": "a", "label": 1}\n{"text"\n', "line 2: not valid JSON"),
        ("a.jsonl", "[" * 100_000, "line 1: not valid JSON"),
        ("a.jsonl", "[1]\n", r"line 1: expected an object with the key 'text', got \[1\]"),
        (
            "a.jsonl",
            '{"text": "a", "lable": 1}\n',
            r"line 1: no key 'label' .* Did you mean 'lable'\?",
        ),
        ("a.jsonl", '{"text": 1, "label": 1}\n', "line 1: the text is int, not a string: 1"),
        ("a.jsonl", '{"text": "a", "label": 1.5}\n', r"line 1: 1\.5 is not a label"),
        ("a.txt", "a\n", "plain text has no columns"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, name: str, content: str, message: str):
    (tmp_path / name).write_text(content)
    with pytest.raises((FormatError, InputError), match=message):
        load(tmp_path, ENGLISH % name)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('languages = ["en"]\nfiles = []', "at least one file and one language"),
        ('languages = ["de"]\nfiles = [{ path = "a", lang = "en" }]', "none of its languages: de"),
        (ONE_FILE + '\nlayout = "ukp"', "layout 'ukp' is for the published tasks"),
        (ONE_FILE + '\nlabels = "x"', r"unknown key 'labels'\. Did you mean 'label'\?"),
        (SPLIT + 'protocol = "ukp-subsample"', "ukp-subsample draws its own parts"),
        (SPLIT.replace(', part = "test"', ""), "give every file a part"),
        (ONE_FILE + f'\n[[tasks]]\nname = "own"\n{ONE_FILE}', "the name is taken"),
        (ONE_FILE + f'\n[[tasks]]\nname = "MR"\n{ONE_FILE}', "'MR': the name is taken"),
        (ONE_FILE + "\n[task]", r"expected \[\[tasks\]\] and nothing else"),
    ],
)
def test_a_bad_description_is_refused_before_any_file_is_read(
    tmp_path: Path, row: str, message: str
):
    with pytest.raises(ConfigError, match=message):
        own(tmp_path, row)
