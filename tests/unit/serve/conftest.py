"""A server of a model of twelve words in two languages, with a classifier and an index."""

from pathlib import Path

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
def start(folder, tmp_path_factory):
    """Return how to start a client of a server with other settings; a token goes into a file."""
    from starlette.testclient import TestClient

    from pmeans.serve import Limits, Settings
    from pmeans.serve.observed import create_app

    def client(limits=None, token=None, **changes):
        if token is not None:
            changes["token_file"] = str(tmp_path_factory.mktemp("token") / "tokens")
            Path(changes["token_file"]).write_text(token)
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
