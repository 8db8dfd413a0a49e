"""Learned powers: their gradient, their limits, and that they find what a task needs."""

import numpy as np
import pytest

from pmeans import Part, PowerMeanEncoder, Recipe, WordSpace
from pmeans.errors import InputError
from pmeans.kernels.reference import power_mean
from pmeans_lab.training.powers import NODES, PowerLearner, mean_tables, means_at

pytestmark = pytest.mark.integrations
torch = pytest.importorskip("torch", reason="pip install 'pmeans[train]'")

INF = np.inf
PLACES = np.linspace(-1, 1, len(NODES))


def inverse(position):
    """Return 1/|p|, which is linear between nodes."""
    return np.interp(position, PLACES, 1 / np.abs(NODES))


def derivative(rows, position):
    """Return dM/ds of the mean of every column, (dim,), by the formula of the module."""
    p = 1 / inverse(position)
    slope = abs(inverse(position + 0.01) - inverse(position - 0.01)) / 0.02
    distance = rows - rows.min(axis=0) if position > 0 else rows.max(axis=0) - rows
    mean = (distance**p).mean(axis=0) ** (1 / p)
    shares = distance**p / (distance**p).sum(axis=0)
    logs = np.log(shares, where=shares > 0, out=np.zeros_like(shares))
    return slope * mean * (np.log(len(rows)) + (shares * logs).sum(axis=0))


def exact(rows, position):
    size = 1 / inverse(position) if inverse(position) > 0 else INF
    return power_mean(rows, float(np.copysign(size, position)), "shifted")


def at(table, position):
    """Return means at a position, and their derivatives, (dim,) each."""
    s = torch.full((1, table.shape[2]), position, requires_grad=True)
    found = means_at(torch, torch.as_tensor(table), s)
    found.sum().backward()
    return found.detach()[0, 0].numpy(), s.grad[0].numpy()


@pytest.fixture(scope="module")
def some():
    """Return the vectors of a sentence of eight words, (8, 6), and its table."""
    rows = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
    names = [f"w{i}" for i in range(8)]
    space = WordSpace.from_words("toy", {"en": names}, rows)
    encoder = PowerMeanEncoder(Recipe((Part("toy"),), znorm="train"), {"toy": space})
    (table,) = mean_tables(encoder, [" ".join(names)], "en")
    return rows.astype(np.float64), table


@pytest.mark.parametrize("position", PLACES)
def test_means_are_exact_at_the_nodes_and_at_min_mean_and_max(some, position):
    rows, table = some
    np.testing.assert_allclose(at(table, position)[0], exact(rows, position), atol=1e-5)


@pytest.mark.parametrize("position", [-0.99, -0.7, -0.41, -0.1, 0.02, 0.3, 0.66, 0.9, 0.98])
def test_means_between_nodes_are_near_the_exact_ones(some, position):
    rows, table = some
    error = np.abs(at(table, position)[0] - exact(rows, position))
    # How far the mean bends between two nodes, at most: half-way from p = 2 to 4.
    assert (error < 0.03 * np.ptp(rows, axis=0)).all()


@pytest.mark.parametrize("node", range(len(NODES) - 1))
def test_gradients_are_those_of_finite_differences_and_of_the_formula(some, node):
    rows, table = some
    below, above = PLACES[node : node + 2]
    middle = (below + above) / 2
    got = at(table, middle)[1]
    differences = (exact(rows, above) - exact(rows, below)) / (above - below)
    np.testing.assert_allclose(got, differences, atol=3e-4)
    # rtol, atol: the derivative bends within a step, most of all near min and max.
    np.testing.assert_allclose(got, derivative(rows, middle), rtol=0.2, atol=0.05)
    step = 1e-6
    close = (exact(rows, middle + step) - exact(rows, middle - step)) / (2 * step)
    np.testing.assert_allclose(derivative(rows, middle), close, rtol=1e-5, atol=1e-8)


def test_positions_learn_what_the_loss_asks_for(some):
    rows, table = some
    goal = torch.as_tensor(exact(rows, 0.6), dtype=torch.float32)
    s = torch.zeros((1, 6), requires_grad=True)
    adam = torch.optim.Adam([s], lr=0.02)
    for _ in range(300):
        adam.zero_grad()
        ((means_at(torch, torch.as_tensor(table), s)[0, 0] - goal) ** 2).sum().backward()
        adam.step()
    np.testing.assert_allclose(s.detach()[0], 0.6, atol=0.02)


def test_nodes_are_the_powers_that_need_no_logarithm():
    assert NODES == (-INF, -16, -8, -4, -2, 1, 2, 4, 8, 16, INF)


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
    assert set(powers) <= set(NODES)
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
    losses = [float(words.split()[-1]) for words in told]
    assert losses[-1] < losses[0]


def test_what_cannot_be_learned_from_is_refused(task):
    encoder, texts, labels = task
    learner = PowerLearner(epochs=1)
    with pytest.raises(InputError, match="400 sentences, but 399 targets"):
        learner.learn(encoder, texts, labels[1:], lang="en")
    with pytest.raises(InputError, match="one class"):
        learner.learn(encoder, texts, labels * 0, lang="en")
    with pytest.raises(InputError, match="2 sentences: learning powers needs 10"):
        learner.learn(encoder, ["x", ""], np.array([0, 1]), lang="en")
    with pytest.raises(InputError, match="NaN"):
        learner.learn(encoder, texts, np.full((400, 2), np.nan), lang="en")
