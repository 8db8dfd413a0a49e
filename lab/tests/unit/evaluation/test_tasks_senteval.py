"""SentEval's layouts and their translations, on a few lines of the same form."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmeans.errors import FormatError, InputError
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.tasks import File, Task

BINARY = Task(
    "toy",
    tuple(
        File(f"{lang}.{label}", lang=lang, label=label)
        for lang in ("en", "de")
        for label in ("positive", "negative")
    ),
    ("en", "de"),
    layout="senteval-binary",
    parallel=True,
    classes=("negative", "positive"),
)
TREC = Task(
    "toy",
    (
        File("train", lang="en", part="train", encoding="latin-1"),
        File("test", lang="en", part="test", encoding="latin-1"),
    ),
    ("en",),
    layout="senteval-trec",
    classes=("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
)
SST = Task(
    "toy",
    tuple(File(part, lang="en", part=part) for part in ("train", "dev", "test")),
    ("en",),
    layout="senteval-sst",
    classes=("0", "1"),
)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    (tmp_path / "en.positive").write_text("a b c \ngood \n\nfine \n")
    (tmp_path / "en.negative").write_text("bad \nd e f \npoor \n\n")
    (tmp_path / "de.positive").write_text("a_de b_de\ngut_de und_de lang_de\n\nfein_de\n")
    (tmp_path / "de.negative").write_text("schlecht_de\nd_de\narm_de\n\n")
    return tmp_path


def test_a_binary_task_is_sorted_by_length_then_class_and_stays_in_order_else(binary: Path):
    rows = tasks.load(BINARY, binary, ["en"]).rows["en"]["all"]
    assert rows.sentences == (".", ".", "bad", "poor", "good", "fine", "d e f", "a b c")
    assert rows.labels.tolist() == [0, 1, 0, 0, 1, 1, 0, 1]


def test_a_translation_takes_the_order_of_the_english_rows(binary: Path):
    rows = tasks.load(BINARY, binary, ["de"]).rows["de"]["all"]
    assert rows.sentences == (
        *(".", ".", "schlecht", "arm"),
        *("gut und lang", "fein", "d", "a b"),
    )


def test_a_suffix_is_left_where_not_every_token_has_it(binary: Path):
    (binary / "de.negative").write_text("schlecht_de so\nd_de\narm_de\n\n")
    rows = tasks.load(BINARY, binary, ["de"]).rows["de"]["all"]
    assert "schlecht_de so" in rows.sentences


@pytest.mark.parametrize("lines", ["gut\n", "a\nb\nc\nd\ne\n"])
def test_a_translation_of_another_length_is_refused(binary: Path, lines: str):
    (binary / "de.positive").write_text(lines)
    with pytest.raises(FormatError, match=r"'de' has \d rows of the part 'all', and 'en' has 8"):
        tasks.load(BINARY, binary, ["de"])


def test_a_line_ends_at_a_newline_alone(tmp_path: Path):
    (tmp_path / "en.positive").write_text("one\u2028two\x85three\n", encoding="utf-8")
    (tmp_path / "en.negative").write_text("bad\r\n", newline="")
    rows = tasks.load(BINARY, tmp_path, ["en"]).rows["en"]["all"]
    assert rows.sentences == ("bad", "one two three")


def test_trec_keeps_the_coarse_class_and_reads_latin_1(tmp_path: Path):
    (tmp_path / "train").write_bytes(b"NUM:dist How far is it ?\nHUM:ind Who is Ren\xe9 ?\n")
    (tmp_path / "test").write_bytes(b"ABBR:exp What is 3:2 ?\n")
    found = tasks.load(TREC, tmp_path, ["en"]).rows["en"]
    assert found["train"].sentences == ("Who is René ?", "How far is it ?")
    assert found["train"].labels.tolist() == [3, 5]
    assert found["test"].sentences == ("What is 3:2 ?",)


def test_sst_has_three_parts_each_sorted(tmp_path: Path):
    (tmp_path / "train").write_text("so very good \t1\nbad \t0\nnice \t1\n")
    (tmp_path / "dev").write_text("good \t1\nbad \t0\n")
    (tmp_path / "test").write_text("dull \t0\n")
    found = tasks.load(SST, tmp_path, ["en"]).rows["en"]
    assert list(found) == ["train", "dev", "test"]
    assert found["train"].sentences == ("bad", "nice", "so very good")
    assert found["dev"].labels.tolist() == [0, 1]


@pytest.mark.parametrize("line", ["no tab", "two\ttabs\t1", ""])
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str):
    (tmp_path / "train").write_text(f"good\t1\n{line}\nbad\t0\n")
    with pytest.raises(FormatError, match="train, line 2: no label and sentence in"):
        tasks.load(SST, tmp_path, ["en"])


def test_an_unknown_class_is_named_with_its_line(tmp_path: Path):
    (tmp_path / "train").write_bytes(b"NUM:dist How far ?\nNUMM:x What ?\n")
    (tmp_path / "test").write_bytes(b"ABBR:exp What ?\n")
    with pytest.raises(InputError, match=r"train, line 2: the label 'NUMM' .* mean 'NUM'\?"):
        tasks.load(TREC, tmp_path, ["en"])
