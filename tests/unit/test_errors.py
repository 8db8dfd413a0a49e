"""What messages say of values, and which seeds are refused."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe
from pmeans.errors import InputError, check_seed, did_you_mean, shown
from pmeans.evaluation.controls import RandomProjection
from pmeans.training.corpus import drawn
from pmeans.training.powers import PowerLearner
from pmeans.transfer import TransferClassifier

BAD_SEEDS = [-1, 2**62, 10**30, 1.5, "1", None, True, b"1", [1]]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a word", "'a word'"), (5, "5"), (None, "None"), (b"de", "b'de'"),
        ("x" * 61, "'" + "x" * 60 + "…'"), (list(range(100)), "[0, 1, 2, 3, 4, 5"),
    ],
)  # fmt: skip
def test_a_value_is_shown_and_cut(value, written):
    assert shown(value).startswith(written)
    assert len(shown(value)) <= 64


def test_a_value_of_megabytes_is_shown_in_a_few_characters():
    for value in ("x" * 3_000_000, b"x" * 3_000_000, ["x" * 3_000_000], {"x" * 3_000_000}):
        assert len(shown(value)) <= 64


def test_nothing_is_suggested_for_what_nobody_types():
    assert did_you_mean("germn", ["german"]) == " Did you mean 'german'?"
    assert did_you_mean("german" * 1000, ["german"]) == ""


@pytest.mark.parametrize("seed", BAD_SEEDS)
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number from 0 to 2"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [0, 1, 2**62 - 1, np.int64(3), np.uint8(3)])
def test_whole_numbers_are_seeds(seed):
    check_seed(seed)


@pytest.mark.parametrize("seed", BAD_SEEDS)
def test_whatever_draws_refuses_what_is_no_seed(toy, seed):
    encoder = PowerMeanEncoder(Recipe((Part("toy"),)), {"toy": toy})
    texts, labels = ["the cat", "sat"] * 5, ["a", "b"] * 5
    calls = [
        lambda: TransferClassifier(encoder, seed=seed).fit(texts, labels, lang="en"),
        lambda: RandomProjection(encoder, 3, seed),
        lambda: PowerLearner(seed=seed),
        lambda: drawn(texts, 2, seed),
    ]
    for call in calls:
        with pytest.raises(InputError, match="seed must be"):
            call()
