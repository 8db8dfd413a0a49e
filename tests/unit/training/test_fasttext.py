"""fastText: known words are the mean of their rows, unknown ones of their n-grams; and errors."""

from dataclasses import replace

import numpy as np
import pytest

from pmeans import kernels
from pmeans.errors import InputError
from pmeans.training.corpus import TextFile
from pmeans.training.word2vec import FastText

TOPICS = (["walking", "walked", "walker"], ["singing", "sang", "singer"])


def silent(share: float, what: str) -> None:
    pass


@pytest.fixture
def trainer(tmp_path) -> FastText:
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(TOPICS[i % 2], 6)) for i in range(120)]
    (tmp_path / "en.txt").write_text("\n".join(lines))
    made = FastText("sub", "en", (TextFile("en.txt"),), dim=10, epochs=4, subsample=1.0)
    return replace(made, buckets=500, negatives=3).beside(tmp_path)


def test_unknown_words_are_composed_as_trained(trainer):
    space = trainer.train(progress=silent)
    assert space.row("walks", "en") == -1
    composed, _ = kernels.compose(["walks"], space.subwords.ngrams, 3, 6)
    np.testing.assert_array_equal(space.vector("walks", "en"), composed[0])


def test_unknown_word_is_nearest_to_the_words_it_looks_like(trainer):
    space = trainer.train(progress=silent)

    def similarity(one, other):
        a, b = space.vector(one, "en"), space.vector(other, "en")
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert similarity("walkers", "walking") > similarity("walkers", "sang")


def test_running_text_has_defaults_of_its_own():
    made = FastText("x", "en", ())
    assert (made.window, made.min_count) == (5, 5)
    assert (made.buckets, made.subsample) == (200_000, 1e-4)


def test_same_seed_gives_the_same_bytes(trainer):
    one, other = (trainer.train(progress=silent) for _ in range(2))
    assert one.matrix.tobytes() == other.matrix.tobytes()
    assert one.subwords.ngrams.tobytes() == other.subwords.ngrams.tobytes()


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"texts": ()}, "no file"),
        ({"lang": "EN"}, "'EN' is not a language code"),
        ({"minn": 7}, "7 to maxn = 6"),
        ({"buckets": 0}, "buckets"),
        ({"min_count": 10_000}, "too little text"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(trainer, changed, complaint):
    with pytest.raises(InputError, match=complaint):
        replace(trainer, **changed).train(progress=silent)


def test_empty_file_is_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("\n\n")
    trainer = FastText("x", "en", (TextFile("empty.txt"),)).beside(tmp_path)
    with pytest.raises(InputError, match="no words"):
        trainer.train(progress=silent)
