"""What every job over sentences is given."""

import os

import pytest
from embedding_jobs import SENTENCES, make_encoder


@pytest.fixture(autouse=True)
def _patient_disk(monkeypatch):
    # No machine crashes here, and thousands of real ones would take minutes.
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def encoder():
    return make_encoder()


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    return path
