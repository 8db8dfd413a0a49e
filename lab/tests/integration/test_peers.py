"""mteb's evaluators, as `studies/peers.py` uses them, on a toy whose scores are counted by hand."""

from pathlib import Path

import numpy as np
import pytest

import pmeans
from libraries import library
from pmeans import PowerMeanEncoder, WordSpace
from pmeans.encoder.recipe import Part, Recipe

pytestmark = pytest.mark.integrations

STUDIES = Path(__file__).parents[2] / "studies"
COLOURS = {"en": ["red", "blue", "green"], "de": ["rot", "blau", "grün"]}


@pytest.fixture
def peers(monkeypatch):
    library("mteb", "mteb")
    monkeypatch.syspath_prepend(STUDIES)
    import peers

    return peers


@pytest.fixture
def encoder():
    """The mean of words that are unit vectors, the same in both languages."""
    space = WordSpace.from_words("toy", COLOURS, np.tile(np.eye(3, dtype=np.float32), (2, 1)))
    return PowerMeanEncoder(Recipe((Part("toy", (1.0,)),), "toy"), {"toy": space})


def test_translations_are_scored_in_both_directions_by_f1(peers, encoder):
    texts = {
        "en": ["red", "blue", "green"],
        "de": ["rot rot blau", "grün grün rot", "grün"],
        "fr": ["rouge", "bleu", "vert"],  # the toy has no French
    }
    cells = peers.score_ntrex(encoder, texts)
    # From English, lines 0, 0 and 2 are found: F1 is 2/3, 0 and 1. Into English, 0, 2 and 2 are.
    assert [(c["first"], c["second"]) for c in cells] == [("en", "de"), ("de", "en")]
    assert [c["score"] for c in cells] == pytest.approx([500 / 9, 500 / 9])
    assert [c["accuracy"] for c in cells] == pytest.approx([200 / 3, 200 / 3])
    assert [c["own"] for c in cells] == pytest.approx([c["accuracy"] for c in cells])


def test_a_line_that_repeats_the_right_one_is_wrong_as_in_mteb(peers, encoder):
    texts = {"en": ["red", "red", "blue"], "de": ["rot", "rot", "blau"]}
    cells = peers.score_ntrex(encoder, texts)
    assert [c["accuracy"] for c in cells] == pytest.approx([200 / 3, 200 / 3])
    assert [c["own"] for c in cells] == pytest.approx([c["accuracy"] for c in cells])


def test_graded_pairs_are_scored_by_the_order_of_their_cosines(peers, encoder):
    pairs = {
        "en": [(5.0, "red", "red"), (0.0, "red", "red blue"), (2.5, "red", "blue")],
        "de": [(5.0, "rot", "rot"), (2.5, "rot", "rot blau"), (0.0, "rot", "blau")],
        "ru": [(5.0, "красный", "красный"), (0.0, "красный", "синий"), (1.0, "а", "б")],
    }
    cells = peers.score_sts(encoder, pairs)
    assert [c["first"] for c in cells] == ["en", "de"]
    # In English, the ranks 3, 2, 1 of the cosines are 3, 1, 2 of the grades.
    assert [c["score"] for c in cells] == pytest.approx([50, 100])
    assert [c["own"] for c in cells] == pytest.approx([50, 100])


def test_speed_and_memory_are_measured_in_turns_by_processes_of_their_own(
    peers, encoder, tmp_path, monkeypatch
):
    monkeypatch.setattr(peers, "RUNS", 2)
    pmeans.save(encoder, tmp_path / "toy")
    folders = {"one": tmp_path / "toy", "other": tmp_path / "toy"}
    runs = peers.costs(folders, ["red blue", "green"])
    assert {name: len(each) for name, each in runs.items()} == {"one": 2, "other": 2}
    for run in runs["one"] + runs["other"]:
        assert run["speed"] > 0
        assert run["cpu_us"] > 0
        assert 10 < run["peak_mb"] < 1000  # Python and NumPy, and not what this process holds
