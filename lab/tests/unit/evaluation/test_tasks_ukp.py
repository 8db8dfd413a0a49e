"""The layout of the paper's authors, on three lines of the same form."""

from __future__ import annotations

from pathlib import Path

import pytest

from pmeans.errors import FormatError
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.tasks import File, Task

TASK = Task(
    "toy",
    (File("labels"), File("toy.en", lang="en"), File("toy.de", lang="de")),
    ("en", "de"),
    layout="ukp",
    parallel=True,
    classes=("Claim", "O"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "labels").write_text("O\nClaim\nO\n")
    (tmp_path / "toy.en").write_text("so_en long_en ._en\nyes_en\nsnake_case_en\n")
    (tmp_path / "toy.de").write_text("so_de lang_de ._de\nja_de\nen_en_de\n")
    return tmp_path


def test_tokens_lose_the_suffix_of_their_language_once(folder: Path):
    dataset = tasks.load(TASK, folder, ["en", "de"])
    assert dataset.rows["en"]["all"].sentences == ("so long .", "yes", "snake_case")
    assert dataset.rows["de"]["all"].sentences == ("so lang .", "ja", "en_en")


def test_rows_stay_in_order_and_share_their_labels(folder: Path):
    dataset = tasks.load(TASK, folder, ["en", "de"])
    assert dataset.rows["en"]["all"].labels.tolist() == [1, 0, 1]
    assert dataset.rows["de"]["all"].labels.tolist() == [1, 0, 1]


def test_only_the_languages_asked_for_are_read(folder: Path):
    (folder / "toy.de").unlink()
    assert tasks.load(TASK, folder, ["en"]).languages == ("en",)


def test_sentences_and_labels_of_different_length_name_both_counts(folder: Path):
    (folder / "labels").write_text("O\nClaim\n")
    with pytest.raises(FormatError, match=r"toy\.en has 3 sentences and .*labels has 2 labels"):
        tasks.load(TASK, folder, ["en"])


def test_a_carriage_return_is_no_part_of_a_line(folder: Path):
    (folder / "labels").write_text("O\nClaim\nO\n\r\n", newline="")
    (folder / "toy.en").write_text("a_en\r\nb_en\r\nc_en\r\n\r", newline="")
    with pytest.raises(FormatError, match=r"toy\.en has 3 sentences and .*labels has 4 labels"):
        tasks.load(TASK, folder, ["en"])
