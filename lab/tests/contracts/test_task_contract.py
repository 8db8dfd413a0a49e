"""What holds of every published task, on the real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pmeans_lab.evaluation import tasks
from pmeans_lab.evaluation.dataset import Dataset

# Counts of each class: of one part, or of train and test, or of train, dev and test.
AM, AC = ([1357, 750, 1637, 3397],), ([339, 111],)
SENTENCES, REVIEWS = ([3000, 3000],), ([1000, 1000], [1000, 1000])
TREC = ([86, 1162, 1250, 1223, 835, 896], [9, 138, 94, 65, 81, 113])
GENRES = ([167] * 10, [83] * 10)
SST = ([29780, 37569], [428, 444], [912, 909])
# A fingerprint that changes moves scores: say so in the changelog.
GOLDEN = [
    ("AM", "en", AM, "7bb25657dafb"),
    ("AM", "de", AM, "9701417ee22c"),
    ("AM", "fr", AM, "4ca2811ff558"),
    ("AM-MT", "en", AM, "7bb25657dafb"),
    ("AM-MT", "de", AM, "1ac1d63dacb0"),
    ("AM-MT", "fr", AM, "4ca2811ff558"),
    ("AC", "en", AC, "8a9d3d5baa52"),
    ("AC", "de", AC, "830fee6feb31"),
    ("AC", "fr", AC, "8de7234fa89d"),
    ("AC-MT", "en", AC, "8a9d3d5baa52"),
    ("AC-MT", "de", AC, "29caaac0572d"),
    ("CLS", "en", SENTENCES, "7a164d06b086"),
    ("CLS", "de", SENTENCES, "f8990b61e1ab"),
    ("CLS", "fr", SENTENCES, "cd999ba5c418"),
    ("CLS-reviews", "en", REVIEWS, "c4d393516807"),
    ("CLS-reviews", "de", REVIEWS, "44c7b46a2a86"),
    ("CLS-reviews", "fr", REVIEWS, "b11960dac644"),
    ("CLS-films", "en", REVIEWS, "62450e877917"),
    ("CLS-films", "de", REVIEWS, "7c5b84bb0a3d"),
    ("CLS-films", "fr", REVIEWS, "e83c22736b1d"),
    ("MR", "en", ([5331, 5331],), "84354475bd67"),
    ("CR", "en", ([1368, 2407],), "ea327d535931"),
    ("SUBJ", "en", ([5000, 5000],), "5b968ef0d15c"),
    ("MPQA", "en", ([7294, 3312],), "6b8f913965cb"),
    ("TREC", "en", TREC, "1677149f2cd8"),
    ("SST", "en", SST, "cf7e2800ba85"),
    ("XNLI-genre", "en", GENRES, "5b94d43fbde6"),
    ("XNLI-genre", "de", GENRES, "6f0cd7fa9b05"),
    ("XNLI-genre", "fr", GENRES, "31c0f2402269"),
    ("XNLI-genre", "es", GENRES, "9cd742723504"),
    ("XNLI-genre", "ru", GENRES, "33c0eb8c7ee9"),
]
# Tasks without classes: sentences of each part.
UNCLASSED = [
    ("NTREX", "en", {"test": 1961}, "526560dfea25"),
    ("NTREX", "de", {"test": 1961}, "bf158416d786"),
    ("STS", "en", {"first": 1500, "second": 1500}, "05fa35753377"),
    ("STS", "de", {"first": 1500, "second": 1500}, "d16ef4ef0203"),
    ("Tatoeba-de", "en", {"test": 2000}, "4f9d01748faf"),
    ("Tatoeba-de", "de", {"test": 2000}, "14d544323b38"),
    ("Tatoeba-fr", "en", {"test": 2000}, "0a84fcf8e08c"),
    ("Tatoeba-fr", "fr", {"test": 2000}, "67882ca94c3b"),
]


@pytest.fixture(scope="module", params=GOLDEN, ids=lambda row: f"{row[0]}-{row[1]}")
def case(request, data_dir: Path) -> tuple[Dataset, str, tuple[list[int], ...], str]:
    name, lang, counts, fingerprint = request.param
    return tasks.load(tasks.find(name), data_dir, [lang]), lang, counts, fingerprint


@pytest.mark.data
def test_classes_are_as_many_as_published(case):
    dataset, lang, counts, _ = case
    n = len(dataset.classes)
    found = [np.bincount(rows.labels, minlength=n) for rows in dataset.rows[lang].values()]
    assert tuple(each.tolist() for each in found) == counts


@pytest.mark.data
def test_parts_are_all_or_train_and_test(case):
    dataset, lang, _, _ = case
    assert list(dataset.rows[lang]) in (["all"], ["train", "test"], ["train", "dev", "test"])


@pytest.mark.data
def test_sentences_are_tokens_with_single_spaces_between(case):
    dataset, lang, _, _ = case
    for rows in dataset.rows[lang].values():
        assert all(s and " ".join(s.split()) == s for s in rows.sentences)
        assert not any(token.endswith(f"_{lang}") for s in rows.sentences for token in s.split())


@pytest.mark.data
def test_rows_are_those_that_scores_were_computed_from(case):
    dataset, lang, _, fingerprint = case
    assert dataset.fingerprint(lang) == fingerprint


@pytest.mark.data
@pytest.mark.parametrize(("name", "lang", "sizes", "fingerprint"), UNCLASSED)
def test_tasks_without_classes_are_those_that_scores_were_computed_from(
    data_dir, name, lang, sizes, fingerprint
):
    dataset = tasks.load(tasks.find(name), data_dir, [lang])
    assert {part: len(rows) for part, rows in dataset.rows[lang].items()} == sizes
    assert dataset.fingerprint(lang) == fingerprint
    for rows in dataset.rows[lang].values():
        assert all(s and " ".join(s.split()) == s for s in rows.sentences)


@pytest.mark.data
@pytest.mark.parametrize("name", ["NTREX", "STS", "XNLI-genre"])
def test_every_language_of_a_parallel_task_has_the_same_rows(data_dir, name):
    task = tasks.find(name)
    assert tasks.load(task, data_dir, task.languages).languages == task.languages


def test_every_task_is_under_contract():
    assert {name for name, *_ in (*GOLDEN, *UNCLASSED)} == set(tasks.known())
