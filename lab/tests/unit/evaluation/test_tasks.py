from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest

from pmeans.errors import FormatError, InputError, LanguageError, StorageError
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.tasks import File, Task

CSV = b"text,label\ngood,1\nbad,0\n"


def task(**changes: object) -> Task:
    plain = Task("toy", (File("toy.csv", lang="en"),), ("en",))
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


def one_file(**changes: object) -> Task:
    return task(files=(dataclasses.replace(File("toy.csv", lang="en"), **changes),))  # type: ignore[arg-type]


def test_the_papers_nine_tasks_and_their_variants_are_known():
    assert set(tasks.known()) == {
        *("AM", "AC", "CLS", "MR", "CR", "SUBJ", "MPQA", "TREC", "SST"),
        *("AM-MT", "AC-MT", "CLS-reviews", "CLS-films", "XNLI-genre", "NTREX", "STS"),
        *("Tatoeba-de", "Tatoeba-fr"),
    }


@pytest.mark.parametrize("known", tasks.known().values(), ids=lambda known: known.name)
def test_every_published_english_file_is_pinned(known: Task):
    assert all(f.rows and len(f.sha256) == 64 for f in known.files if "Translated" not in f.path)
    assert all(f.rows and f.origin for f in known.files if "Translated" in f.path)


@pytest.mark.parametrize("known", tasks.known().values(), ids=lambda known: known.name)
def test_every_language_has_files_and_every_file_a_language_of_the_task(known: Task):
    of_both = known.layout == "held-out-pairs"
    assert {f.lang for f in known.files} - {""} == set(() if of_both else known.languages)


def test_a_misspelt_task_is_corrected():
    with pytest.raises(InputError, match=r"no task named 'SSTT'\. Did you mean 'SST'\?"):
        tasks.find("SSTT")


def test_a_language_that_a_task_lacks_lists_those_it_has(tmp_path: Path):
    with pytest.raises(LanguageError, match=r"task AC-MT has no language 'fr'\. It has: en, de\."):
        tasks.load(tasks.find("AC-MT"), tmp_path, ["en", "fr"])


def test_no_language_at_all_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="at least one language"):
        tasks.load(task(), tmp_path, [])


def test_a_missing_file_is_named_with_its_origin(tmp_path: Path):
    with pytest.raises(StorageError, match=r"rt-polarity\.pos'\. It comes from SentEval"):
        tasks.load(tasks.find("MR"), tmp_path, ["en"])


@pytest.mark.parametrize("folder", ["", "tasks"])
def test_files_are_found_below_the_root_or_its_folder_of_tasks(tmp_path: Path, folder: str):
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "toy.csv").write_bytes(CSV)
    assert tasks.load(task(), tmp_path, ["en"]).rows["en"]["all"].sentences == ("good", "bad")


def test_a_wrong_count_says_what_was_expected_and_found(tmp_path: Path):
    (tmp_path / "toy.csv").write_bytes(CSV)
    with pytest.raises(FormatError, match="expected 3 rows, found 2"):
        tasks.load(one_file(rows=3), tmp_path, ["en"])


def test_a_wrong_checksum_says_what_was_expected_and_found(tmp_path: Path):
    (tmp_path / "toy.csv").write_bytes(CSV)
    expected, found = "0" * 64, hashlib.sha256(CSV).hexdigest()
    with pytest.raises(FormatError, match=f"expected SHA-256 {expected}, found {found}"):
        tasks.load(one_file(sha256=expected), tmp_path, ["en"])


def test_a_checksum_that_is_right_is_accepted(tmp_path: Path):
    (tmp_path / "toy.csv").write_bytes(CSV)
    right = one_file(sha256=hashlib.sha256(CSV).hexdigest())
    assert len(tasks.load(right, tmp_path, ["en"]).rows["en"]["all"]) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "an empty file, without a header"),
        (b"text,label\n", "an empty file"),
        (b"text,label\ngood,1\nb\xe4d,0\n", "line 3: not valid UTF-8"),
        (b"text,label\ngood,1\nb\0d,0\n", "line 3: a NUL character"),
        (b"\x1f\x8b\x08\x00damaged", "damaged or cut short"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes, message: str):
    (tmp_path / "toy.csv").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        tasks.load(task(), tmp_path, ["en"])


def test_one_class_alone_is_refused(tmp_path: Path):
    (tmp_path / "toy.csv").write_text("text,label\ngood,1\nfine,1\n")
    with pytest.raises(InputError, match="all training rows have the label '1'"):
        tasks.load(task(), tmp_path, ["en"])
