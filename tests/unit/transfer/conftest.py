import pytest
from opinions import make_encoder


@pytest.fixture(scope="session")
def encoder():
    return make_encoder()
