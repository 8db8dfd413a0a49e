"""``retrieval`` and ``sts``: what sentences are worth as they are encoded, without a classifier.

Both compare sentences of the training language with those of a test language by their cosine.
``retrieval``: how often is the nearest sentence the translation? ``sts``: do cosines order pairs as
people's grades do? The first sentence of a pair is of the training language, the second of the test
language, which may be the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmeans.errors import InputError
from pmeans.evaluation.dataset import Dataset, Score, TaskPart
from pmeans.evaluation.measures.retrieval import retrieved
from pmeans.evaluation.measures.similarity import spearman
from pmeans.evaluation.protocol import Job, Protocol
from pmeans.output import unit_rows


def _retrieve(job: Job) -> list[Score]:
    view = job.features.view(job.train_lang, "test", {})
    asked = job.dataset.rows[job.train_lang]["test"].sentences
    scores = []
    for i, lang in enumerate(job.test_langs):
        job.progress(i / len(job.test_langs), f"retrieval in {lang}")
        candidates = job.dataset.rows[lang]["test"].sentences
        x, y = view.matrix(job.train_lang, "test"), view.matrix(lang, "test")
        right, _ = retrieved(x, y, asked, candidates)
        gold = np.ones(len(right), dtype=np.int64)
        value, n = 100 * float(right.mean()), len(right)
        scores.append(Score(lang, 0, 0, value, None, {}, 0, n, gold, right.astype(np.int64)))
    return scores


def _check_retrieval(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    _check_parts(dataset, ("test",), train_lang, test_langs)
    if train_lang in test_langs:
        raise InputError(
            f"task {dataset.task!r}: every sentence in {train_lang!r} would find itself. Retrieval "
            "is of another language."
        )


def _correlate(job: Job) -> list[Score]:
    view = job.features.view(job.train_lang, "first", {})
    first = unit_rows(view.matrix(job.train_lang, "first"))
    scores = []
    for i, lang in enumerate(job.test_langs):
        job.progress(i / len(job.test_langs), f"pairs in {lang}")
        second = unit_rows(view.matrix(lang, "second"))
        grades = job.dataset.rows[lang]["second"].labels
        cosines = np.einsum("ij,ij->i", first, second, dtype=np.float64)
        # One that says the same of all pairs puts none before another: no correlation.
        value = 100 * (spearman(cosines, grades) or 0.0)
        scores.append(Score(lang, 0, 0, value, None, {}, 0, len(grades)))
    return scores


def _check_sts(dataset: Dataset, train_lang: str, test_langs: Sequence[str]) -> None:
    _check_parts(dataset, ("first", "second"), train_lang, test_langs)


def _check_parts(
    dataset: Dataset, parts: Sequence[TaskPart], train_lang: str, test_langs: Sequence[str]
) -> None:
    sizes = {
        len(dataset.rows[lang].get(part, ()))
        for lang in (train_lang, *test_langs)
        for part in parts
    }
    if len(sizes) != 1 or not min(sizes):
        raise InputError(
            f"task {dataset.task!r} needs equally many sentences of the part "
            f"{' and '.join(map(repr, parts))} in {', '.join((train_lang, *test_langs))}."
        )


RETRIEVAL = Protocol("retrieval", 1, _check_retrieval, _retrieve, lambda dataset, lang: 1)
STS = Protocol("sts", 1, _check_sts, _correlate, lambda dataset, lang: 1)
