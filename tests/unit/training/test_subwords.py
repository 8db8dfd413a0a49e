"""Fitted n-grams: what unknown words get, and that known ones keep theirs."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from pmeans.errors import ConfigError, InputError
from pmeans.output import unit_rows
from pmeans.spaces.space import WordSpace
from pmeans.spaces.store import save_space
from pmeans.training.subwords import FittedSubwords

# Words of three syllables, each of which adds its meaning.
SYLLABLES = ["ba", "do", "fi", "gu", "le", "mo"]
MEANINGS = np.random.default_rng(2).normal(size=(6, 5)).astype(np.float32)
SPELLED = ["".join(SYLLABLES[i] for i in ids) for ids in product(range(6), repeat=3)]
VECTORS = np.array([MEANINGS[list(ids)].sum(axis=0) for ids in product(range(6), repeat=3)])


@pytest.fixture
def trainer(tmp_path):
    kept = np.arange(len(SPELLED)) % 9 != 0
    words = {"en": [word for word, here in zip(SPELLED, kept, strict=True) if here]}
    space = WordSpace.from_words("s", words, VECTORS[kept], source="syllables")
    save_space(space, tmp_path / "s.safetensors")
    return FittedSubwords("n", str(tmp_path / "s.safetensors"), buckets=500, minn=2)


def train(trainer):
    return trainer.train(progress=lambda share, words: None)


def test_unknown_words_get_the_vector_that_their_parts_suggest(trainer):
    space = train(trainer)
    vectors, found = space.vectors(SPELLED[::9], "en")
    cosines = np.einsum("ij,ij->i", unit_rows(vectors), unit_rows(VECTORS[::9]))
    assert found.all()
    assert cosines.mean() > 0.9


def test_known_words_keep_their_vectors(trainer):
    space = train(trainer)
    np.testing.assert_array_equal(space.vector("badodo", "en"), VECTORS[SPELLED.index("badodo")])


def test_the_source_tells_how_well_words_left_out_were_met(trainer):
    assert train(trainer).source.startswith(
        "syllables; n-grams fitted to its words, cosine of words"
    )


def test_a_larger_penalty_gives_shorter_vectors(trainer):
    long, short = (train(replace(trainer, penalty=each)) for each in (0.01, 10.0))
    lengths = [np.linalg.norm(each.vector("bababa", "en")) for each in (long, short)]
    assert lengths[1] < lengths[0]


def test_too_few_words_are_an_error(trainer, tmp_path):
    save_space(WordSpace.from_words("s", {"en": ["a"]}, [[1.0]]), tmp_path / "s.safetensors")
    with pytest.raises(InputError, match=r"'s' has 1 words with .* n-grams in all: too few"):
        train(trainer)


@pytest.mark.parametrize(
    "bad", [{"buckets": 0}, {"minn": 0}, {"maxn": 1}, {"penalty": 0.0}], ids=str
)
def test_settings_that_cannot_be_meant_are_refused(bad, trainer):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        replace(trainer, **bad)
