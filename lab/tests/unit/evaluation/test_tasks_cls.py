"""Reviews of cls-acl10, whole and as sentences, on files of the same form."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from pmeans.errors import FormatError
from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.layouts import cls
from pmeans_lab.evaluation.layouts.cls import Review
from pmeans_lab.evaluation.tasks import File, Task

ITEM = "<item><summary>{0}</summary><rating>{1}</rating><text>{2}</text></item>\n"
REVIEWS = Task(
    "toy",
    tuple(File(f"{part}.review", lang="en", part=part) for part in ("train", "test")),
    ("en",),
    layout="cls-reviews",
    classes=("negative", "positive"),
)


def write(path: Path, *items: tuple[str, str, str]) -> None:
    body = "".join(ITEM.format(*item) for item in items)
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<items>{body}</items>\n')


def review(text: str, label: str = "positive") -> Review:
    return Review("", text, label, "here")


def test_a_review_is_its_summary_and_its_text(tmp_path: Path):
    write(tmp_path / "train.review", ("Fine\n", "4.0", "Don't miss it."), ("Bad", "2.0", "No."))
    write(tmp_path / "test.review", ("So", "1.0", "So"))
    found = tasks.load(REVIEWS, tmp_path, ["en"]).rows["en"]
    assert found["train"].sentences == ("Fine Do n't miss it .", "Bad No .")
    assert found["train"].labels.tolist() == [1, 0]
    assert found["test"].labels.tolist() == [0]


def test_a_gzipped_file_is_read_under_its_own_name(tmp_path: Path):
    for part in ("train", "test"):
        write(tmp_path / "plain", ("A", "5.0", "B"))
        data = (tmp_path / "plain").read_bytes()
        (tmp_path / f"{part}.review.gz").write_bytes(gzip.compress(data))
    found = tasks.load(REVIEWS, tmp_path, ["en"]).rows["en"]
    assert found["test"].sentences == ("A B",)


def test_what_was_escaped_twice_is_unescaped_and_control_characters_are_dropped(tmp_path: Path):
    for part in ("train", "test"):
        text = "R&amp;amp;D &amp;quot;x&amp;quot;\x85&amp;#65279;y"
        write(tmp_path / f"{part}.review", ("", "5.0", text))
    found = tasks.load(REVIEWS, tmp_path, ["en"]).rows["en"]
    assert found["train"].sentences == ('R & D " x " y',)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<items><item>", "not valid XML"),
        ("<items></items>", "an empty file"),
        ("<items><item><text>x</text></item></items>", "review 1: no number in its rating: None"),
        ("<items><item><rating>5</rating></item></items>", "review 1: no text"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, content: str, message: str):
    (tmp_path / "train.review").write_text(content)
    with pytest.raises(FormatError, match=message):
        tasks.load(REVIEWS, tmp_path, ["en"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("So ... he said. 3 of them", ["So ... he said.", "3 of them"]),
        ('He said "No." Then he left.', ['He said "No."', "Then he left."]),
        ("By J. Doe and Dr. No, z.B. Bond.", ["By J. Doe and Dr. No, z.B. Bond."]),
        ("no full stop\n next line", ["no full stop", "next line"]),
        ("It costs 4. Mine did.", ["It costs 4.", "Mine did."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, expected: list[str]):
    assert [each.strip() for each in cls.sentences(text)] == expected


def test_a_review_gives_its_summary_and_its_closing_sentence():
    reviews = [Review("A fine book", "One it is. Two it is. Three it is.", "positive", "here")]
    reviews += [Review("A bad book", "One it was.\n\n", "negative", "here")]
    rows = cls.select(reviews, "en", per_class=2)
    assert [row.sentence for row in rows] == [
        "A fine book",
        "Three it is .",
        "A bad book",
        "One it was .",
    ]


def test_sentences_are_neither_short_nor_long():
    reviews = [review("Long " * 51), Review("Fine", "This one is right.", "positive", "here")]
    reviews += [review("A bad one.", "negative")]
    rows = cls.select(reviews, "en", per_class=1)
    assert [row.sentence for row in rows] == ["This one is right .", "A bad one ."]


def test_a_sentence_is_taken_once_whatever_its_case():
    reviews = [review("This one is repeated."), review("this one is REPEATED.")]
    reviews += [review("This one is bad.", "negative"), review("Another one.")]
    reviews += [review("That one is bad.", "negative")]
    rows = cls.select(reviews, "en", per_class=2)
    positive = [row.sentence for row in rows if row.label == "positive"]
    assert positive == ["This one is repeated .", "Another one ."]


def test_the_selection_does_not_depend_on_anything_but_the_text():
    reviews = [review(f"First of {n} it is.") for n in range(20)]
    reviews += [review(f"Bad it is {n} times.", "negative") for n in range(20)]
    forwards = cls.select(reviews, "en", per_class=10)
    backwards = cls.select(reviews[::-1], "en", per_class=10)
    assert {row.sentence for row in forwards} == {row.sentence for row in backwards}


def test_too_few_sentences_are_an_error():
    with pytest.raises(FormatError, match="the negative reviews in language 'en' have 0 summaries"):
        cls.select([review("This is a good one.")], "en", per_class=1)
