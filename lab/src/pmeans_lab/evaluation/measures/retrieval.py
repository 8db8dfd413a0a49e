"""What sentences are worth as they are encoded, without a classifier, by their cosines.

``retrieval``: how often is the nearest sentence the translation? ``sts``: do cosines order pairs as
people's grades do? As protocols, both take the first sentence of a pair from the training language
and the second from the test language, which for ``sts`` may be the same. `accuracy` measures
retrieval by itself, for each source of the text: thousands of short sentences from one would hide
how the long ones from another fare.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pmeans.encoder.postprocess import unit_rows
from pmeans.encoder.power_means import PowerMeanEncoder
from pmeans.encoder.recipe import Part, Recipe
from pmeans.errors import InputError
from pmeans.spaces.space import WordSpace
from pmeans.training.corpus import Pair, read_pairs, split
from pmeans.types import Encoder, Floats
from pmeans_lab.evaluation.dataset import Dataset, Score, TaskPart
from pmeans_lab.evaluation.measures import Measured
from pmeans_lab.evaluation.measures.similarity import spearman
from pmeans_lab.evaluation.protocol import Job, Protocol

_BLOCK = 1024


def held_out(path: str | Path) -> dict[str, list[Pair]]:
    """Return the pairs of a file that nothing was trained on, by source."""
    by_source: dict[str, list[Pair]] = defaultdict(list)
    for pair in split(read_pairs(path))["test"]:
        by_source[pair.source].append(pair)
    return by_source


def sentence_means(space: WordSpace) -> PowerMeanEncoder:
    """Return the encoder of raw text by the mean of its words' vectors."""
    recipe = Recipe((Part(space.name, (1.0,)),), name=space.name, tokenizer="words")
    return PowerMeanEncoder(recipe, {space.name: space})


def accuracy(
    encoder: Encoder, pairs: Sequence[Pair], langs: tuple[str, str], on: str = ""
) -> Measured:
    """Measured how often the nearest second sentence, by cosine, translates the first.

    Args:
        encoder: Of both languages.
        pairs: The first sentences ask, all second ones are candidates. Where the same sentence
            occurs in several pairs, each of its translations is right.
        langs: Of the first sentences and of the second.
        on: A name for the pairs.

    Returns:
        The share of all pairs; those with a side that has no known word are wrong, and not covered.
    """
    firsts, seconds = [pair.first for pair in pairs], [pair.second for pair in pairs]
    matrices = encoder.encode(firsts, lang=langs[0]), encoder.encode(seconds, lang=langs[1])
    right, known = retrieved(*matrices, firsts, seconds)
    value = int(right.sum()) / len(pairs)
    return Measured("retrieval", "-".join(langs), on, value, int(known.sum()), len(pairs))


def retrieved(
    x: Floats, y: Floats, firsts: Sequence[str], seconds: Sequence[str]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Say of each first sentence whether the nearest second one, by cosine, is its translation.

    Args:
        x: The first sentences, (n, dim).
        y: The second sentences, (n, dim); row i translates row i of x.
        firsts: Their text, (n,): where a sentence is there twice, each translation is right.
        seconds: The text of the second ones, (n,).

    Returns:
        Which are right, (n,), and which have known words on both sides, (n,); others are wrong.
    """
    x, y = unit_rows(x), unit_rows(y)
    known = np.logical_and(x.any(axis=1), y.any(axis=1))
    blocks = (x[low : low + _BLOCK] @ y.T for low in range(0, len(x), _BLOCK))
    found = [int(j) for block in blocks for j in np.argmax(block, axis=1)]
    same = [firsts[i] == firsts[j] or seconds[i] == seconds[j] for i, j in enumerate(found)]
    return known & np.array(same, dtype=bool), known


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
    _check_parts(("test",), dataset, train_lang, test_langs)
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


def _check_parts(
    parts: Sequence[TaskPart], dataset: Dataset, train_lang: str, test_langs: Sequence[str]
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
_check_sts = partial(_check_parts, ("first", "second"))
STS = Protocol("sts", 1, _check_sts, _correlate, lambda dataset, lang: 1)
