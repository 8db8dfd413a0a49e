"""The first weights are torch's, to the last bit."""

import numpy as np
import pytest

from pmeans_lab.evaluation.random_splits import glorot, linear

torch = pytest.importorskip("torch")

# From 16 elements on, torch fills in blocks; (3, 5) and (4, 17) end within one.
SHAPES = [(2, 3600), (6, 3600), (4, 900), (2, 1), (3, 5), (4, 17)]
SEEDS = [0, 1, 49, 1111, 2**31 + 5]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_linear_layer_starts_as_in_torch(seed, shape):
    n_classes, dim = shape
    weights, bias = linear(seed, n_classes, dim)
    torch.manual_seed(seed)
    layer = torch.nn.Linear(dim, n_classes)
    assert weights.dtype == bias.dtype == np.float32
    np.testing.assert_array_equal(weights, layer.weight.detach().numpy())
    np.testing.assert_array_equal(bias, layer.bias.detach().numpy())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", SEEDS)
def test_glorot_weights_are_those_of_torch(seed, shape):
    torch.manual_seed(seed)
    expected = torch.nn.init.xavier_uniform_(torch.empty(*shape)).numpy()
    got = glorot(seed, *shape)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, expected)
