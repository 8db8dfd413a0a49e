"""Learned powers: their gradient, their limits, and that they find what a task needs."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import InputError
from pmeans.kernels.reference import power_mean
from pmeans.training.powers import PowerLearner, power_at, shifted_means

pytestmark = pytest.mark.integrations
torch = pytest.importorskip("torch", reason="pip install 'pmeans[train]'")


def sentences(dtype="float64"):
    """Three sentences of 6, 4 and 1 words, 5 columns."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(3, 6, 5)), dtype=getattr(torch, dtype))
    mask = torch.arange(6) < torch.tensor([[6], [4], [1]])
    return x, mask


@pytest.mark.parametrize("position", [-1.0, -0.97, -0.5, -0.1, 0.0, 0.03, 0.4, 0.8, 0.995, 1.0])
def test_means_are_those_of_the_specification(position):
    x, mask = sentences()
    got = shifted_means(torch, x, mask, torch.full((1, 5), position, dtype=torch.float64))
    inverse = 1 - abs(position)
    p = np.copysign(1 / inverse if inverse else np.inf, position)
    for row, words, there in zip(got[:, 0], x, mask, strict=True):
        expected = power_mean(words[there].numpy(), float(p), "shifted")
        # atol: at the very ends 1 / p is taken as 1e-4, which log n is multiplied by.
        np.testing.assert_allclose(row, expected, atol=1e-9 if inverse else 1e-3)


@pytest.mark.parametrize("position", [-0.98, -0.6, -0.05, 0.05, 0.3, 0.9, 0.99])
def test_the_gradient_is_that_of_finite_differences(position):
    x, mask = sentences()
    s = torch.full((2, 5), position, dtype=torch.float64, requires_grad=True)
    weights = torch.tensor(np.random.default_rng(1).normal(size=(3, 2, 5)))
    (shifted_means(torch, x, mask, s) * weights).sum().backward()
    step = 1e-6
    for k, j in np.ndindex(2, 5):
        moved = [s.detach().clone() for _ in range(2)]
        moved[0][k, j] -= step
        moved[1][k, j] += step
        below, above = ((shifted_means(torch, x, mask, at) * weights).sum() for at in moved)
        expected = float(above - below) / (2 * step)
        assert float(s.grad[k, j]) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_the_gradient_is_finite_at_the_ends_and_of_the_side_at_the_mean():
    x, mask = sentences()
    for position in (-1.0, 0.0, 1.0):
        s = torch.full((1, 5), position, dtype=torch.float64, requires_grad=True)
        shifted_means(torch, x, mask, s).sum().backward()
        assert torch.isfinite(s.grad).all()
        assert (s.grad > 0).all()  # the mean rises with the position everywhere


def test_positions_become_powers():
    assert [power_at(s) for s in (-1, -0.5, -1e-4, 0, 0.5, 0.8, 0.995)] == [
        -np.inf, -2, 1, 1, 2, 5, np.inf,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def task():
    """Return an encoder and sentences whose class is whether one strong word is there.

    Word k has 1 in dimension k and little elsewhere; the mean over many words hides it.
    """
    rng = np.random.default_rng(0)
    vectors = rng.normal(scale=0.3, size=(40, 6)).astype(np.float32)
    vectors[0, 2] = 3
    names = [f"w{i}" for i in range(40)]
    space = WordSpace.from_words("toy", {"en": names}, vectors)
    encoder = PowerMeanEncoder(Recipe((Part("toy"),), znorm="train"), {"toy": space})
    texts, labels = [], rng.integers(0, 2, 400)
    for label in labels:
        words = [f"w{i}" for i in rng.integers(1, 40, size=rng.integers(5, 30))]
        texts.append(" ".join(words + ["w0"] * label))
    return encoder, texts, labels


def test_the_dimension_that_tells_by_its_maximum_learns_a_large_power(task):
    encoder, texts, labels = task
    learner = PowerLearner(powers=1, epochs=60, rate=0.05)
    recipe = learner.learn(encoder, texts, labels, lang="en")
    (powers,) = recipe.parts[0].powers
    assert len(powers) == 6
    assert powers[2] > 4
    assert (recipe.root, recipe.znorm) == ("shifted", "train")
    learned = encoder.replace(recipe=recipe).fit_znorm(texts, lang="en").encode(texts, lang="en")
    assert np.abs(np.corrcoef(learned[:, 2], labels)[0, 1]) > 0.9


def test_a_space_may_share_one_power_and_a_seed_gives_the_same_recipe(task):
    encoder, texts, labels = task
    learner = PowerLearner(powers=2, each="space", epochs=3)
    recipe = learner.learn(encoder, texts, labels, lang="en")
    low, high = recipe.parts[0].powers
    assert low < 0 < high
    assert learner.learn(encoder, texts, labels, lang="en") == recipe


def test_a_teachers_vectors_may_take_the_place_of_classes(task):
    encoder, texts, _ = task
    taught = PowerMeanEncoder(Recipe((Part("toy", (np.inf,)),)), encoder.spaces)
    told = []
    learner = PowerLearner(powers=1, epochs=40, rate=0.05)
    recipe = learner.learn(
        encoder, texts, taught.encode(texts, lang="en"), lang="en",
        progress=lambda share, words: told.append(words),
    )  # fmt: skip
    assert np.median(recipe.parts[0].powers[0]) > 2
    assert float(told[-1].split()[-1]) < float(told[0].split()[-1]) / 2


def test_what_cannot_be_learned_from_is_refused(task):
    encoder, texts, labels = task
    learner = PowerLearner(epochs=1)
    with pytest.raises(InputError, match="400 sentences, but 399 targets"):
        learner.learn(encoder, texts, labels[1:], lang="en")
    with pytest.raises(InputError, match="one class"):
        learner.learn(encoder, texts, labels * 0, lang="en")
    with pytest.raises(InputError, match="0 sentences with words that every space knows"):
        learner.learn(encoder, ["x", ""], np.array([0, 1]), lang="en")
    with pytest.raises(InputError, match="NaN"):
        learner.learn(encoder, texts, np.full((400, 2), np.nan), lang="en")
