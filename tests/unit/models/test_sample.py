"""The bundled sample is what its README says: counted, clean, and without repeats.

A transferred score means nothing where a test sentence, or nearly one, was trained on, so the
sample is held apart here rather than by whoever edits it next.
"""

import csv
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[3] / "demo" / "sample"
LABELS = {"travel", "food", "health", "sport", "technology"}
ROWS_PER_LABEL = {
    "train.en.csv": 80,
    "train.de.csv": 20,
    "train.fr.csv": 20,
    "test.en.csv": 20,
    "test.de.csv": 20,
    "test.fr.csv": 20,
}
UNLABELLED = ["unlabelled.de.txt", "unlabelled.fr.txt"]
EVERY_FILE = [*ROWS_PER_LABEL, *UNLABELLED]


def rows(name: str) -> list[list[str]]:
    with open(SAMPLE / name, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def sentences(name: str) -> list[str]:
    if name in UNLABELLED:
        return (SAMPLE / name).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [row[0] for row in rows(name)[1:]]


def words(sentence: str) -> set[str]:
    return set(re.findall(r"\w+", sentence.lower()))


@pytest.mark.parametrize("name", ROWS_PER_LABEL)
def test_a_labelled_file_has_two_columns_named_text_and_label(name):
    header, *body = rows(name)
    assert header == ["text", "label"]
    assert {len(row) for row in body} == {2}


@pytest.mark.parametrize(("name", "count"), ROWS_PER_LABEL.items())
def test_every_class_has_the_same_number_of_rows_and_there_is_no_sixth(name, count):
    assert Counter(row[1] for row in rows(name)[1:]) == dict.fromkeys(LABELS, count)


@pytest.mark.parametrize("name", UNLABELLED)
def test_an_unlabelled_file_has_150_sentences(name):
    assert len(sentences(name)) == 150


@pytest.mark.parametrize("name", EVERY_FILE)
def test_no_sentence_begins_or_ends_with_a_blank(name):
    assert [text for text in sentences(name) if text != text.strip()] == []


@pytest.mark.parametrize("name", EVERY_FILE)
def test_every_sentence_has_4_to_30_words(name):
    # Blank-separated, as one counts by eye; a French " ?" stands apart and is no word.
    counts = {text: len(re.findall(r"\S*\w\S*", text)) for text in sentences(name)}
    assert {text: count for text, count in counts.items() if not 4 <= count <= 30} == {}


def test_no_sentence_occurs_twice_in_any_file_or_across_files():
    counts = Counter(text.casefold() for name in EVERY_FILE for text in sentences(name))
    assert [text for text, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("lang", ["en", "de", "fr"])
def test_no_sentence_is_in_both_training_and_test(lang):
    train, test = (
        {text.casefold() for text in sentences(f"{part}.{lang}.csv")} for part in ("train", "test")
    )
    assert train & test == set()


@pytest.mark.parametrize("lang", ["en", "de", "fr"])
def test_no_two_sentences_of_a_language_share_more_than_70_percent_of_their_words(lang):
    texts = [text for name in EVERY_FILE if f".{lang}." in name for text in sentences(name)]
    bags = [(text, words(text)) for text in texts]
    # Of the shorter one's words: a sentence inside a longer one is a near-duplicate too.
    alike = [
        (one, other)
        for (one, a), (other, b) in combinations(bags, 2)
        if len(a & b) > 0.7 * min(len(a), len(b))
    ]
    assert alike == []
