"""Fixtures shared by all tests, also those of the laboratory, and how Hypothesis runs."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from pmeans import PowerMeanEncoder, models
from pmeans.models import packs
from pmeans.spaces.space import WordSpace

# No test fetches a model: libraries that would ask a hub for one are told so before they start.
os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# Nor does one tell anybody, or listen beyond this machine.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
os.environ.update(SPARK_LOCAL_IP="127.0.0.1")

# Timings of a shared machine say nothing about correctness.
settings.register_profile(
    "pmeans", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pmeans")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real data, or a skip that says where it was sought."""
    default = Path(__file__).parents[1] / "shared" / "data"
    folder = Path(os.environ.get("PMEANS_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"needs the real data: no folder {folder}; set PMEANS_DATA")
    return folder


@pytest.fixture(scope="session")
def wide() -> PowerMeanEncoder:
    """The model `wide`, or a skip that says how to install it."""
    if "wide" not in packs.installed():
        (offer,) = (offer for offer in packs.catalogue() if offer.name == "wide")
        pytest.skip(f"needs the model 'wide': {offer.how}")
    return models.load("wide")


@pytest.fixture
def toy() -> WordSpace:
    """Five words in two languages, three dimensions, numbers one can add up in the head."""
    return WordSpace.from_words(
        "toy",
        {"en": ["the", "cat", "sat"], "de": ["die", "katze"]},
        np.array([[1, -1, 0], [2, 4, -8], [3, 0, 2], [1, -1, 1], [2, 4, -6]], dtype=np.float32),
    )
