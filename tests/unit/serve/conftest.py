"""A server of a model of twelve words in two languages, with a classifier and an index."""

import pytest

import pmeans
from served import write_served


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Write model, classifier and index, and return where they are."""
    place = tmp_path_factory.mktemp("served")
    write_served(place)
    return place


@pytest.fixture(scope="session")
def start(folder):
    """Return how to start a client of a server with other settings."""
    from starlette.testclient import TestClient

    from pmeans.serve import Limits, Settings
    from pmeans.serve.application import create_app

    def client(limits=None, **changes):
        given = {
            "model": str(folder / "model"),
            "classifier": str(folder / "classifier"),
            "index": str(folder / "index.npy"),
            "texts": str(folder / "texts.txt"),
        }
        settings = Settings(**{**given, **changes}, limits=limits or Limits())
        return TestClient(create_app(settings), raise_server_exceptions=True)

    return client


@pytest.fixture(scope="session")
def client(start):
    return start()


@pytest.fixture(scope="session")
def encoder(folder):
    return pmeans.load(folder / "model")
