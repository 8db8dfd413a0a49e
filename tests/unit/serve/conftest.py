"""A server of a model of eight words in two languages, with a classifier and an index."""

import numpy as np
import pytest

import pmeans
from pmeans import Part, PowerMeanEncoder, Recipe, TransferClassifier, WordSpace

ENGLISH = ["good", "great", "bad", "awful", "dog", "soup"]
GERMAN = ["gut", "toll", "schlecht", "übel", "hund", "suppe"]
INDEXED = ["good dog", "bad soup", "great soup"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Write model, classifier and index, and return where they are."""
    place = tmp_path_factory.mktemp("served")
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((len(ENGLISH), 4)).astype(np.float32)
    vectors[:2, 0] += 4
    vectors[2:4, 0] -= 4
    rows = np.concatenate([vectors, vectors])
    space = WordSpace.from_words("words", {"en": ENGLISH, "de": GERMAN}, rows)
    recipe = Recipe((Part("words"),), "tiny", tokenizer="words")
    encoder = PowerMeanEncoder(recipe, {"words": space})
    pmeans.save(encoder, place / "model")
    texts = [f"{said} {of}" for said in ENGLISH[:4] for of in ENGLISH[4:]] * 3
    labels = [("pos" if text.startswith(("good", "great")) else "neg") for text in texts]
    TransferClassifier(encoder).fit(texts, labels, lang="en").save(place / "classifier")
    np.save(place / "index.npy", encoder.encode(INDEXED, lang="en"))
    (place / "texts.txt").write_text("\n".join(INDEXED) + "\n", encoding="utf-8")
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
