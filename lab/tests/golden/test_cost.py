"""The page of what baselines cost is what its raw numbers and the store of scores make of it."""

import importlib
import json
from pathlib import Path

import pytest

from pmeans_lab.experiments.plan import Experiment
from pmeans_lab.experiments.results import Over, Scores, scored

ROOT = Path(__file__).parents[3]
LAB = ROOT / "lab"
RESULTS = LAB / "results"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


@pytest.fixture
def raw():
    return json.loads((ROOT / "benchmarks/baselines.json").read_text(encoding="utf-8"))


def system(dim, group, seconds, **more):
    return {"id": "", "dim": dim, "group": group, "seconds": {"1": seconds}} | more


def test_the_page_is_what_numbers_and_scores_make_of_it(program, raw):
    made = program("baselines_report").rendered(raw, RESULTS)
    assert made == (ROOT / "benchmarks/baselines.md").read_text(encoding="utf-8")


def test_a_baseline_stands_beside_power_means_of_its_size(program):
    nearest = program("baselines_report").nearest
    systems = {
        "mean": system(300, "mean", [1]),
        "min and max": system(300, "power means", [1]),
        "large": system(900, "power means", [1]),
        "z-norm": system(384, "z-normed", [1]),
        "teacher": system(384, "other methods", [1]),
        "other": system(700, "other methods", [1]),
    }
    assert (nearest(systems, "teacher"), nearest(systems, "other")) == ("min and max", "large")


def test_times_are_compared_within_a_round(program):
    systems = {
        "pm": system(300, "power means", [1, 2, 4]),
        "slow": system(384, "other methods", [100, 20, 8000]),
        "fast": system(200, "other methods", [3, 1, 4]),
    }
    lines = program("baselines_report").findings(systems, {"slow": "pm", "fast": "pm"})
    assert "slow (384 columns) takes 100 times as long per sentence as" in lines[0]
    assert "1.0 (fast) to 1.0 (fast) times as long" in lines[1]


def test_a_score_is_that_of_the_same_encoder_on_all_tasks(program):
    scores = program("baselines_report").scores
    experiment = Experiment.from_toml(LAB / "experiments/monolingual.toml")
    known = scored(RESULTS, experiment)[0]
    row = next(row for row in experiment.encoders if row.name == "GV + GN [-inf, 1, inf]")
    digits = known[row.name, "MR", "en", "en"].encoder
    systems = {
        "here": system(900, "power means", [1], id=digits),
        "unknown": system(1, "mean", [1]),
    }
    over = Over.each(experiment.tasks, "en", ("en",))
    assert scores(systems, RESULTS) == {"here": Scores(known).interval(row, over)}


def test_encoders_are_those_of_the_experiment(program):
    systems = program("baselines").SYSTEMS
    rows = Experiment.from_toml(LAB / "experiments/baselines.toml").encoders
    assert [systems[row.name] for row in rows] == list(rows)


def test_seconds_of_training_are_those_of_the_runs(program):
    runs = (RESULTS / "baselines/README.md").read_text(encoding="utf-8").splitlines()
    for name, seconds in program("baselines").TRAINED.items():
        assert any(line.startswith(f"| {name},") and f"| {seconds} |" in line for line in runs)


def test_sentences_are_drawn_as_long_as_all_are(program):
    evenly = program("baselines").evenly
    texts = [" ".join("w" * n) for n in range(1, 101)]
    drawn = evenly(texts, 10)
    lengths = [len(text.split()) for text in drawn]
    assert (len(drawn), sum(lengths) / 10) == (10, 51)
    assert lengths != sorted(lengths)
