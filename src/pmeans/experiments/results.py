"""Results that last: one JSON line a score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """One score, with everything that it depends on.

    Attributes:
        cell: Twelve hexadecimal digits over all that determines the scores of a cell; all scores
            of a cell (its folds or repetitions) are written at once.
        encoder: Name of the encoder, a row of a table.
        encoder_id: Digits over the recipe and the words and numbers of its spaces.
        dim: Columns of a sentence vector.
        znorm: What the z-norm was fitted on.
        task: Name of the task, a column of a table.
        protocol: Name of the protocol.
        train_lang: Language of the training rows.
        test_lang: Language of the test rows.
        split: Number of the fold or the repetition.
        seed: Its seed.
        measure: ``accuracy`` or ``macro-f1``.
        value: The score in per cent, not rounded.
        dev: Development score of the chosen setting in per cent.
        chosen: The L2 penalty or learning rate that was chosen.
        n_train: Rows that the reported classifier was fitted on.
        n_test: Rows of the score.
        coverage: For each word space the share of the words of the test language that it knows.
        seconds: How long the whole cell took.
        versions: Of pmeans, Python, NumPy and what else was at work.
        gold: True classes of the test rows as base-36 digits, where each row is tested once.
        predicted: Predicted classes of the same rows.
    """

    cell: str
    encoder: str
    encoder_id: str
    dim: int
    znorm: str
    task: str
    protocol: str
    train_lang: str
    test_lang: str
    split: int
    seed: int
    measure: str
    value: float
    dev: float
    chosen: Mapping[str, float]
    n_train: int
    n_test: int
    coverage: Mapping[str, float]
    seconds: float
    versions: Mapping[str, str]
    gold: str | None = None
    predicted: str | None = None
